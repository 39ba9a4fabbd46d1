"""The daemon: puts the parts together and keeps them running. It holds no rules about jobs or feeds.

The names of the face are modules, imported one by one: a command that only reads needs ``stores`` alone."""

__all__ = ["configured_feeds", "daemon", "exposure", "process", "stores"]
