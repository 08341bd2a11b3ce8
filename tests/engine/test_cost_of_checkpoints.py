"""A checkpoint is one statement, whatever else a loop does."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.storage.connections.kept_connections import KeptDriver
from geneva_drive.testing import perform_next_step
from tests.looping import importing


class Noted:
    """A driver's cursor that notes what it is told to execute."""

    def __init__(self, cursor: Any, statements: list[str]) -> None:
        self._cursor = cursor
        self._statements = statements

    def execute(self, statement: str, *values: Any) -> Any:
        self._statements.append(statement)
        return self._cursor.execute(statement, *values)

    def executemany(self, statement: str, rows: Any) -> Any:
        self._statements.append(statement)
        return self._cursor.executemany(statement, rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@pytest.fixture
def statements(geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement that this thread sends, by SQLAlchemy or past it.

    But for those that come with time: of heartbeats, and of connections that renew their plans.
    """
    monkeypatch.setattr(
        "geneva_drive.storage.connections.kept_connections._FIRST_RENEWAL", math.inf
    )
    sent: list[str] = []
    enter: Callable[[KeptDriver], Any] = KeptDriver.__enter__
    this_thread = threading.get_ident()

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if threading.get_ident() == this_thread:
            sent.append(statement)

    monkeypatch.setattr(KeptDriver, "__enter__", lambda driver: Noted(enter(driver), sent))
    event.listen(geneva.engine, "before_cursor_execute", note)
    yield sent
    event.remove(geneva.engine, "before_cursor_execute", note)


def loop(items: int) -> None:
    perform_next_step(importing(lambda self, it: list(it.iterate_over(range(items)))))


def test_an_item_costs_one_statement(geneva: gd.Drive, statements: list[str]) -> None:
    loop(10)
    of_ten = len(statements)
    loop(40)

    assert len(statements) - 2 * of_ten == 30
