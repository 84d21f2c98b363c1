"""Which hosts, addresses and ports of the network a run may reach: public ones only.

What a name stands for is decided by the resolver, so that every form in which an
address can be written (decimal, octal, short) is judged by the address it comes to.
"""

from __future__ import annotations

import re
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)
from typing import Final

__all__ = ["address_problem", "host_problem", "port_problem"]

# The special-purpose registries of IANA, as of November 2026. Written out, because what
# the standard library calls global has changed between versions of Python.
_IPV4: Final = tuple(
    (IPv4Network(block), what)
    for block, what in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        # A cloud's own service to its machines, at an address that looks public.
        ("168.63.129.16/32", "cloud metadata"),
    )
)
_IPV6_GLOBAL: Final = IPv6Network("2000::/3")
_IPV6: Final = tuple(
    (IPv6Network(block), what)
    for block, what in (
        ("2001::/32", "Teredo"),
        ("2001:2::/48", "benchmarking"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_LOCAL: Final = {
    "localhost": "this machine",
    "localdomain": "this machine",
    "local": "the local network",
    "internal": "an internal network",
    "intranet": "an internal network",
    "private": "an internal network",
    "corp": "an internal network",
    "home": "the local network",
    "lan": "the local network",
    "home.arpa": "the local network",
    "onion": "a hidden network",
}
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|\d+")
_WEB_PORTS: Final = frozenset({80, 443})
_FIRST_FREE_PORT: Final = 1024
# Of what the Fetch standard calls bad ports, those from 1024 on.
_OTHER_SERVICES: Final = frozenset(
    {
        1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666,
        6667, 6668, 6669, 6679, 6697, 10080,
    }
)  # fmt: skip


def address_problem(address: str) -> str:
    """Return why an IP address may not be reached, such as `private`, or "".

    IPv6 forms that carry an IPv4 address (mapped, NAT64) are judged by that one.

    Args:
        address: as a resolver writes it.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return "no IP address"
    return _of_ipv4(parsed) if isinstance(parsed, IPv4Address) else _of_ipv6(parsed)


def _of_ipv4(address: IPv4Address) -> str:
    return next((what for block, what in _IPV4 if address in block), "")


def _of_ipv6(address: IPv6Address) -> str:
    if address.scope_id is not None:
        return "link-local"
    if address.ipv4_mapped is not None:
        return _of_ipv4(address.ipv4_mapped)
    if address in _NAT64:
        return _of_ipv4(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in _IPV6_GLOBAL:
        return _kind_of_ipv6(address)
    return next((what for block, what in _IPV6 if address in block), "")


def _kind_of_ipv6(address: IPv6Address) -> str:
    """Return what an address outside of global unicast is."""
    kinds = (
        (address.is_unspecified, "unspecified"),
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local"),
        (address.is_multicast, "multicast"),
        (address in IPv6Network("fc00::/7"), "private"),
    )
    return next((what for is_so, what in kinds if is_so), "reserved")


def host_problem(host: str) -> str:
    """Return why a host name cannot be a public one, or "".

    A number in whatever form passes: the address that it comes to is judged.

    Args:
        host: in ASCII, lower case, without brackets; may end with a dot.
    """
    name = host.removesuffix(".")
    labels = name.split(".")
    for end in (labels[-1], ".".join(labels[-2:])):
        if end in _LOCAL:
            return f"a name of {_LOCAL[end]}"
    is_address = ":" in name or _NUMBER.fullmatch(labels[-1]) is not None
    if len(labels) == 1 and not is_address:
        return "a name without a domain"
    return ""


def port_problem(port: int) -> str:
    """Return why no web page may be fetched from a port, or "".

    Pages are served at 80, 443 and from 1024 on. Below are mail, name and file
    services, and above a few more, some of which take any lines for commands.
    """
    if port in _WEB_PORTS:
        return ""
    if not _FIRST_FREE_PORT <= port <= 65535 or port in _OTHER_SERVICES:
        return "80, 443 and most from 1024 on are allowed"
    return ""
