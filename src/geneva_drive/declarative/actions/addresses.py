"""Which addresses a webhook may reach."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection

from geneva_drive.errors import AddressRefused, PermanentError, RetryableError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


def checked_address(host: str, port: int, allowed_hosts: Collection[str]) -> str:
    """Return the address to connect to, or raise an `AddressRefused`.

    The caller connects to this address and not to the name, because the name may resolve to another
    address by then.
    """
    addresses = _resolve(host, port)
    if host.lower() in allowed_hosts:
        return addresses[0]
    for address in addresses:
        if not _is_public(ipaddress.ip_address(address)) and address not in allowed_hosts:
            raise AddressRefused(host, address)
    return addresses[0]


def _resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host as the system resolves it, also `2130706433` or `0x7f.1`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise PermanentError(f"{host!r} is not the name of a host: {error}.") from error
    except OSError as error:
        raise RetryableError(f"The host {host!r} cannot be resolved: {error}.") from error
    return [str(entry[4][0]).partition("%")[0] for entry in found]


def _is_public(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        # These reach an IPv4 address through a gateway.
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
        if address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not address.is_multicast
