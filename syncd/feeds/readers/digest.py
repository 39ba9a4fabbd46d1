"""Digests of records: 16 bytes of SHA-256, seeded with everything else that decides what the record means."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256


def seeded(*seeds: bytes | str) -> Callable[[bytes], bytes]:
    """Return a function from a record's bytes to its digest. Different seeds never give the same digest."""
    seed = sha256()
    for part in seeds:
        data = part.encode() if isinstance(part, str) else part
        seed.update(b"%d:" % len(data) + data)
    prefixed = sha256(seed.digest()).copy

    def digest(raw: bytes) -> bytes:
        state = prefixed()
        state.update(raw)
        return state.digest()[:16]

    return digest
