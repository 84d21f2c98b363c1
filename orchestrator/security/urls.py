"""Web addresses: taken apart once, and written in one form always."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from orchestrator.errors import ToolError
from orchestrator.security.addresses import host_problem, port_problem

__all__ = [
    "WebAddress",
    "canonical",
    "is_url",
    "joined",
    "meant_url",
    "parse_url",
]

MAX_URL_CHARS = 4000
_SHOWN_CHARS = 200
_PORTS: Final = {"http": 80, "https": 443}
# All that RFC 3986 lets stand, escapes, and the brackets of placeholders for secrets.
_SAFE: Final = "!#$%&'()*+,/:;=?@[]~|"
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_ESCAPE: Final = re.compile(r"%[0-9a-fA-F]{2}")
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NAME: Final = re.compile(r"[a-z0-9_.-]+")
_AROUND: Final = "<>\"'`"
_BEHIND: Final = ".,;"


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A http or https address, all of it ASCII.

    Attributes:
        scheme: `http` or `https`.
        host: name or address, lower case, without brackets.
        port: always given.
        target: path and query, as they are asked for.
    """

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def authority(self) -> str:
        """Return the host, and the port where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_usual = self.port == _PORTS[self.scheme]
        return host if is_usual else f"{host}:{self.port}"


def is_url(text: str) -> bool:
    """Tell whether `text` is meant as an address and not as a path."""
    return "://" in text


def parse_url(url: str) -> WebAddress:
    """Return a public web address, without its fragment.

    Raises:
        ToolError: it is none, or one that may not be reached.
    """
    address = _parsed(url)
    why = host_problem(address.host)
    if why:
        raise ToolError(
            f"`{_shown(url)}` is not fetched: `{_shown(address.host)}` is {why}; only "
            "public hosts can be reached"
        )
    why = port_problem(address.port)
    if why:
        raise ToolError(
            f"`{_shown(url)}` is not fetched: port {address.port} is not for web pages "
            f"({why})"
        )
    return address


def joined(base: WebAddress, location: str) -> WebAddress:
    """Return where a redirect or a link leads.

    Raises:
        ToolError: to nothing that may be reached.
    """
    return parse_url(_join(str(base), location.strip()))


def canonical(url: str) -> str:
    """Return an address as it is kept and compared; what is no address stays as it is.

    Fragments, the usual port, and the case of scheme and host make no difference.
    """
    bare = url.strip().strip(_AROUND).rstrip(_BEHIND)
    try:
        return str(_parsed(bare))
    except ToolError:
        return url


def meant_url(url: str, known: Collection[str]) -> str:
    """Return the one of `known` that `url` stands for, or `url`.

    A slash at the end makes no difference where only one of them can be meant.
    """
    if url in known:
        return url
    wanted = canonical(url)
    if wanted in known:
        return wanted
    alike = [
        each
        for each in known
        if is_url(each) and each.rstrip("/") == wanted.rstrip("/")
    ]
    return alike[0] if len(alike) == 1 else url


def _join(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError as error:  # brackets that hold no address
        raise ToolError(f"`{_shown(location)}` is no web address") from error


def _parsed(url: str) -> WebAddress:
    text = url.strip()
    if len(text) > MAX_URL_CHARS:
        raise ToolError(
            f"this address has {len(text):,} characters; at most {MAX_URL_CHARS:,} are "
            "allowed"
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"`{_shown(url)}` is no web address: {error}") from error
    if parts.scheme not in _PORTS:
        found = f"found `{_shown(parts.scheme)}:`" if parts.scheme else "found none"
        raise ToolError(
            f"`{_shown(url)}` is no web address: it must begin with `https://` or "
            f"`http://`, {found}"
        )
    if "@" in parts.netloc:
        # Not shown in full: it may be a password.
        raise ToolError(
            f"the address of `{_shown(parts.hostname or '')}` holds a user name or a "
            "password; leave them out, none is sent"
        )
    if _UNFIT.search(parts.netloc):
        raise ToolError(f"`{_shown(url)}` is no web address: odd signs in its host")
    target = _escaped(parts.path or "/") + (
        f"?{_escaped(parts.query)}" if parts.query else ""
    )
    return WebAddress(
        parts.scheme,
        _host(parts.hostname or "", url),
        _PORTS[parts.scheme] if port is None else port,
        target,
    )


def _host(host: str, url: str) -> str:
    """Return a host in ASCII: names of other scripts as they are looked up."""
    if ":" in host:
        try:
            address = IPv6Address(host)
        except AddressValueError as error:
            raise ToolError(f"`{_shown(url)}` has no good IPv6 address") from error
        if address.scope_id is not None:  # of this machine's own networks
            raise ToolError(f"`{_shown(url)}` has no public IPv6 address")
        return address.compressed
    if not host.isascii():
        import idna  # noqa: PLC0415 - hardly any run needs it

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError as error:
            raise ToolError(
                f"`{_shown(url)}` has no good host name: {str(error)[:_SHOWN_CHARS]}"
            ) from error
    host = host.lower().removesuffix(".")
    if not _NAME.fullmatch(host) or any(
        not 0 < len(label) <= 63 for label in host.split(".")
    ):
        raise ToolError(f"`{_shown(url)}` has no good host name")
    return host


def _escaped(part: str) -> str:
    fit = quote(_STRAY_PERCENT.sub("%25", part), safe=_SAFE)
    return _ESCAPE.sub(lambda match: match[0].upper(), fit)


def _shown(text: str) -> str:
    """Return an address for a message: without its query, which may hold secrets."""
    flat = " ".join(text.split())
    flat, query, _ = flat.partition("?")
    flat += "?…" if query else ""
    return flat if len(flat) <= _SHOWN_CHARS else f"{flat[:_SHOWN_CHARS]}…"
