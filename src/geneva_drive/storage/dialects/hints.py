"""Hints between processes that something may be due. They only save time: polling finds it, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection

Write = Callable[[Callable[[Connection], Any]], Any]
Ring = Callable[
    [str | None], None
]  # its argument: the id of the execution that is due, if the hint names one


@dataclass(frozen=True, slots=True)
class Notice:
    """A hint that is sent by the statement that makes an execution due."""

    channel: str
    sender: str
    named: str | None = None  # the execution, if the statement does not know it itself

    @property
    def payload(self) -> str:
        return self.sender if self.named is None else f"{self.sender}:{self.named}"


class Hints:
    """Sends and receives no hints, as on MySQL; the other databases have subclasses."""

    def send(self) -> None:
        """Send a hint to the workers of other processes."""

    def along(self) -> Notice | None:
        """Return the notice to send within the next statement, if one is due."""
        return None

    def went_along(self) -> None:
        """Note that the notice was sent; for a moment, no further notice is needed."""

    def send_within(self, connection: Connection) -> None:
        """Send a hint with the commit of the caller's transaction."""

    def watch(self, ring: Ring) -> Watch | None:  # noqa: ARG002 - nothing rings here
        """Return a watch that calls `ring` for each hint of another process; None without hints."""
        return None


class Watch(Protocol):
    """Waits for hints on its own thread, from `run` to `stop`; `close` is called last."""

    def run(self) -> None:
        """Ring until stopped; return early if hints cannot be received."""

    def stop(self) -> None: ...

    def close(self) -> None:
        """Release the resources of the watch, after `run` has returned."""


def taken_out(connection: Connection) -> Any:
    """Detach the driver's connection from its pool; it is closed with `connection`.

    The pool may hold only one connection, and its next user must not receive notices on it.
    """
    driver = connection.connection.driver_connection
    connection.detach()
    return driver
