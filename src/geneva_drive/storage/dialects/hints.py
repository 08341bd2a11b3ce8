"""Hints between processes that something may be due: never needed, as polling finds it too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection

Write = Callable[[Callable[[Connection], Any]], Any]
Ring = Callable[[str | None], None]  # with the id of the one execution it is about, if it says so


@dataclass(frozen=True, slots=True)
class Notice:
    """A hint that a statement of ours carries with it."""

    channel: str
    sender: str


class Hints:
    """What a database has to offer: here nothing, as on MySQL."""

    def send(self) -> None:
        """Tell the workers of other processes that something may be due."""

    def along(self) -> Notice | None:
        """Give the notice to be sent along with what is about to be written, if one is due."""
        return None

    def went_along(self) -> None:
        """Hear that it was sent: for a moment, it stands for others."""

    def send_within(self, connection: Connection) -> None:
        """Let a hint go out with the commit of a caller's transaction, of which we are not told."""

    def watch(self, ring: Ring) -> Watch | None:  # noqa: ARG002 - nothing rings here
        """Make what rings when another process sends a hint; None where there is no such thing."""
        return None


class Watch(Protocol):
    """Waits for hints on a thread of its own, from `run` to `stop`; `close` comes last."""

    def run(self) -> None:
        """Ring until stopped; return earlier where hints will never be heard."""

    def stop(self) -> None: ...

    def close(self) -> None:
        """Let go of what it holds, once nobody runs it any more."""


def taken_out(connection: Connection) -> Any:
    """Give the driver's connection, out of its pool, and closed for good with `connection`.

    The pool may be as small as one, and who gets a connection next must not hear notices on it.
    """
    driver = connection.connection.driver_connection
    connection.detach()
    return driver
