"""Addresses of sources: their protocols, the keys that each has in ``[source]``, and the forms that are refused."""

import re
from collections.abc import Collection, Iterator
from urllib.parse import SplitResult, unquote, urlsplit

from syncd.values import ValueFault, filled_text

LOGIN, _REQUEST = ("username", "password"), ("headers", "pages", "method", "body")
#: The protocols, and the keys that each has beside ``url``, ``every`` and ``at``.
SCHEMES = {
    "https": (*LOGIN, *_REQUEST, "insecure_hosts"),
    "http": (*LOGIN, *_REQUEST, "insecure_hosts"),
    "sftp": (*LOGIN, "key", "known_hosts", "after", "insecure_hosts"),
    "ftps": (*LOGIN, "after", "insecure_hosts"),
    "s3": (*LOGIN, "endpoint", "after", "insecure_hosts"),
    "gs": ("key", "after"),
    "az": (*LOGIN, "after"),
    "file": ("after",),
}
KEYS = ("url", "board", "every", "at", *dict.fromkeys(key for keys in SCHEMES.values() for key in keys))
#: The characters that make a pattern of the last part of a path.
PATTERN = re.compile(r"[*?\[]")
_NEEDED = {
    "sftp": {
        "username": "the user of the server",
        "known_hosts": "the lines of ssh-keyscan HOST, once its owner has said that they are right",
    },
    "az": {"username": "the name of the storage account"},
}


def parse_url(value: object) -> SplitResult:
    """Return the parts of an address. Raises ValueFault, which does not show it: it may have a secret."""
    url = filled_text(value)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueFault("cannot be parsed as an address; write it as https://HOST/PATH") from None
    if parts.scheme not in SCHEMES:
        raise ValueFault(f"must be an address that begins with {'://, '.join(SCHEMES)}://")
    if parts.scheme == "file":
        if parts.netloc or not parts.path:
            raise ValueFault("must have a path and no host, such as file:///srv/acme/jobs.xml")
    elif not host or port == 0:
        raise ValueFault("must have a host, such as https://careers.acme.example/jobs.xml")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ValueFault("must not have spaces or control characters; write a space as %20")
    if parts.scheme.startswith("http"):
        return parts
    # a file on a server, or some in one folder
    folder, _, name = unquote(parts.path).rpartition("/")
    if "?" in url or "#" in url:
        raise ValueFault("must not have a query or a fragment: write ? as %3F and # as %23")
    if name in ("", ".", ".."):
        raise ValueFault("must name a file, or a pattern such as sftp://files.acme.example/out/jobs-*.xml")
    if PATTERN.search(folder):
        raise ValueFault("must have its pattern in the last part of the path")
    if not unquote(parts.path).isprintable():
        raise ValueFault("must not have control characters")
    return parts


def key_faults(parts: SplitResult, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each key that is missing or that the protocol does not have, with the fault."""
    scheme = parts.scheme
    own = SCHEMES[scheme]
    for key in keys:
        if key in KEYS and key not in ("url", "board", "every", "at", *own):
            yield key, f"is not a key of {scheme}, which has {', '.join(own)}"
    for key, what in _NEEDED.get(scheme, {}).items():
        if key not in keys and not (key == "username" and parts.username):
            yield key, f"is missing: {what}"
    if scheme == "s3" and "username" in keys and "password" not in keys:
        yield "password", "is missing: the secret of the key whose id is username"
    if scheme == "sftp" and not {"key", "password"} & {*keys} and parts.password is None:
        yield "key", "is missing: the contents of a private key, or password"
