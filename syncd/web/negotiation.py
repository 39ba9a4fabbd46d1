"""Which representation a client would rather have (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import re

from aiohttp import web

JSON, JSON_LD = "application/json", "application/ld+json"
_RANGE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PARAMETER = re.compile(r";[ \t]*q[ \t]*=[ \t]*([^;,\s]*)[ \t]*(?:;|\Z)", re.IGNORECASE)
_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def wants_json_ld(request: web.Request) -> bool:
    """Whether JSON-LD is preferred to JSON. Equal weights mean JSON; so does a client to whom neither is
    acceptable, since an answer that it can ignore serves it better than a 406."""
    if "Accept" not in request.headers:
        return False
    weights = _weights(",".join(request.headers.getall("Accept")))
    return _weight(weights, JSON_LD) > _weight(weights, JSON)


def _weights(accept: str) -> dict[str, float]:
    """Media range → weight; a range without a valid weight is not there, of a repeated one the best counts."""
    weights: dict[str, float] = {}
    for item in _RANGE.findall(accept):
        media = item.partition(";")[0].strip().lower()
        parameter = _PARAMETER.search(_QUOTED.sub("", item))
        text = parameter[1] if parameter else "1"
        if _WEIGHT.fullmatch(text):
            weights[media] = max(weights.get(media, 0.0), float(text))
    return weights


def _weight(weights: dict[str, float], media: str) -> float:
    """By the most specific range that fits."""
    ranges = (media, "application/*", "*/*")
    return next((weights[name] for name in ranges if name in weights), 0.0)
