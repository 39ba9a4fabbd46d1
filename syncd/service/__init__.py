"""The daemon: puts the parts together and keeps them running. It holds no rules about jobs or feeds.

``configured_feeds``, ``daemon``, ``exposure``, ``process``, ``served`` and ``stores`` are imported one by one: a command that
only reads needs ``served`` and ``stores`` alone."""
