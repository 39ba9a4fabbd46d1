"""The representation that a client prefers, entity tags, and the preconditions that name them (RFC 9110, sections 8.8.3 and
13). A tag is a digest of the representation: it changes exactly when the answer does. No answer has a Last-Modified."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from aiohttp import web

from syncd.errors import PreconditionFailed
from syncd.web.problems import Refusal

JSON = "application/json"
_TAG = re.compile(r'(?:W/)?"[^"\x00-\x20\x7f]*"')
#: Tags and commas; an element of the list may be empty.
_LIST = re.compile(rf"(?:[ \t]*+(?:{_TAG.pattern}[ \t]*+)?(?:,|\Z))*+")
#: How a proxy that compresses an answer may end its tag. In a precondition it names the same version as the tag without it.
_CODING = re.compile(r'-(?:gzip|deflate|br|zstd)"\Z')
_ANY = ("*",)


def tag_of(body: bytes) -> str:
    """Return the strong tag of a representation: 96 bits of a digest that processors compute in hardware."""
    return f'"{sha256(body).hexdigest()[:24]}"'


@dataclass(frozen=True, slots=True)
class Conditions:
    """The tags in If-Match and If-None-Match. ``("*",)`` is any tag; None: the header was not sent."""

    match: tuple[str, ...] | None = None
    none_match: tuple[str, ...] | None = None

    def allow_write(self, tag: Callable[[], str] | None) -> None:
        """Raise PreconditionFailed if a write is not allowed. ``tag`` returns the present tag of the job; None: there is no
        such job."""
        if self.match is not None:
            if tag is None:
                raise PreconditionFailed("there is no such job, and If-Match asks for one")
            if self.match != _ANY and tag() not in self.match:
                why = "the job has changed since, or the tag is weak"
                raise PreconditionFailed(f"the ETag of the job is not in If-Match: {why}")
        if self.none_match is not None and tag is not None and _names_weakly(self.none_match, tag):
            raise PreconditionFailed("there is such a job already, and If-None-Match asks that there is none")


def conditions_of(request: web.Request) -> Conditions:
    """Return the preconditions of a write. Raise ``invalid_parameter`` for a header that is not a list of entity tags: if it
    were ignored, a write that was meant to be conditional would go through."""
    return Conditions(_tags(request, "If-Match"), _tags(request, "If-None-Match"))


def answer(request: web.Request, body: bytes, headers: Mapping[str, str]) -> web.Response:
    """Return a 200 with ``body`` and its tag, or a 304 if the client has it already (If-None-Match; a read has no other
    precondition)."""
    tag, known = tag_of(body), _tags(request, "If-None-Match")
    if known is not None and _names_weakly(known, lambda: tag):
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
    tags = tuple(_CODING.sub('"', tag) for tag in _TAG.findall(text))
    if not tags or not _LIST.fullmatch(text):
        raise Refusal("invalid_parameter", f'{name} has to be * or entity tags in quotes, such as "6f3a"')
    return tags


def prefers(request: web.Request, media: str, other: str) -> bool:
    """Return whether the client names the media type ``media``, and ``other`` after it or not at all."""
    accepted = ",".join(request.headers.getall("Accept", ())).lower()
    place, rival = accepted.find(media), accepted.find(other)
    return place >= 0 and not 0 <= rival < place
