"""A strict reading of URLs for authority decisions: anything odd does not parse (L10).

`urllib.parse` repairs what it reads (it drops tabs, accepts backslashes and user information), so
that policy and HTTP client could see different hosts. Here a URL is either plain or refused.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?"
)
_AUTHORITY = re.compile(
    r"(?:(?P<user>.*)@)?(?P<host>\[[^\[\]@]*\]|[^:@\[\]]*)(?::(?P<port>[0-9]{0,5}))?"
)
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """The parts of a URL. `host` is normalised, None when the URL names none (`file:///x`)."""

    scheme: str
    host: str | None
    port: int | None
    path: str
    has_user_information: bool
    has_query: bool

    @property
    def origin(self) -> str:
        """Scheme, host and a port that is not the scheme's own."""
        shown = f"{self.scheme}://{self.host or ''}"
        if self.port is None or self.port == _DEFAULT_PORTS.get(self.scheme):
            return shown
        return f"{shown}:{self.port}"

    @property
    def without_secrets(self) -> str:
        """Origin and path: no user information, query or fragment."""
        return f"{self.origin}{self.path or '/'}"


def parse_url(url: str) -> ParsedUrl | None:
    """Read `url`, or return None if it is not plainly a URL."""
    if not url.isprintable() or " " in url or "\\" in url:
        return None
    match = _URL.fullmatch(url)
    if match is None:
        return None
    authority = _AUTHORITY.fullmatch(match["authority"])
    if authority is None:
        return None
    host = normalize_host(authority["host"]) if authority["host"] else None
    scheme = match["scheme"].lower()
    if host is None and (authority["host"] or scheme in _DEFAULT_PORTS):
        return None
    port = int(authority["port"]) if authority["port"] else None
    if port is not None and port > 65535:
        return None
    return ParsedUrl(
        scheme=scheme,
        host=host,
        port=port,
        path=match["path"] or "",
        has_user_information=authority["user"] is not None,
        has_query=match["query"] is not None,
    )


def normalize_host(host: str) -> str | None:
    """The one spelling of a host: lower case, no trailing dots, IDNA; None if it is not one.

    IP addresses must be in their usual form; shorthand such as `127.1` or `0x7f000001` is refused
    because clients disagree about it.
    """
    if host.startswith("[") and host.endswith("]"):
        try:
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]" if "%" not in host else None
        except ValueError:
            return None
    name = host.rstrip(".").lower()
    if not name.isascii():
        encoded = _idna(name)
        if encoded is None:
            return None
        name = encoded
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            return None
    return name


def _idna(name: str) -> str | None:
    """Encode as the HTTP client does: `idna` is the package httpx itself uses."""
    try:
        import idna
    except ImportError:  # without httpx there is no client to agree with
        return None
    try:
        return idna.encode(name).decode("ascii")
    except idna.IDNAError:
        return None
