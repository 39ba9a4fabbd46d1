"""Arrival: a file in a drop folder becomes a run, and is filed afterwards."""

from syncd.sync.arrival.worker import Worker

__all__ = ["Worker"]
