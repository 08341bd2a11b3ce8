"""Prepared statements of one psycopg connection, executed without its cursors.

A cursor decides at each execution how to send each value, and whether and under which name the
statement is prepared. That takes 0.25 ms in a process that was idle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.pq.abc import PGresult

_MOST = 100  # per connection; later statements are executed by a cursor
_PLACEHOLDER = re.compile(r"%\((\w+)\)b")

_Kind = tuple[str, tuple[int, ...] | None]  # a statement, and the types of its values


class PreparedStatements:
    """The statements of one connection; used by one thread at a time."""

    def __init__(self, driver: Connection[Any]) -> None:
        # Imported on use: with another database, psycopg may not be installed.
        from psycopg import generators
        from psycopg.adapt import PyFormat, Transformer
        from psycopg.errors import InvalidSqlStatementName, error_from_result
        from psycopg.pq import ExecStatus

        self._driver = driver
        self._transformer = Transformer(driver)
        self._encoding = driver.info.encoding
        self._uses: dict[_Kind, int] = {}
        self._names: dict[_Kind, bytes] = {}
        self._named = 0
        self._exchange = generators.execute
        self._error_of = error_from_result
        self._forgotten = InvalidSqlStatementName
        self._binary = PyFormat.BINARY
        self._answers = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)

    def execute(self, statement: str, values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        text, places = _numbered(statement)
        transformer = self._transformer
        given = transformer.dump_sequence(
            [values[name] for name in places], [self._binary] * len(places)
        )
        kind = statement, transformer.types
        name = self._names.get(kind)
        if name is not None:
            try:
                return self._rows(name, given)
            except self._forgotten:
                # After a ROLLBACK the driver itself deallocates all prepared statements.
                self._names.clear()
        elif not self._is_worth_preparing(kind):
            return self._driver.execute(statement.encode(self._encoding), values).fetchall()
        name = self._prepare(text)
        self._names[kind] = name
        return self._rows(name, given)

    def _prepare(self, text: str) -> bytes:
        # Names are not reused: after an interruption it is unknown whether the server has the name.
        self._named += 1
        name = f"geneva_{self._named}".encode()
        types = self._transformer.types
        self._driver.pgconn.send_prepare(name, text.encode(self._encoding), types)
        self._answer()
        return name

    def _rows(self, name: bytes, given: Sequence[Any]) -> Sequence[Sequence[Any]]:
        transformer = self._transformer
        self._driver.pgconn.send_query_prepared(name, given, transformer.formats)
        result = self._answer()
        transformer.set_pgresult(result)
        return transformer.load_rows(0, result.ntuples, tuple)

    def _is_worth_preparing(self, kind: _Kind) -> bool:
        threshold = self._driver.prepare_threshold
        if threshold is None or len(self._names) >= _MOST:
            return False
        uses = self._uses.get(kind, 0)
        if uses >= threshold:
            return True
        if uses or len(self._uses) < _MOST:
            self._uses[kind] = uses + 1
        return False

    def _answer(self) -> PGresult:
        result: PGresult = self._driver.wait(self._exchange(self._driver.pgconn))[-1]
        if result.status not in self._answers:
            raise self._error_of(result, encoding=self._encoding)
        return result


@lru_cache(maxsize=256)
def _numbered(statement: str) -> tuple[str, Sequence[str]]:
    """Return the statement with the server's numbered placeholders, and their names in order."""
    names = list(dict.fromkeys(_PLACEHOLDER.findall(statement)))
    text = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    return text, names
