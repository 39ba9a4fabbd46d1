"""Whether a text is an e-mail address or a web address to which a candidate can be sent. Nothing is looked up."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
#: What is accepted without a closer look: nearly all addresses.
_PLAIN_URL = re.compile(
    rf"[Hh][Tt][Tt][Pp][Ss]?://(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?"
    r"""(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%|]*)?"""
)
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_HOST_LABEL = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")
_NOT_IN_URL = re.compile(r"""[\s\\<>"^`{}]""")


@lru_cache(maxsize=8192)
def email_fault(address: str) -> str | None:
    """Return why ``address`` is not an e-mail address, or None. Only its syntax counts (``.test`` domains are valid)."""
    # Imported at the first use: the library takes longer to import than the rest of the domain.
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415

    try:
        validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        return str(error)
    # The library's test mode accepts a bare "test" as a domain.
    return None if "." in address.rpartition("@")[2] else "The part after the @-sign needs a period."


def url_fault(url: str) -> str | None:
    """Return why ``url`` is not an address for candidates, or None: it must be http or https with a host, have no
    credentials, and nothing that a browser would have to correct."""
    if _PLAIN_URL.fullmatch(url):
        return None
    if not _SCHEME.match(url):
        return "the address must begin with http:// or https://"
    if found := _NOT_IN_URL.search(url):
        return f"the address cannot contain {found[0]!r}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "the host or the port cannot be read"
    if "@" in parts.netloc:
        return "the address must not have a user name or a password"
    if not host:
        return "the address has no host"
    if port == 0 or parts.netloc.endswith(":"):
        return "the port must be 1 to 65535"
    return None if "[" in parts.netloc or _is_host(host) else f"{host[:100]!r} is not a host name"


def _is_host(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    return len(host) <= 253 and all(_HOST_LABEL.fullmatch(label) for label in labels)
