"""Statements on executions that wait for a slot of a limit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import StepState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


@dataclass(frozen=True, slots=True)
class Among:
    """Which parked executions may be released: all but `passed_over`, or `only` one."""

    passed_over: Collection[Key] = ()
    only: Key | None = None


ALL = Among()


class LetGo(NamedTuple):
    """How many executions were returned to the queue: served by this process, and by others."""

    served: int = 0
    others: int = 0


class ParkedExecutions:
    """The parked rows of `step_executions`: scheduled, not claimable, and with a limit's key.

    Callers hold the lock of that key, like all code that takes or frees its slots. A released
    execution keeps the key until it has its slot: if it gets none, its worker wakes the next one.
    """

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._table = tables.step_executions
        self._dialect = dialect

    def park_alike(
        self, connection: Connection, limit_key: str, alike: Mapping[str, str], reach: int
    ) -> int:
        """Park the next claimable executions, which would find the same limit full."""
        c = self._table.c
        head = (
            select(c.id, c.step_name, c.queue)
            .where(c.claimable, c.type == alike["type"])
            .order_by(c.priority.desc(), c.id)
            .limit(reach)
            .subquery()
        )
        same = [head.c[name] == value for name, value in alike.items() if name != "type"]
        ids = connection.scalars(select(head.c.id).where(*same)).all()
        if not ids:
            return 0
        still = select(c.id).where(c.id.in_(ids), c.claimable)
        return self._change(connection, still, {"claimable": False, "limit_key": limit_key})

    def let_go(
        self,
        connection: Connection,
        limit_key: str,
        most: int,
        served: ColumnElement[bool],
        among: Among = ALL,
    ) -> LetGo:
        """Make the most urgent and oldest waiting executions claimable again.

        Executions that were released before and have no slot yet count towards `most`. `served`
        executions come first: an execution that no worker can run must not block them.
        """
        most -= self._count_let_go(connection, limit_key, most, served)
        if most < 1:
            return LetGo()
        waiting = self._waiting(limit_key, among.passed_over)
        if among.only is not None:
            waiting = waiting.where(self._table.c.id == among.only)
        count = self._first(connection, waiting.where(served), most)
        if count == most:
            return LetGo(served=count)
        return LetGo(served=count, others=self._first(connection, waiting, most - count))

    def _count_let_go(
        self, connection: Connection, limit_key: str, most: int, served: ColumnElement[bool]
    ) -> int:
        """Count released executions at the head of the queue: only these precede waiting ones."""
        c = self._table.c
        has_gone = or_(c.claimable, c.state == StepState.IN_PROGRESS)
        first = self._in_turn(select(has_gone).where(c.limit_key == limit_key, served))
        return sum(map(bool, connection.scalars(first.limit(2 * most))))

    def _first(self, connection: Connection, waiting: Select[Any], most: int) -> int:
        first = self._in_turn(waiting).limit(most)
        return self._change(connection, first, {"claimable": True})

    def _in_turn(self, query: Select[Any]) -> Select[Any]:
        # Used even if the order does not matter, because it is the order of the index.
        return query.order_by(self._table.c.priority.desc(), self._table.c.id)

    def is_served(self, types: Sequence[str], queues: Sequence[str] | None) -> ColumnElement[bool]:
        c = self._table.c
        of_types = c.type.in_(types)
        return of_types if queues is None else of_types & c.queue.in_(queues)

    def any_waits(
        self, connection: Connection, limit_key: str, passed_over: Collection[Key] = ()
    ) -> bool:
        waiting = self._in_turn(self._waiting(limit_key, passed_over))
        return connection.scalar(waiting.limit(1)) is not None

    def waiting(
        self, connection: Connection, limit_key: str, most: int, passed_over: Collection[Key]
    ) -> Sequence[Key]:
        """Return the most urgent and oldest waiting executions."""
        waiting = self._in_turn(self._waiting(limit_key, passed_over))
        return connection.scalars(waiting.limit(most)).all()

    def count(self, connection: Connection, limit_key: str) -> int:
        waiting = self._waiting(limit_key).subquery()
        return connection.scalar(select(func.count()).select_from(waiting)) or 0

    def admit(self, connection: Connection, execution_id: Key, claim_token: str) -> None:
        """Clear the limit key of an execution that has its slots."""
        c = self._table.c
        connection.execute(
            update(self._table)
            .where(c.id == execution_id, c.claim_token == claim_token)
            .values(limit_key=None)
        )

    def _waiting(self, limit_key: str, passed_over: Collection[Key] = ()) -> Select[Any]:
        c = self._table.c
        waiting = select(c.id).where(
            c.limit_key == limit_key, c.state == StepState.SCHEDULED, ~c.claimable
        )
        if passed_over:
            waiting = waiting.where(c.id.not_in(passed_over))
        return self._dialect.by_index(waiting, self._table, f"{self._table.name}_parked")

    def _change(
        self, connection: Connection, wanted: Select[Any], values: Mapping[str, Any]
    ) -> int:
        # Skip rows that a command or a claim has locked.
        ids = connection.scalars(self._dialect.lock(wanted, skip_locked=True)).all()
        if ids:
            connection.execute(
                update(self._table).where(self._table.c.id.in_(ids)).values(**values)
            )
        return len(ids)
