"""Ids in paths."""

from __future__ import annotations

import re

from aiohttp import web

from syncd.domain import INT32_MAX, INT32_MIN
from syncd.errors import NotFound

#: A plain Int32; ``007``, ``+7`` and ``1.0`` are not.
_INT32 = re.compile("0|-?[1-9][0-9]{0,9}")


def path_id(request: web.Request, what: str) -> int:
    """Return the ``{id}`` of the path. Raises NotFound of a ``what`` if it is not a plain Int32."""
    text = request.match_info["id"]
    if _INT32.fullmatch(text) and INT32_MIN <= (number := int(text)) <= INT32_MAX:
        return number
    raise NotFound(what, text[:50])
