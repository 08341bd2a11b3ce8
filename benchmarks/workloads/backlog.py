"""W4, W9a and W9b: a load beside a backlog, which is cloned by SQL from one real workflow."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from statistics import median

from sqlalchemy import Connection, Engine, TextClause, create_engine, inspect, text

import geneva_drive as gd
from benchmarks.drivers.geneva import with_driver
from benchmarks.drivers.geneva_app import Approved, Paid, Sleeping
from benchmarks.measures import Figures
from benchmarks.session import WARM_UP_WORKFLOWS, Session, prepared, working
from benchmarks.systems import System
from benchmarks.workloads import throughput
from geneva_drive.testing import drain

WORKFLOWS = "geneva_drive_workflows"
EXECUTIONS = "geneva_drive_step_executions"
APPROVALS = "geneva_drive_approvals"
WAITS = "geneva_drive_event_waits"
LISTENERS = "geneva_drive_event_listeners"
CHUNK = 50_000
LATER = timedelta(days=30)
_KEYS = ("id", "workflow_id", "execution_id", "wait_id")
_SETTLING = {"postgresql": "VACUUM ANALYZE", "sqlite": "ANALYZE"}


class ServedByNobody(gd.Workflow):
    """A class that no worker of the benchmark imports."""

    @gd.step
    def wait_for_ever(self) -> None: ...


def stand_sleepers(url: str, count: int) -> None:
    """Let as many workflows stand in the tables that are scheduled for much later."""
    drive = gd.Drive(url)
    template = Sleeping.using(drive).create(wait=LATER)
    clone(url, template.id, count)
    drive.close()


def stand_unserved(url: str, count: int) -> None:
    """Let as many executions be due that no worker can take, older than any other."""
    drive = gd.Drive(url)
    template = ServedByNobody.using(drive).create()
    clone(url, template.id, count)
    drive.close()


def stand_waiting(url: str, count: int) -> None:
    """Insert as many workflows that wait for a decision, each with its pending request."""
    drive = gd.Drive(url)
    template = Approved.using(drive).create()
    drain(drive)
    clone(url, template.id, count)
    _clone_rows(url, template.id, APPROVALS)
    drive.close()


def stand_awaiting(url: str, count: int) -> None:
    """Insert as many workflows that wait for an event, each with a key of its own."""
    drive = gd.Drive(url)
    template = Paid.using(drive).create(context={"key": "0"})
    drain(drive)
    clone(url, template.id, count)
    _clone_rows(url, template.id, WAITS)
    engine = create_engine(with_driver(url))
    copied = ", ".join(column for column in _columns(engine, LISTENERS) if "key" not in column)
    given = ", ".join(f"l.{column}" for column in copied.split(", "))
    kind = "char" if engine.dialect.name in ("mysql", "mariadb") else "varchar"
    with engine.begin() as connection:
        own = connection.execute(
            text(f"SELECT id FROM {WAITS} WHERE workflow_id = :id"), {"id": template.id}
        ).scalar_one()
        changed = text(
            f"UPDATE {WAITS} SET awaited_key = CAST(workflow_id AS {kind}(20)) WHERE id <> :id"
        )
        connection.execute(changed, {"id": own})
        cloning = text(
            f"INSERT INTO {LISTENERS} (wait_id, workflow_id, awaited_key, {copied}) "
            f"SELECT w.id, w.workflow_id, w.awaited_key, {given} FROM {WAITS} w, {LISTENERS} l "
            "WHERE l.wait_id = :id AND w.id <> :id"
        )
        connection.execute(cloning, {"id": own})
    for table in (WAITS, LISTENERS):
        _analyze(engine, table)
    engine.dispose()
    drive.close()


def measure(
    system: System, sizes: Mapping[str, int], load: tuple[int, int], workload: str = "W4"
) -> Figures:
    """Give steps per second beside backlogs of kinds and sizes; `load`: workflows, how often.

    The loads take turns, in any order: a machine that is slow for some seconds is so for all of
    them, and so is a database that still writes down what the load before has left.
    """
    workflows, loads = load
    rates: dict[str, list[float]] = {kind: [] for kind in sizes}
    with ExitStack() as stack:
        sessions = {
            kind: stack.enter_context(_beside(system, kind, size)) for kind, size in sizes.items()
        }
        turns = list(sessions.items())
        for _ in range(loads):
            random.shuffle(turns)
            for kind, session in turns:
                # Those whose turn it was not have rested: where nobody tells them, for long.
                throughput.measure(session, WARM_UP_WORKFLOWS, 1)
                rates[kind].append(throughput.measure(session, workflows, 1)["steps"])
    for kind, found in rates.items():
        yield f"{workload}.{kind}", median(found)


_STANDING = {
    "sleepers": stand_sleepers,
    "unserved": stand_unserved,
    "waiting": stand_waiting,
    "awaiting": stand_awaiting,
}


@contextmanager
def _beside(system: System, kind: str, size: int) -> Iterator[Session]:
    with prepared(system) as (url, environment):
        if size:
            _STANDING[kind](url, size)
        with working(system, url, environment, processes=1) as session:
            yield session


def clone(url: str, template_id: object, count: int) -> None:
    """Copy a workflow that has one execution so many times, by SQL."""
    engine = create_engine(with_driver(url))
    columns = {table: _columns(engine, table) for table in (WORKFLOWS, EXECUTIONS)}
    with engine.connect() as connection:
        _allow_long_series(connection)
        for first in range(1, count + 1, CHUNK):
            span = range(first, min(first + CHUNK, count + 1))
            for table, key in ((WORKFLOWS, "id"), (EXECUTIONS, "workflow_id")):
                connection.execute(_cloning(table, columns[table], key, span), {"id": template_id})
            connection.commit()
    _settle(engine)
    engine.dispose()


def _clone_rows(url: str, template_id: int, table: str) -> None:
    """Copy the row of a workflow for each clone of it; each has one execution."""
    engine = create_engine(with_driver(url))
    columns = _columns(engine, table)
    copied, given = (", ".join(f"{of}{name}" for name in columns) for of in ("", "a."))
    cloning = text(
        f"INSERT INTO {table} (workflow_id, execution_id, {copied}) "
        f"SELECT e.workflow_id, e.id, {given} FROM {EXECUTIONS} e, {table} a "
        "WHERE a.workflow_id = :id AND e.workflow_id > :after AND e.workflow_id <= :upto"
    )
    with engine.connect() as connection:
        last = connection.scalar(text(f"SELECT max(id) FROM {WORKFLOWS}"))
        for first in range(template_id, last, CHUNK):
            span = {"after": first, "upto": first + CHUNK}
            connection.execute(cloning, {"id": template_id, **span})
            connection.commit()
    _analyze(engine, table)
    engine.dispose()


def _columns(engine: Engine, table: str) -> list[str]:
    """The columns to copy, quoted: not the keys, and not what the database computes."""
    quote = engine.dialect.identifier_preparer.quote
    return [
        quote(column["name"])
        for column in inspect(engine).get_columns(table)
        if column["name"] not in _KEYS and "computed" not in column
    ]


def _cloning(table: str, columns: list[str], key: str, span: range) -> TextClause:
    """Copy one workflow's row, or its execution's, once for each number of a span."""
    copied = ", ".join(columns)
    return text(
        f"INSERT INTO {table} ({key}, {copied}) "
        "WITH RECURSIVE series (n) AS "
        f"(SELECT {span[0]} UNION ALL SELECT n + 1 FROM series WHERE n < {span[-1]}) "
        f"SELECT {key} + n, {copied} FROM {table}, series WHERE {key} = :id"
    )


def _allow_long_series(connection: Connection) -> None:
    if connection.dialect.name in ("mysql", "mariadb"):
        setting = (
            "max_recursive_iterations"
            if getattr(connection.dialect, "is_mariadb", False)
            else "cte_max_recursion_depth"
        )
        connection.execute(text(f"SET SESSION {setting} = {CHUNK * 2}"))


def _settle(engine: Engine) -> None:
    """Tell the database what it now holds, and let it clear up before anything is measured.

    A million rows that were there for long would not have it vacuum them now.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(
                text(
                    f"SELECT setval(pg_get_serial_sequence('{WORKFLOWS}', 'id'), max(id)) "
                    f"FROM {WORKFLOWS}"
                )
            )
    for table in (WORKFLOWS, EXECUTIONS):
        _analyze(engine, table)


def _analyze(engine: Engine, table: str) -> None:
    verb = _SETTLING.get(engine.dialect.name, "ANALYZE TABLE")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"{verb} {table}"))
