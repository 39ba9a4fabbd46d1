"""Which media type of an answer a client prefers (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import re

from aiohttp import web

JSON = "application/json"
_ITEM = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PARAMETER = re.compile(r";[ \t]*q[ \t]*=[ \t]*([^;,\s]*)[ \t]*(?:;|\Z)", re.IGNORECASE)
_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def prefers(request: web.Request, media: str, other: str) -> bool:
    """Return whether the client prefers the media type ``media`` to ``other``. It does not where it gives both the same
    weight, nor where it accepts neither: then an answer that it can ignore is more use to it than a 406."""
    if "Accept" not in request.headers:
        return False
    weights = _weights(",".join(request.headers.getall("Accept")))
    return _weight(weights, media) > _weight(weights, other)


def _weights(header: str) -> dict[str, float]:
    """Return the weight of each range of an Accept header. A range without a valid weight counts as not sent. Of a repeated
    range the best weight counts."""
    weights: dict[str, float] = {}
    for item in _ITEM.findall(header):
        name = item.partition(";")[0].strip().lower()
        parameter = _PARAMETER.search(_QUOTED.sub("", item))
        weight = parameter[1] if parameter else "1"
        if _WEIGHT.fullmatch(weight):
            weights[name] = max(weights.get(name, 0.0), float(weight))
    return weights


def _weight(weights: dict[str, float], media: str) -> float:
    """Return the weight of the most specific range that has ``media``."""
    return next((weights[name] for name in (media, "application/*", "*/*") if name in weights), 0.0)
