"""The table ``[source]`` of a feed's file: the address of its files, the turns and the login (docs/sources.md).

A value may be a Secret, which says where its text is; that is read when a fetch begins."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import time, timedelta
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from syncd.errors import ConfigError
from syncd.feeds.faults import Scope, member
from syncd.feeds.mapping.presets import boards, load_preset
from syncd.feeds.source_address import KEYS, LOGIN, key_faults, parse_url
from syncd.values import ValueFault, choice, duration, filled_text, number, shown

#: The keys whose texts have lines.
CONTENTS = ("key", "known_hosts")
#: The shortest pause between two turns, and the most times of a day.
MIN_EVERY, MAX_TIMES = timedelta(seconds=1), 48
_WAYS = '{ next = "paging.next" }, { link = true } or { parameter = "page", from = 1, until = "empty" }'
#: The kinds of secrets, and how their names look.
_NAMES = {
    "credential": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,254}"),
    "env": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}"),
}
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_SECRET_HEADER = re.compile(r"authorization|cookie|key|token|secret|password|signature", re.IGNORECASE)
#: Headers that syncd itself sends, or that would change how an answer is read.
_OWN_HEADERS = frozenset(
    "accept-encoding connection content-length host if-modified-since if-none-match range te trailer"
    " transfer-encoding upgrade".split()
)
#: The name of a board as a part of a host's name, and as a part of a path.
_BOARD_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]{1,20})?")
_BOARD = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._-]{0,98}[A-Za-z0-9._-])?")
#: Keys that the preset of a board decides.
_OF_BOARD = ("url", "pages", "method", "body")
_FIRST = number(0, 1_000_000).parse
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that is elsewhere: in the file ``name`` of a credentials folder (``kind`` credential) or in the environment
    variable ``name`` (``env``)."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{{ {self.kind} = {self.name} }}"


Value = str | Secret
V = TypeVar("V", bound=Value)


@dataclass(frozen=True, slots=True)
class Pages:
    """How the pages of a JSON answer go on. ``next``: the members that lead to the next address in an answer; ``link``: the
    header Link with rel="next"; ``parameter``: of the query, a number from ``first`` on, until a page has no records.
    ``by_records``: the number counts records, not pages. ``details``: the member of a record with the address of all of it."""

    next: tuple[str, ...] | None = None
    link: bool = False
    parameter: str | None = None
    first: int = 1
    by_records: bool = False
    details: str | None = None

    @property
    def table(self) -> dict[str, object]:
        """The table of a feed's file that says that the answer, or its header Link, has the next address."""
        return {"link": True} if self.next is None else {"next": ".".join(self.next)}


@dataclass(frozen=True)  # an alias of a generic class sets an attribute of its own
class Fetch(Generic[V]):
    """The table, checked: a Source, or with the texts of its secrets the Request of one fetch.

    Without ``every`` and ``at`` it is fetched by command only. ``body`` is sent with POST; ``media`` is its type. ``records``:
    with ``pages``, the path to the list in each answer, None for an answer that is a list. ``insecure_hosts`` are in lower case.
    ``key`` and ``known_hosts`` are contents of files; ``delete``: files are deleted at the server once they are here. ``board``:
    the name by which the preset has made ``url``. ``keys``: of the table. ``plain_secrets``: the keys whose secret is in the
    feed's file."""

    url: V = field(repr=False)
    every: timedelta | None = None
    at: tuple[time, ...] = ()
    headers: Mapping[str, V] = field(default_factory=dict, repr=False)
    username: V | None = field(default=None, repr=False)
    password: V | None = field(default=None, repr=False)
    pages: Pages | None = None
    records: str | None = None
    method: str = "GET"
    body: str | None = field(default=None, repr=False)
    media: str | None = None
    insecure_hosts: frozenset[str] = frozenset()
    plain_secrets: tuple[str, ...] = ()
    key: V | None = field(default=None, repr=False)
    known_hosts: V | None = field(default=None, repr=False)
    endpoint: str | None = None
    delete: bool = False
    board: str | None = None
    keys: frozenset[str] = frozenset()

    @property
    def secrets(self) -> list[tuple[str, Secret]]:
        """The keys whose values are elsewhere."""
        return [(key, value) for key, value in self._values().items() if isinstance(value, Secret)]

    @property
    def by_http(self) -> bool:
        return str(self.url).startswith("http")

    def _values(self) -> dict[str, V]:
        values = {name: getattr(self, name) for name in ("url", *LOGIN, *CONTENTS)}
        values |= {f"headers.{name}": value for name, value in self.headers.items()}
        return {key: value for key, value in values.items() if value is not None}

    @property
    def shown(self) -> str:
        """The address without user, password, query and fragment; of an address that is a secret, its name."""
        if isinstance(self.url, Secret):
            return str(self.url)
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def request(self, text_of: Callable[[str, Secret], str]) -> "Request":
        """Return the request; its ``url`` has neither user nor fragment. Raises ValueFault for an address in a secret that is
        wrong, and as ``text_of`` does for a key and its secret."""
        values = self._values().items()
        texts = {key: text_of(key, value) if isinstance(value, Secret) else value for key, value in values}
        parts = parse_url(texts["url"])
        for key, fault in key_faults(parts, self.keys):
            raise ValueFault(f"is an address of {parts.scheme}, and {key} {fault}")
        username, password = texts.get("username"), texts.get("password")
        if username is None and parts.username is not None:
            username, password = unquote(parts.username), unquote(parts.password or "")
        return replace(
            cast("Request", self),
            url=urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")),
            headers={name: texts[f"headers.{name}"] for name in self.headers},
            username=username,
            password=password,
            key=texts.get("key"),
            known_hosts=texts.get("known_hosts"),
        )


Source = Fetch[Value]
Request = Fetch[str]


def read_source(
    table: object, preset: str | None, records: str | None, marker: str | None, scope: Scope
) -> Source | None:
    """Return the source of a feed's file, None with faults in ``scope``, the place of the table. ``records``: of ``[read]``;
    ``preset`` and ``marker``: of the feed."""
    if not isinstance(table, dict):
        scope.fault("must be a table: [source]")
        return None
    before = len(scope.faults)
    scope.keys(table, KEYS)
    if "board" in table:
        table = _with_board(table, preset, scope)
    elif "url" not in table:
        scope.at("url").fault("is missing: the address that the file is fetched from")
    if marker is not None:
        scope.fault("cannot be beside marker: a fetched file comes without one")
    source = _read(table, records, scope)
    return source if len(scope.faults) == before else None


def source_at(url: str, insecure_host: str | None = None, preset: str | None = None) -> Source:
    """Return the source of an address on a command line; with a ``preset`` ``url`` is the name of its board. Raises
    ConfigError."""
    hosts = {} if insecure_host is None else {"insecure_hosts": [insecure_host]}
    scope = Scope("the address")
    records = load_preset(preset).get("read", {}).get("records") if preset else None
    source = read_source({"board" if preset else "url": url, **hosts}, preset, records, None, scope)
    if source is None:
        raise ConfigError(scope.faults)
    return source


def _read(table: Mapping[str, Any], records: str | None, scope: Scope) -> Source:
    url: Value = member(table, "url", _url, "", scope)
    username: Value | None = member(table, "username", _value, None, scope)
    password: Value | None = member(table, "password", _value, None, scope)
    headers = _headers(table.get("headers", {}), scope.at("headers"))
    if password is not None and username is None:
        scope.at("password").fault("needs username, too")
    if username is not None and any(name.lower() == "authorization" for name in headers):
        scope.at("username").fault("cannot be beside headers.Authorization: give one of them")
    every, at = member(table, "every", _every, None, scope), member(table, "at", _times, (), scope)
    if every is not None and at:
        scope.at("at").fault("cannot be beside every: give one of them")
    pages = table.get("pages")
    if pages is not None and not isinstance(pages, Pages):
        pages = _pages(pages, scope.at("pages"))
    method = member(table, "method", choice("GET", "POST").parse, "GET", scope)
    body, media = member(table, "body", _body, (None, None), scope)
    if body is not None and method != "POST":
        scope.at("body").fault('needs method = "POST"')
    key: Value | None = member(table, "key", _contents, None, scope)
    if isinstance(url, str) and url:
        for name, fault in key_faults(urlsplit(url), table.keys()):
            scope.at(name).fault(fault)
    return Source(
        url,
        every,
        at,
        headers,
        username,
        password,
        pages,
        records if pages is not None else None,
        method,
        body,
        media,
        member(table, "insecure_hosts", _hosts, frozenset(), scope),
        tuple(_plain_secrets(url, headers, {"password": password, "key": key})),
        key,
        member(table, "known_hosts", _contents, None, scope),
        member(table, "endpoint", _endpoint, None, scope),
        member(table, "after", choice("keep", "delete").parse, "keep", scope) == "delete",
        table.get("board"),
        frozenset(table),
    )


def _with_board(table: Mapping[str, Any], preset: str | None, scope: Scope) -> dict[str, Any]:
    """Return the table with the address that the preset has for the board, and its pages."""
    place, name = scope.at("board"), table["board"]
    beside = [key for key in _OF_BOARD if key in table]
    address = boards().get(preset or "", {})
    if beside:
        why = "give one of them" if beside[0] == "url" else "the preset knows it"
        place.fault(f"cannot be beside {beside[0]}: {why}")
    if not address:
        place.fault(
            f'needs a preset that knows boards, such as preset = "{next(iter(boards()))}": {", ".join(boards())}'
        )
    elif not beside:
        before = address["url"].partition("{board}")[0]
        pattern = _BOARD if "/" in before.partition("://")[2] else _BOARD_HOST
        if not isinstance(name, str) or not pattern.fullmatch(name):
            place.fault(f"must be the NAME in {address['url'].format(board='NAME')}, not {shown(name)}")
        else:
            pages = {"pages": Pages(**address["pages"])} if "pages" in address else {}
            return {**table, "url": address["url"].format(board=quote(name)), **pages}
    return {key: value for key, value in table.items() if key not in _OF_BOARD}


def _plain_secrets(
    url: Value, headers: Mapping[str, Value], others: Mapping[str, Value | None]
) -> Iterator[str]:
    if isinstance(url, str) and urlsplit(url).password:
        yield "url"
    yield from (key for key, value in others.items() if isinstance(value, str))
    for name, value in headers.items():
        if isinstance(value, str) and _SECRET_HEADER.search(name):
            yield f"headers.{name}"


# -- kinds of values -------------------------------------------------------------------------------------------


def _value(value: object) -> Value:
    """Return a text, or the Secret of ``{ credential = NAME }`` or ``{ env = NAME }``. A fault does not show the value."""
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, name),) = value.items()
        if kind in _NAMES and isinstance(name, str) and _NAMES[kind].fullmatch(name):
            return Secret(kind, name)
    if isinstance(value, dict):
        raise ValueFault("must be { credential = NAME }, NAME without a folder, or { env = NAME }")
    raise ValueFault("must be a text of one line, { credential = NAME } or { env = NAME }")


def _contents(value: object) -> Value:
    """Return the contents of a file, or a Secret."""
    if isinstance(value, str) and value.strip() and has_lines(value):
        return value
    if isinstance(value, dict):
        return _value(value)
    raise ValueFault("must be the contents of a file, { credential = NAME } or { env = NAME }")


def has_lines(text: str) -> bool:
    """Return whether a text has printable characters, tabs and line ends alone."""
    return re.sub(r"[\t\r\n]", "", text).isprintable()


def _endpoint(value: object) -> str:
    endpoint = filled_text(value)
    if not re.match("https?://", endpoint) or {*"?#@"} & {*endpoint}:
        raise ValueFault("must be an address like https://storage.acme.example")
    parse_url(endpoint)
    return endpoint


def _url(value: object) -> Value:
    if isinstance(value, dict):
        return _value(value)
    parse_url(value)
    return filled_text(value)


def _every(value: object) -> timedelta:
    every = duration(value)
    if every < MIN_EVERY:
        raise ValueFault("must be at least 1s")
    return every


def _times(value: object) -> tuple[time, ...]:
    times = value if isinstance(value, list) else []
    good = all(isinstance(text, str) and _TIME.fullmatch(text) for text in times)
    if not good or not 0 < len(times) <= MAX_TIMES or len({*times}) < len(times):
        few = f"a list of up to {MAX_TIMES} different times of day"
        raise ValueFault(f'must be {few} such as ["06:00", "18:00"], not {shown(value)}')
    return tuple(time.fromisoformat(text) for text in sorted(times))


def _headers(table: object, scope: Scope) -> dict[str, Value]:
    if not isinstance(table, dict):
        scope.fault('must be a table such as { Accept = "application/json" }')
        return {}
    for name in table:
        if not _HEADER.fullmatch(name):
            scope.at(name).fault("cannot be the name of a header")
        elif name.lower() in _OWN_HEADERS:
            scope.at(name).fault("is a header that syncd itself sends")
    return {name: member(table, name, _value, "", scope) for name in table}


def _pages(table: object, scope: Scope) -> Pages | None:
    if not isinstance(table, dict) or len({"next", "link", "parameter"} & table.keys()) != 1:
        scope.fault(f"must be {_WAYS}")
        return None
    scope.keys(table, ("parameter", "from", "until") if "parameter" in table else ("next", "link"))
    if table.get("link", True) is not True:
        scope.at("link").fault("must be true")
    member(table, "until", choice("empty").parse, "empty", scope)
    path = member(table, "next", _path, None, scope)
    parameter = member(table, "parameter", filled_text, None, scope)
    return Pages(path, "link" in table, parameter, member(table, "from", _FIRST, 1, scope))


def _path(value: object) -> tuple[str, ...]:
    path = tuple(filled_text(value).split("."))
    if not all(path):
        raise ValueFault(f'must be a path of members such as "paging.next", not {shown(value)}')
    return path


def _body(value: object) -> tuple[str, str]:
    """Return the text and its type; a table is sent as JSON."""
    if not isinstance(value, dict):
        return filled_text(value), "text/plain; charset=utf-8"
    try:
        return json.dumps(value, ensure_ascii=False), "application/json"
    except TypeError:
        raise ValueFault("must not have dates: write them as texts") from None


def _hosts(value: object) -> frozenset[str]:
    hosts = value if isinstance(value, list) else [""]
    if not all(isinstance(host, str) and host.strip() and not {*"/@*"} & {*host} for host in hosts):
        example = 'a list of hosts as url has them, such as ["jobs.internal"]'
        raise ValueFault(f"must be {example}, not {shown(value)}")
    return frozenset(host.strip().strip("[]").lower() for host in hosts)
