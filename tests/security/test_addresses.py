from __future__ import annotations

import pytest

from orchestrator.security.addresses import (
    address_problem,
    host_problem,
    port_problem,
)

ADDRESSES = {
    # IPv4 blocks: their first and last addresses.
    "0.0.0.0": "unspecified",
    "0.255.255.255": "unspecified",
    "10.0.0.0": "private",
    "10.255.255.255": "private",
    "100.64.0.0": "carrier-grade NAT",
    "100.100.100.200": "carrier-grade NAT",
    "100.127.255.255": "carrier-grade NAT",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "168.63.129.16": "cloud metadata",
    "169.254.0.1": "link-local",
    "169.254.169.254": "link-local",
    "169.254.170.2": "link-local",
    "172.16.0.0": "private",
    "172.31.255.255": "private",
    "192.0.0.1": "reserved",
    "192.0.0.192": "reserved",
    "192.0.2.1": "documentation",
    "192.88.99.1": "reserved",
    "192.168.0.0": "private",
    "192.168.255.255": "private",
    "198.18.0.0": "benchmarking",
    "198.19.255.255": "benchmarking",
    "198.51.100.7": "documentation",
    "203.0.113.7": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    # Their neighbours are public.
    "1.1.1.1": "",
    "9.255.255.255": "",
    "11.0.0.0": "",
    "100.63.255.255": "",
    "100.128.0.0": "",
    "126.255.255.255": "",
    "128.0.0.0": "",
    "169.253.255.255": "",
    "169.255.0.0": "",
    "172.15.255.255": "",
    "172.32.0.0": "",
    "192.0.1.0": "",
    "192.167.255.255": "",
    "192.169.0.0": "",
    "198.17.255.255": "",
    "198.20.0.0": "",
    "223.255.255.255": "",
    # IPv6.
    "::": "unspecified",
    "::1": "loopback",
    "::2": "reserved",
    "::7f00:1": "reserved",
    "::127.0.0.1": "reserved",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "2606:4700::1%eth0": "link-local",
    "fec0::1": "reserved",
    "fc00::1": "private",
    "fd00:ec2::254": "private",
    "fd20:ce::254": "private",
    "ff02::1": "multicast",
    "100::1": "reserved",
    "2001::1": "Teredo",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo",
    "2001:2::1": "benchmarking",
    "2001:10::1": "reserved",
    "2001:db8::1": "documentation",
    "2002:7f00:1::": "6to4",
    "2002:808:808::1": "6to4",
    "3fff::1": "documentation",
    "4000::1": "reserved",
    "5f00::1": "reserved",
    "2606:4700:4700::1111": "",
    "2a00:1450:4001::1": "",
    "2001:4860:4860::8888": "",
    # IPv4 in IPv6.
    "::ffff:127.0.0.1": "loopback",
    "::ffff:7f00:1": "loopback",
    "::ffff:10.0.0.1": "private",
    "::ffff:169.254.169.254": "link-local",
    "::ffff:0:10.0.0.1": "reserved",
    "::ffff:1.1.1.1": "",
    "64:ff9b::127.0.0.1": "loopback",
    "64:ff9b::a9fe:a9fe": "link-local",
    "64:ff9b::10.1.2.3": "private",
    "64:ff9b::1.1.1.1": "",
    "64:ff9b:1::1.1.1.1": "reserved",
    # No addresses.
    "": "no IP address",
    "localhost": "no IP address",
    "127.1": "no IP address",
    "0x7f000001": "no IP address",
    "2130706433": "no IP address",
    "0177.0.0.1": "no IP address",
    "[::1]": "no IP address",
    "1.2.3.4 ": "no IP address",
    "１.1.1.1": "no IP address",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_public_addresses_pass(address: str) -> None:
    assert address_problem(address) == ADDRESSES[address]


HOSTS = {
    "localhost": "this machine",
    "localhost.": "this machine",
    "a.localhost": "this machine",
    "box.localdomain": "this machine",
    "printer.local": "the local network",
    "metadata.google.internal": "an internal network",
    "instance-data.ec2.internal": "an internal network",
    "host.docker.internal": "an internal network",
    "wiki.corp": "an internal network",
    "router.home.arpa": "the local network",
    "nas.lan": "the local network",
    "hidden.onion": "a hidden network",
    "intranet": "an internal network",
    "metadata": "without a domain",
    "example.org": "",
    "local.example.org": "",
    "internal.org": "",
    "xn--fsq.cn": "",
    # Numbers are for the resolver.
    "127.0.0.1": "",
    "2130706433": "",
    "0x7f000001": "",
    "0x7f.1": "",
    "::1": "",
}


@pytest.mark.parametrize("host", HOSTS)
def test_names_of_this_machine_and_its_network_are_refused(host: str) -> None:
    why = host_problem(host)

    assert HOSTS[host] in why
    assert bool(why) == bool(HOSTS[host])


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8000, 8080, 8443, 65535])
def test_ports_of_pages_pass(port: int) -> None:
    assert port_problem(port) == ""


@pytest.mark.parametrize("port", [-1, 0, 22, 25, 53, 110, 445, 6000, 6667, 65536])
def test_ports_of_other_services_are_refused(port: int) -> None:
    assert "80, 443" in port_problem(port)
