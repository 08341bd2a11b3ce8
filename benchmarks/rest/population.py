"""Fills a database with a million workflows: real ones of each kind, multiplied by SQL.

They are spread over thirty days in the order of their ids, as if they had come one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from sqlalchemy import Connection, Engine, create_engine, inspect, text

import geneva_drive as gd
from benchmarks.drivers.geneva import with_driver
from benchmarks.rest.app import Invoice, Order, Payment, Refund, Reminder
from geneva_drive.testing import drain

WORKFLOWS = 1_000_000
PREFIX = "geneva_drive_"
SIDE_TABLES = ("approvals", "event_waits", "event_listeners", "dead_letters", "audit_entries")
_CHUNK = 100_000
_SPAN = "interval '30 days'"
_STRIDE = 16  # ids of executions that each workflow may have
# Of a row that is still to be run, these say when.
_AHEAD = ("scheduled_for", "wakes_at", "expires_at")

Make = Callable[[gd.Drive], gd.WorkflowHandle[Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of workflow: how many of a thousand, and a real one to multiply."""

    per_mille: int
    make: Make


def _order(workflow_class: type[Order], kind: str) -> Make:
    return lambda drive: workflow_class.using(drive).create(
        hero=gd.HeroRef("Order", f"template {workflow_class.__name__} {kind}"),
        context={"kind": kind, "amount": 120, "customer": "Ann", "lines": ["A1", "B2", "C3"]},
    )


def _canceled(drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    workflow = _order(Order, "canceled")(drive)
    workflow.cancel(reason="out of stock", actor="ann")
    return workflow


def _of(workflow_class: type[gd.Workflow[Any, Any]]) -> Make:
    hero = gd.HeroRef("Order", f"template {workflow_class.__name__}")
    return lambda drive: workflow_class.using(drive).create(hero=hero, context={"amount": 120})


KINDS = (
    Kind(560, _order(Order, "plain")),
    Kind(380, _order(Invoice, "plain")),
    Kind(20, _order(Order, "recovered")),
    Kind(12, _of(Reminder)),
    Kind(10, _of(Refund)),
    Kind(8, _of(Payment)),
    Kind(6, _canceled),
    Kind(4, _order(Order, "failed")),
)


def populate(url: str, count: int) -> None:
    """Migrate an empty database and fill it; each table gets its indexes after its rows."""
    templates = _make_templates(url)
    engine = create_engine(with_driver(url))
    tables = [f"{PREFIX}{name}" for name in ("workflows", "step_executions", *SIDE_TABLES)]
    with engine.connect() as connection, _without_indexes(connection, tables):
        _note_templates(connection, templates)
        for first in range(0, count, _CHUNK):
            span = {"first": first, "last": min(first + _CHUNK, count) - 1, "count": count}
            _multiply(connection, engine, span)
            connection.commit()
            click.echo(f"  {span['last'] + 1:,} workflows")
        _set_sequences(connection, tables)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in tables:
            connection.execute(text(f"VACUUM (ANALYZE) {table}"))
    engine.dispose()


def _make_templates(url: str) -> list[tuple[int, int, Any]]:
    """Return the first and last of a thousand for each kind, and the id of its template."""
    drive = gd.Drive(url)
    drive.migrate()
    handles = [kind.make(drive) for kind in KINDS]
    drain(drive)
    found, low = [], 0
    for kind, handle in zip(KINDS, handles, strict=True):
        found.append((low, low + kind.per_mille - 1, handle.id))
        low += kind.per_mille
    drive.close()
    return found


def _note_templates(connection: Connection, templates: list[tuple[int, int, Any]]) -> None:
    connection.execute(text("CREATE TEMPORARY TABLE kinds (low int, high int, template_id bigint)"))
    for low, high, template in templates:
        values = {"low": low, "high": high, "id": template}
        connection.execute(text("INSERT INTO kinds VALUES (:low, :high, :id)"), values)
    executions, waits = f"{PREFIX}step_executions", f"{PREFIX}event_waits"
    for name, rows in (("places", executions), ("wait_places", waits)):
        connection.execute(
            text(
                f"CREATE TEMPORARY TABLE {name} AS SELECT id, workflow_id, row_number() OVER "
                f"(PARTITION BY workflow_id ORDER BY id) AS place FROM {rows}"
            )
        )
    # Hash joins of the temporary tables need to know how small they are.
    for name in ("kinds", "places", "wait_places"):
        connection.execute(text(f"ANALYZE {name}"))
    connection.execute(text("CREATE TEMPORARY TABLE bases AS SELECT 1000::bigint AS id"))
    connection.commit()


_NUMBERS = (
    "FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n "
    # 617 and 1000 have no common divisor: the kinds are mixed, and each has its share.
    "JOIN kinds ON (n * 617) % 1000 BETWEEN kinds.low AND kinds.high "
)
_SHIFT = f"({_SPAN} * (CAST(:count AS bigint) - n) / CAST(:count AS bigint))"


def _multiply(connection: Connection, engine: Engine, span: dict[str, int]) -> None:
    workflows, executions = f"{PREFIX}workflows", f"{PREFIX}step_executions"
    connection.execute(
        text(
            _insert(engine, workflows, {"id": "1000 + n", "hero_id": "'A' || n"})
            + _NUMBERS
            + f"JOIN {workflows} t ON t.id = kinds.template_id"
        ),
        span,
    )
    own = {"id": f"1000 + n * {_STRIDE} + places.place", "workflow_id": "1000 + n"}
    connection.execute(
        text(
            _insert(engine, executions, own)
            + _NUMBERS
            + f"JOIN {executions} t ON t.workflow_id = kinds.template_id "
            "JOIN places ON places.id = t.id"
        ),
        span,
    )
    for name in SIDE_TABLES:
        _multiply_side(connection, engine, f"{PREFIX}{name}", span)


def _multiply_side(
    connection: Connection, engine: Engine, table: str, span: dict[str, int]
) -> None:
    columns = {column["name"] for column in inspect(engine).get_columns(table)}
    own, joins = {"workflow_id": "1000 + n"}, ""
    own["id"] = "1000 + n"
    if "execution_id" in columns:
        own["execution_id"] = f"1000 + n * {_STRIDE} + places.place"
        joins += "JOIN places ON places.id = t.execution_id "
    if "awaited_key" in columns:
        own["awaited_key"] = "'A' || n"
    if "wait_id" in columns:
        own["wait_id"] = "1000 + n"
    statement = (
        _insert(engine, table, own)
        + _NUMBERS
        + f"JOIN {table} t ON t.workflow_id = kinds.template_id "
        + joins
    )
    connection.execute(text(statement), span)


def _insert(engine: Engine, table: str, own: dict[str, str]) -> str:
    """Return the beginning of a statement that copies the template `t` with its own values."""
    columns = inspect(engine).get_columns(table)
    values = [own.get(one["name"]) or _value(one["name"], str(one["type"])) for one in columns]
    names = ", ".join(f'"{one["name"]}"' for one in columns)
    return f"INSERT INTO {table} ({names}) SELECT {', '.join(values)} "


def _value(name: str, kind: str) -> str:
    is_past = kind.startswith("TIMESTAMP") and name not in _AHEAD
    return f't."{name}" - {_SHIFT}' if is_past else f't."{name}"'


@contextmanager
def _without_indexes(connection: Connection, tables: list[str]) -> Iterator[None]:
    """Drop indexes and unique constraints for a while, and check no references."""
    connection.execute(text("SET session_replication_role = replica"))
    connection.execute(text("SET synchronous_commit = off"))
    connection.execute(text("SET maintenance_work_mem = '512MB'"))
    dropped: list[str] = []
    for table in tables:
        dropped += _drop_indexes(connection, table)
    connection.commit()
    yield
    for statement in dropped:
        began = time.monotonic()
        connection.execute(text(statement))
        connection.commit()
        click.echo(f"  {time.monotonic() - began:.1f} s: {statement[:100]}")


def _drop_indexes(connection: Connection, table: str) -> list[str]:
    constraints = connection.execute(
        text(
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE conrelid = CAST(:name AS regclass) AND contype = 'u'"
        ),
        {"name": table},
    ).all()
    named = [name for name, _ in constraints]
    indexes = connection.execute(
        text(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = :name AND "
            "indexname <> ALL(:named) AND indexname NOT LIKE '%_pkey'"
        ),
        {"name": table, "named": named},
    ).all()
    for name, _ in constraints:
        connection.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT {name}"))
    for name, _ in indexes:
        connection.execute(text(f"DROP INDEX {name}"))
    again = [f"ALTER TABLE {table} ADD CONSTRAINT {name} {rule}" for name, rule in constraints]
    return [*again, *(definition for _, definition in indexes)]


def _set_sequences(connection: Connection, tables: list[str]) -> None:
    for table in tables:
        connection.execute(
            text(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "
                f"(SELECT max(id) FROM {table}))"
            )
        )
    connection.commit()
