"""The daemon: puts the parts together and keeps them running. Decides nothing about jobs or feeds."""
