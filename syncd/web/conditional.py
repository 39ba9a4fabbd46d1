"""Entity tags and the preconditions that name them (RFC 9110, sections 8.8.3 and 13).

A tag is a digest of the representation: it changes exactly when the answer does. Date-based conditions are not
offered, since nothing has a Last-Modified.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from aiohttp import web

from syncd.errors import PreconditionFailed
from syncd.web.problems import Refusal

_ITEM = re.compile(r'[ \t]*((?:W/)?"[^"\x00-\x20\x7f]*")?[ \t]*(?:,|\Z)')
#: How the tag of an answer in a content coding ends: ours in gzip, those of proxies in these others, too.
_CODING = re.compile(r'-(?:gzip|deflate|br|zstd)"\Z')
_ANY = ("*",)


def tag_of(body: bytes) -> str:
    """The strong tag of a representation: 96 bits of a digest that processors compute in hardware."""
    return f'"{sha256(body).hexdigest()[:24]}"'


def coded(tag: str, coding: str) -> str:
    """The tag of the same representation in a content coding: strong tags name bytes (RFC 9110, 8.8.3.3). A weak
    one names none and stays."""
    return tag if tag.startswith("W/") or not tag.endswith('"') else f'{tag[:-1]}-{coding}"'


def uncoded(tag: str) -> str:
    """``tag`` without what ``coded`` gave it: for a precondition it names the same version of the same thing."""
    return _CODING.sub('"', tag)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The tags named in If-Match and If-None-Match, ``("*",)`` for any; None: the header was not sent."""

    match: tuple[str, ...] | None = None
    none_match: tuple[str, ...] | None = None

    def allow_write(self, tag: Callable[[], str] | None) -> None:
        """Raises PreconditionFailed. ``tag`` gives that of the job as it is now; None: there is no such job."""
        self._allow(tag)
        if self.none_match is not None and tag is not None and _names_weakly(self.none_match, tag):
            raise PreconditionFailed("there is such a job already, and If-None-Match asks that there be none")

    def unchanged(self, tag: str) -> bool:
        """Of a read: whether the client has this representation. Raises PreconditionFailed for If-Match."""
        self._allow(lambda: tag)
        return self.none_match is not None and _names_weakly(self.none_match, lambda: tag)

    def _allow(self, tag: Callable[[], str] | None) -> None:
        if self.match is None:
            return
        if tag is None:
            raise PreconditionFailed("there is no such job, and If-Match asks for one")
        if self.match != _ANY and tag() not in self.match:
            why = "the job has changed since, or the tag is a weak one"
            raise PreconditionFailed(f"the job's ETag is none of those in If-Match: {why}")


UNCONDITIONAL = Conditions()


def conditions_of(request: web.Request) -> Conditions:
    """The preconditions of a request. ``invalid_parameter`` for a header that is no list of entity tags: to take
    it for absent would let a write through that was meant to be conditional."""
    headers = request.headers
    if "If-Match" not in headers and "If-None-Match" not in headers:
        return UNCONDITIONAL
    return Conditions(_tags(request, "If-Match"), _tags(request, "If-None-Match"))


def answer(request: web.Request, body: bytes, headers: Mapping[str, str]) -> web.Response:
    """200 with ``body`` and its tag, or 304 if the client has it."""
    tag = tag_of(body)
    if conditions_of(request).unchanged(tag):
        kept = {name: value for name, value in headers.items() if name != "Content-Type"}
        return web.Response(status=304, headers={**kept, "ETag": tag})
    return web.Response(body=body, headers={**headers, "ETag": tag})


def _names_weakly(tags: tuple[str, ...], tag: Callable[[], str]) -> bool:
    return tags == _ANY or tag() in {name.removeprefix("W/") for name in tags}


def _tags(request: web.Request, name: str) -> tuple[str, ...] | None:
    if name not in request.headers:
        return None
    text = ",".join(request.headers.getall(name)).strip()
    if text == "*":
        return _ANY
    tags = tuple(uncoded(tag) for tag in _items(name, text) if tag)
    if not tags:
        raise _malformed(name)
    return tags


def _items(name: str, text: str) -> list[str | None]:
    found, place = [], 0
    while place < len(text):
        item = _ITEM.match(text, place)
        if item is None:
            raise _malformed(name)
        found.append(item[1])
        place = item.end()
    return found


def _malformed(name: str) -> Refusal:
    return Refusal("invalid_parameter", f'{name} has to be * or entity tags in quotes, such as "6f3a"')
