"""Webhooks against real servers on loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from geneva_drive.declarative.actions.http_exchange import Timeouts
from geneva_drive.declarative.actions.webhook import WebhookRequest, send
from geneva_drive.errors import AddressRefused, PermanentError, RetryableError
from tests.declarative.receiver import Receiver, answering, receiving

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOOPBACK = frozenset({"127.0.0.1"})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def post(url: str, body: Any = None, **terms: Any) -> int:
    request = WebhookRequest(
        url=url,
        method=terms.pop("method", "POST"),
        body=body,
        headers=terms.pop("headers", {}),
        message_id="msg_7_1",
    )
    given = {"secret": None, "allowed_hosts": LOOPBACK, "now": NOW, **terms}
    return send(request, **given)


def test_a_request_is_sent_as_the_document_says(receiver: Receiver) -> None:
    body = {"order": 7, "name": "Zoë", "at": NOW}

    status = post(receiver.url("/a?b=c"), body, method="PUT", headers={"X-Shop": "1"})

    [received] = receiver.received
    assert (status, received.method, received.path) == (200, "PUT", "/a?b=c")
    assert json.loads(received.body) == {**body, "at": "2026-11-18 12:00:00+00:00"}
    assert received.headers["x-shop"] == "1"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert received.headers["webhook-id"] == "msg_7_1"
    assert "webhook-signature" not in received.headers


def test_the_standard_library_of_webhooks_verifies_the_signature(receiver: Receiver) -> None:
    now = datetime.now(UTC)  # it refuses what is older than five minutes

    post(receiver.url(), {"name": "Zoë"}, secret=SECRET, now=now)

    [received] = receiver.received
    assert Webhook(SECRET).verify(received.body, received.headers) == {"name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(received.body + b" ", received.headers)


def test_the_document_cannot_replace_the_headers_of_the_signature(receiver: Receiver) -> None:
    post(receiver.url(), headers={"Webhook-Id": "other", "Host": "other.example"})

    [received] = receiver.received
    assert received.headers["webhook-id"] == "msg_7_1"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_success_counts(receiver: Receiver, status: int) -> None:
    receiver.status = status

    assert post(receiver.url()) == status


@pytest.mark.parametrize("status", [300, 304, 400, 401, 403, 404, 410, 422])
def test_a_refusal_is_permanent(receiver: Receiver, status: int) -> None:
    receiver.status = status

    with pytest.raises(PermanentError) as caught:
        post(receiver.url())

    assert str(caught.value) == f"'{receiver.url()}' answered {status}."


@pytest.mark.parametrize("status", [429, 500, 502, 503, 599])
def test_too_many_requests_and_errors_of_the_server_are_retried(
    receiver: Receiver, status: int
) -> None:
    receiver.status, receiver.body = status, b"try later"

    with pytest.raises(RetryableError) as caught:
        post(receiver.url())

    assert str(caught.value) == f"'{receiver.url()}' answered {status}. It said: 'try later'."
    assert caught.value.retry_after is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", timedelta(seconds=7)),
        ("Wed, 18 Nov 2026 12:00:30 GMT", timedelta(seconds=30)),
        ("Wed, 18 Nov 2026 11:00:00 GMT", timedelta(0)),
        ("999999999999999999999", timedelta(days=1)),
        ("9" * 5_000, None),
        ("soon", None),
        ("-5", None),
    ],
)
def test_retry_after_replaces_the_wait(
    receiver: Receiver, value: str, expected: timedelta | None
) -> None:
    receiver.status, receiver.headers = 503, {"retry-after": value}

    with pytest.raises(RetryableError) as caught:
        post(receiver.url())

    assert caught.value.retry_after == expected


def test_only_the_beginning_of_an_answer_is_read(receiver: Receiver) -> None:
    receiver.status, receiver.body = 400, b"x" * 1_000_000

    with pytest.raises(PermanentError) as caught:
        post(receiver.url())

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_end_ends(status: int) -> None:
    def pour(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(f"HTTP/1.1 {status} X\r\ncontent-encoding: gzip\r\n\r\n".encode())
        with suppress(OSError):  # until the other side closes
            while True:
                connection.sendall(b"x" * 65_536)

    with answering(pour) as port:
        try:
            answer: object = post(f"http://127.0.0.1:{port}/")
        except RetryableError as error:
            answer = str(error)[:40]

    assert answer in (200, f"'http://127.0.0.1:{port}/' answered 500. I"[:40])


def test_headers_without_end_are_refused() -> None:
    def pour(connection: socket.socket) -> None:
        connection.recv(65_536)
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"a: " + b"x" * 10_000 + b"\r\n")

    with answering(pour) as port, pytest.raises(RetryableError, match="cannot be reached"):
        post(f"http://127.0.0.1:{port}/")


def test_a_server_that_does_not_answer_is_given_up() -> None:
    done = threading.Event()

    with answering(lambda _: _wait(done)) as port:
        with pytest.raises(RetryableError) as caught:
            post(f"http://127.0.0.1:{port}/", patience=Timeouts(piece=0.05))
        done.set()

    assert str(caught.value) == f"'http://127.0.0.1:{port}/' cannot be reached: timed out."


def _wait(done: threading.Event) -> None:
    done.wait(10)


def test_a_server_that_answers_byte_by_byte_is_given_up() -> None:
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.recv(65_536)
        with suppress(OSError):
            while not done.wait(0.01):
                connection.sendall(b"H")

    with answering(drip) as port:
        with pytest.raises(RetryableError) as caught:
            post(f"http://127.0.0.1:{port}/", patience=Timeouts(whole=0.2))
        done.set()

    assert str(caught.value) == (
        f"'http://127.0.0.1:{port}/' cannot be reached: it took longer than 0.2 seconds."
    )


def test_a_server_that_is_not_there_is_retried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(RetryableError, match=r"cannot be reached: .*refused\.$"):
        post(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "url",
    ["", "shop.example", "ftp://shop.example", "file:///etc/passwd", "http://", "http://[::1", "http:///x",
     "https://user:secret@shop.example/", "http://shop.example:99999/", "http://a\nb/"],
)  # fmt: skip
def test_what_is_no_url_of_a_webhook_is_refused(url: str) -> None:
    with pytest.raises(PermanentError, match="is not the URL of a webhook"):
        post(url)


@pytest.mark.parametrize("headers", [{"a b": "x"}, {"a": "x\r\nhost: y"}, {"ü": "x"}, {"": "x"}])
def test_headers_that_cannot_be_sent_are_refused(
    receiver: Receiver, headers: dict[str, str]
) -> None:
    with pytest.raises(PermanentError, match="is refused"):
        post(receiver.url(), headers=headers)

    assert receiver.received == []


def test_a_redirect_is_followed_and_keeps_what_its_status_keeps(receiver: Receiver) -> None:
    receiver.paths = {"/a": (307, {"location": "/b"}), "/b": (303, {"location": "/c"})}

    assert post(receiver.url("/a"), {"x": 1}, headers={"x-key": "k"}) == 200

    assert [(each.method, each.path, each.body) for each in receiver.received] == [
        ("POST", "/a", b'{"x": 1}'),
        ("POST", "/b", b'{"x": 1}'),
        ("GET", "/c", b""),
    ]
    assert [each.headers["x-key"] for each in receiver.received] == ["k", "k", "k"]


def test_another_host_does_not_get_the_headers_of_the_document(receiver: Receiver) -> None:
    allowed = frozenset({"127.0.0.1", "localhost"})
    receiver.paths = {"/a": (307, {"location": receiver.url("/b", "localhost")})}

    post(receiver.url("/a"), {}, headers={"x-key": "k"}, allowed_hosts=allowed, secret=SECRET)

    first, second = receiver.received
    assert ("x-key" in first.headers, "x-key" in second.headers) == (True, False)
    assert second.headers["webhook-signature"] == first.headers["webhook-signature"]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://169.254.169.254/latest/meta-data", "Webhooks to 169.254.169.254 are refused: the "
         "address is not public. If this is intended, add '169.254.169.254' to the setting "
         "webhook_allowed_hosts."),
        ("//10.0.0.1/", "Webhooks to 10.0.0.1 are refused: the address is not public. If this is "
         "intended, add '10.0.0.1' to the setting webhook_allowed_hosts."),
        ("file:///etc/passwd", "'file:/etc/passwd' is not the URL of a webhook: write http:// or "
         "https:// and a host, without a password."),
    ],
)  # fmt: skip
def test_a_redirect_to_a_private_address_is_refused(
    receiver: Receiver, location: str, message: str
) -> None:
    receiver.paths = {"/a": (302, {"location": location})}

    with pytest.raises(PermanentError) as caught:
        post(receiver.url("/a"))

    assert str(caught.value) == message


def test_a_redirect_to_what_is_no_url_fails(receiver: Receiver) -> None:
    receiver.paths = {"/a": (302, {"location": "http://[::1"})}

    with pytest.raises(RetryableError) as caught:
        post(receiver.url("/a"))

    assert str(caught.value) == (
        f"'{receiver.url('/a')}' cannot be reached: Invalid URL in location header: Invalid port: "
        f"':1'."
    )


def test_a_circle_of_redirects_ends(receiver: Receiver) -> None:
    receiver.paths = {"/a": (302, {"location": "/a"})}

    with pytest.raises(PermanentError) as caught:
        post(receiver.url("/a"))

    assert str(caught.value) == f"'{receiver.url('/a')}' redirects more than 5 times."
    assert len(receiver.received) == 6


def test_a_proxy_of_the_environment_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    assert post(receiver.url()) == 200


def test_a_private_address_is_not_connected_to(receiver: Receiver) -> None:
    with pytest.raises(AddressRefused):
        post(receiver.url(), allowed_hosts=frozenset())

    assert receiver.received == []
