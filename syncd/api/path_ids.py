"""Ids in paths."""

from __future__ import annotations

import re

from aiohttp import web

from syncd.domain import INT32_MAX, INT32_MIN
from syncd.errors import NotFound

#: What a plain Int32 looks like; ``007``, ``+7`` and ``1.0`` are none.
INT32 = "0|-?[1-9][0-9]{0,9}"
_INT32 = re.compile(INT32)


def path_id(request: web.Request, what: str) -> int:
    """The ``{id}`` of the path. What is not a plain Int32 names nothing: NotFound of a ``what``."""
    text = request.match_info["id"]
    if _INT32.fullmatch(text) and INT32_MIN <= (number := int(text)) <= INT32_MAX:
        return number
    raise NotFound(what, text[:50])
