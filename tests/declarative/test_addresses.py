"""Which addresses webhooks may reach, however they are written."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from geneva_drive.declarative.actions.addresses import checked_address
from geneva_drive.declarative.actions.webhook import WebhookRequest, send
from geneva_drive.errors import AddressRefused, PermanentError, RetryableError
from tests.declarative.receiver import receiving
from tests.declarative.test_webhooks import NOW


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.8.9.10", "127.1", "2130706433", "0x7f000001", "017700000001"),
        *("0.0.0.0", "0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254"),
        *("100.100.100.200", "224.0.0.1", "255.255.255.255", "198.18.0.1", "localhost"),
        *("::", "::1", "fe80::1", "fe80::1%lo", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1"),
        *("64:ff9b:1::1", "2002:7f00:1::1", "2001:db8::1", "2001::1"),
    ],
)
def test_an_address_that_is_not_public_is_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        checked_address(host, 80, frozenset())


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("93.184.215.14", "93.184.215.14"),
        ("134744072", "8.8.8.8"),
        ("2606:4700:4700::1111", "2606:4700:4700::1111"),
        ("64:ff9b::808:808", "64:ff9b::808:808"),
    ],
)
def test_a_public_address_is_returned(host: str, address: str) -> None:
    assert checked_address(host, 80, frozenset()) == address


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", "localhost"),
        ("LocalHost", "localhost"),
        ("127.1", "127.0.0.1"),
        ("::1", "::1"),
    ],
)
def test_a_host_of_the_setting_is_allowed(host: str, allowed: str) -> None:
    assert checked_address(host, 80, frozenset({allowed})) in ("127.0.0.1", "::1")


def resolving_to(*found: str) -> Any:
    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    return getaddrinfo


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to("8.8.8.8", "10.0.0.1"))

    with pytest.raises(AddressRefused) as caught:
        checked_address("shop.example", 443, frozenset())

    assert str(caught.value) == (
        "Webhooks to shop.example (10.0.0.1) are refused: the address is not public. If this is "
        "intended, add 'shop.example' to the setting webhook_allowed_hosts."
    )


def test_the_request_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to another address the second time is resolved once."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
        asked.append(host)
        return real("127.0.0.1" if host == "shop.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with receiving() as receiver:
        url = receiver.url("/", "shop.example")
        request = WebhookRequest(url=url, method="POST", body=None, headers={}, message_id="m")
        # The address is allowed, the name is not: the connection goes to the address.
        send(request, secret=None, allowed_hosts=frozenset({"127.0.0.1"}), now=NOW)

        [received] = receiver.received
        assert received.headers["host"] == f"shop.example:{receiver.port}"
        assert asked == ["shop.example", "127.0.0.1"]


def test_a_name_that_does_not_resolve_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    with pytest.raises(RetryableError, match=r"^The host 'nowhere\.example' cannot be resolved: "):
        checked_address("nowhere.example", 443, frozenset())


def test_a_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(PermanentError, match="is not the name of a host"):
        checked_address(f"{'a' * 64}.example", 443, frozenset())
