"""Send one HTTP request to a checked address, and read the beginning of the answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from geneva_drive.declarative import extras
from geneva_drive.declarative.actions.addresses import checked_address
from geneva_drive.display import shown
from geneva_drive.errors import PermanentError, RetryableError

_SHOWN_OF_ANSWER = 200  # bytes
_CLIENT_ERROR = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How many seconds to wait: to connect, for each piece of the answer, and for all of it."""

    connect: float = 5.0
    piece: float = 30.0
    whole: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request as it is sent."""

    url: str
    method: str
    content: bytes | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The answer; `text` is the beginning of its body if the status is an error."""

    status: int
    headers: Mapping[str, str]
    text: str


def exchange(message: Message, allowed_hosts: Collection[str], patience: Timeouts) -> HttpResponse:
    """Send a request to the checked address of its host, and return the answer.

    Raise an `AddressRefused`, a `PermanentError` for a request that cannot be sent, or a
    `RetryableError` for a failure of the network.
    """
    httpx = extras.load("httpx")
    url = parsed_url(message.url)
    host = url.raw_host.decode("ascii").strip("[]")
    address = checked_address(host, url.port or _PORTS[url.scheme], allowed_hosts)
    headers = {**message.headers, "host": url.netloc.decode("ascii"), "accept-encoding": "identity"}
    timeout = httpx.Timeout(patience.piece, connect=patience.connect)
    try:
        # trust_env is off because a proxy would resolve the name again.
        with (
            httpx.Client(timeout=timeout, trust_env=False, verify=tls_settings()) as client,
            _deadline(patience.whole) as deadline,
            client.stream(
                message.method,
                url.copy_with(host=address),
                content=message.content,
                headers=headers,
                extensions={"sni_hostname": host, "trace": deadline.watch},
            ) as answer,
        ):
            return HttpResponse(answer.status_code, answer.headers, _begin(answer))
    except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, ValueError) as error:
        raise PermanentError(f"The webhook {shown(message.url)} is refused: {error}.") from error
    except httpx.TransportError as error:
        why = _late(patience) if deadline.is_over else str(error) or type(error).__name__
        raise RetryableError(
            f"{shown(message.url)} cannot be reached: {why.rstrip('.')}."
        ) from error


def parsed_url(text: str) -> Any:
    """Return the URL of a webhook, or raise a `PermanentError`."""
    httpx = extras.load("httpx")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise PermanentError(f"{shown(text)} is not the URL of a webhook.") from None
    is_port = url.port is None or 0 < url.port <= _LAST_PORT
    if url.scheme not in _PORTS or not url.host or url.userinfo or not is_port:
        raise PermanentError(
            f"{shown(text)} is not the URL of a webhook: write http:// or https:// and a host, "
            f"without a password."
        )
    return url


_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65_535


@lru_cache(1)
def tls_settings() -> Any:
    """Return the TLS settings, cached: loading them takes longer than a request."""
    return extras.load("httpx").create_ssl_context(trust_env=False)


def _late(patience: Timeouts) -> str:
    return f"it took longer than {patience.whole:g} seconds"


class _Deadline:
    """A timer that shuts the connection down when its time is over.

    httpx limits the time for each piece of an answer, and a server may send one byte at a time.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpx with each event of the exchange."""
        if event == "connection.connect_tcp.complete":
            opened = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._connection = opened.dup()  # TLS takes over the socket itself
                if self.is_over:
                    self._shut()

    def end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _shut(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # the server closed it first
                self._connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def _deadline(seconds: float) -> Iterator[_Deadline]:
    deadline = _Deadline()
    timer = threading.Timer(seconds, deadline.end)
    timer.daemon = True
    timer.start()
    try:
        yield deadline
    finally:
        timer.cancel()
        deadline.close()


def _begin(answer: Any) -> str:
    """Return the beginning of an error's body; the rest is not read, however long it is."""
    if answer.status_code < _CLIENT_ERROR:
        return ""
    for piece in answer.iter_raw(_SHOWN_OF_ANSWER):
        return str(piece.decode(errors="replace"))
    return ""
