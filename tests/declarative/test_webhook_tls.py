"""Webhooks over TLS: the certificate is that of the name, although the address is connected to."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from geneva_drive.declarative.actions import http_exchange
from geneva_drive.declarative.actions.webhook import WebhookRequest, send
from geneva_drive.errors import PermanentError, RetryableError
from tests.declarative.receiver import Receiver, receiving


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate for shop.example that it signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shop.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("shop.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "shop.pem"
    form = serialization.Encoding.PEM
    private = key.private_bytes(
        form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(form) + private)
    return file


@pytest.fixture
def receiver(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A server with the certificate; every name resolves to it."""
    real = socket.getaddrinfo

    def getaddrinfo(_: Any, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate)
    with receiving(server) as made:
        yield made


@pytest.fixture
def trust(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trusting = ssl.create_default_context(cafile=certificate)
    monkeypatch.setattr(http_exchange, "tls_settings", lambda: trusting)


def post(url: str) -> int:
    request = WebhookRequest(url=url, method="POST", body={}, headers={}, message_id="m")
    allowed = frozenset({"127.0.0.1"})
    return send(request, secret=None, allowed_hosts=allowed, now=datetime.now(UTC))


@pytest.mark.usefixtures("trust")
def test_the_certificate_of_the_name_is_accepted(receiver: Receiver) -> None:
    assert post(receiver.url("/", "shop.example")) == 200


@pytest.mark.usefixtures("trust")
@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
def test_the_certificate_of_another_name_is_refused(receiver: Receiver, host: str) -> None:
    with pytest.raises(RetryableError, match="CERTIFICATE_VERIFY_FAILED"):
        post(receiver.url("/", host))

    assert receiver.received == []


def test_a_certificate_that_nobody_signed_is_refused(receiver: Receiver) -> None:
    with pytest.raises(RetryableError, match="CERTIFICATE_VERIFY_FAILED"):
        post(receiver.url("/", "shop.example"))


@pytest.mark.usefixtures("trust")
def test_a_redirect_that_is_not_encrypted_is_refused(receiver: Receiver) -> None:
    receiver.paths = {"/a": (307, {"location": "http://shop.example/b"})}

    with pytest.raises(PermanentError) as caught:
        post(url := receiver.url("/a", "shop.example"))

    assert str(caught.value) == (
        f"'{url}' redirects to 'http://shop.example/b', which is not encrypted. Write the final "
        f"URL into the document."
    )
