"""What nobody asked for costs a claim nothing: each database finds a lane's head by its index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

import geneva_drive as gd
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.storage.dialects.claim_request import ClaimRequest
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity
from tests.storage.plans import noted, plan
from tests.storage.rows import NOW, Rows

KEEPING = "geneva_drive.storage.connections.kept_connections"
TABLE = "geneva_drive_step_executions"
ANALYZE = {"sqlite": "ANALYZE", "postgresql": "ANALYZE", "mysql": f"ANALYZE TABLE {TABLE}"}
# Reading all there is, or sorting it, in the words of each database.
PASSES_OVER_MANY = re.compile(rf"Seq Scan|Bitmap|SCAN {TABLE}|TEMP B-TREE|BLOOM|filesort")
READS_ALL = re.compile(rf"Seq Scan|SCAN {TABLE}|'ALL'|'index'")
# Up to the largest group that a worker commits at once.
SIZES = pytest.mark.parametrize("count", [1, 10, 100, 500])
QUEUES = pytest.mark.parametrize("queues", [None, ["mail", "print"]], ids=["all", "some"])


@pytest.fixture
def crowd(geneva: gd.Drive, rows: Rows, database: str) -> list[Any]:
    """Thousands of due executions of a class nobody serves, before a few that are served."""
    rows.crowd(doublings=12, type="Unserved", priority=9)
    served = [rows.due(type=name, queue="mail") for name in "ABAB"]
    with geneva.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(ANALYZE[database]))
    return served


def wish(queues: list[str] | None = None) -> ClaimRequest:
    rooms = None if queues is None else dict.fromkeys(queues, 3)
    return ClaimRequest(
        worker_id="w", claim_token="t", types=["A", "B"], queues=rooms, limit=3, now=NOW
    )


def claim(drive: gd.Drive, wanted: ClaimRequest) -> list[Any]:
    store = drive.store
    taken = store.write_at_once(
        lambda connection: store.database.dialect.claim(connection, store.tables, wanted)
    )
    return [execution.id for execution, _ in taken]


@QUEUES
def test_a_crowd_that_nobody_serves_changes_nothing_about_a_claim(
    geneva: gd.Drive, crowd: list[Any], queues: list[str] | None
) -> None:
    claims = [claim(geneva, wish(queues)) for _ in range(3)]

    assert claims == [crowd[:3], crowd[3:], []]


@QUEUES
def test_the_head_of_each_lane_is_read_from_its_index(
    geneva: gd.Drive, crowd: list[Any], queues: list[str] | None
) -> None:
    with noted(geneva.engine) as statements:
        claim(geneva, wish(queues))
    looks = [each for each in statements if each[0].split()[0] in ("SELECT", "WITH")]

    heads, *others = (plan(geneva, *look) for look in looks)

    index = f"{TABLE}_claim" if queues is None else f"{TABLE}_claim_queue"
    assert re.search(rf"\b{index}\b", heads)
    assert not [each for each in (heads, *others) if PASSES_OVER_MANY.search(each)]


def test_the_question_for_more_urgent_work_is_answered_from_the_index(
    geneva: gd.Drive, crowd: list[Any]
) -> None:
    with noted(geneva.engine) as statements, geneva.store.reading() as connection:
        geneva.store.executions.top_priority(connection, ["A", "B"], None)
    [look] = [each for each in statements if "priority" in each[0]]

    found = plan(geneva, *look)

    assert f"{TABLE}_claim" in found
    assert not PASSES_OVER_MANY.search(found)


@QUEUES
def test_what_came_last_into_a_lane_is_read_from_its_index(
    geneva: gd.Drive, crowd: list[Any], queues: list[str] | None
) -> None:
    queue = None if queues is None else queues[0]
    with noted(geneva.engine) as statements, geneva.store.reading() as connection:
        geneva.store.executions.newest_due(connection, "Unserved", queue, 9, 5)

    found = plan(geneva, *statements[-1])

    assert f"{TABLE}_claim" in found
    assert not PASSES_OVER_MANY.search(found)


# Only PostgreSQL plans a prepared statement again if it expects to gain by it.
@pytest.mark.databases("postgresql")
@QUEUES
def test_a_claim_is_planned_once_and_not_each_time(
    geneva: gd.Drive, crowd: list[Any], queues: list[str] | None
) -> None:
    for _ in range(20):
        claim(geneva, wish(queues))

    [kept] = geneva.store.write_at_once(
        lambda connection: connection.execute(
            text(
                "SELECT custom_plans, generic_plans FROM pg_prepared_statements "
                "WHERE statement LIKE '%lanes AS%'"
            )
        ).all()
    )

    # It is prepared at its sixth use, and the server looks at five plans before it decides.
    assert tuple(kept) == (5, 10)


def claimed(drive: gd.Drive, count: int = 1) -> list[Claimed]:
    """Claim so many of the served ones."""
    return claim_due(drive.environment, Identity(), limit=count)


def complete(drive: gd.Drive, taken: Sequence[Claimed]) -> None:
    """Commit their completions."""
    endings = [one.ending(Returned(None), may_chain=True) for one in taken]
    ended = commit_endings(drive.environment, endings, Identity().chaining("token", ()))
    assert len([one for one in ended if one is not None]) == len(taken) > 0


@pytest.fixture
def task(geneva: gd.Drive) -> type[gd.Workflow[Any]]:
    class Task(gd.Workflow[Any]):
        @gd.step
        def begin(self) -> None: ...

        @gd.step
        def end(self) -> None: ...

    Task.create()
    return Task


# Its plans are made without knowing the values: see below.
@pytest.mark.databases("sqlite", "mysql")
@SIZES
@pytest.mark.usefixtures("crowd")
def test_a_completion_finds_its_rows_by_their_keys(
    geneva: gd.Drive, task: type[gd.Workflow[Any]], count: int
) -> None:
    for _ in range(count - 1):
        task.create()
    with noted(geneva.engine) as statements:
        complete(geneva, claimed(geneva, count))
    looks = [each for each in statements if each[0].split()[0] in ("SELECT", "UPDATE")]
    assert len(looks) > 3

    plans = [plan(geneva, *look) for look in looks]

    assert not [each for each in plans if PASSES_OVER_MANY.search(each)]


@pytest.mark.usefixtures("crowd")
def test_what_was_claimed_under_a_token_is_found_by_who_holds_it(geneva: gd.Drive) -> None:
    store = geneva.store
    with noted(geneva.engine) as statements, store.reading() as connection:
        store.executions.with_token(connection, "w", "t")

    assert not PASSES_OVER_MANY.search(plan(geneva, *statements[-1]))
    assert "step_executions_held" in plan(geneva, *statements[-1])


@pytest.mark.databases("mysql")  # only MySQL and MariaDB lock the rows that an index passes over
def test_executions_are_moved_by_their_ids_and_not_by_their_tokens(
    geneva: gd.Drive, rows: Rows, database: str
) -> None:
    """By a token, a recovery would wait for all that a frozen worker had claimed under it."""
    store, held = geneva.store, {"state": "in_progress", "claimable": False, "worker_id": "w"}
    rows.crowd(doublings=8)
    ids = [rows.due(**held, claim_token=token) for token in ["t", "u"] * 20]
    with geneva.engine.connect() as connection:
        connection.execute(text(ANALYZE[database]))
    with store.reading() as connection:
        moving = store.executions.get_many(connection, ids[4:])
    with noted(geneva.engine) as statements:
        moved = store.write(lambda c: store.executions.move(c, moving, {"priority": 1}))
    assert moved == 36

    found = plan(geneva, *next(each for each in statements if each[0].startswith("UPDATE")))

    assert re.search(r"'range', '[^']*', 'PRIMARY', '8'", found)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.usefixtures("crowd")
def test_attempts_at_nodes_of_several_workflows_are_found_by_their_keys(
    geneva: gd.Drive, count: int
) -> None:
    store, c = geneva.store, geneva.store.tables.step_executions.c
    with store.reading() as connection:
        some = select(c.workflow_id, c.node_id).order_by(c.id.desc()).limit(count)
        nodes = [(row[0], row[1]) for row in connection.execute(some)]

    with noted(geneva.engine) as statements, store.reading() as connection:
        found = store.attempts.last_numbers(connection, nodes)

    assert found == dict.fromkeys(nodes, 1)
    looks = [each for each in statements if each[0].startswith("SELECT")]
    assert not READS_ALL.search(plan(geneva, *looks[-1]))


# Only PostgreSQL keeps a plan that it made without knowing the values.
@pytest.mark.databases("postgresql")
@SIZES
@pytest.mark.usefixtures("crowd")
def test_a_plan_that_is_kept_reads_no_table_from_end_to_end(
    geneva: gd.Drive, task: type[gd.Workflow[Any]], count: int
) -> None:
    for _ in range(count - 1):
        task.create()
    store = geneva.store
    with store.transaction() as connection, store.database.joining(connection):
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.connection.driver_connection.prepare_threshold = 0  # type: ignore[union-attr]
        taken = claimed(geneva, count)
        before = scans(connection)
        complete(geneva, taken)

        assert scans(connection) == before


@pytest.fixture
def emptied(geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that the server knows to be empty; one connection is kept, and renewed at each use."""
    monkeypatch.setattr(f"{KEEPING}._FIRST_RENEWAL", 0.0)
    monkeypatch.setattr(f"{KEEPING}._FRESH_SECONDS", 600.0)
    with geneva.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


# Only PostgreSQL keeps a plan that it made when the tables were smaller.
@pytest.mark.databases("postgresql")
@pytest.mark.usefixtures("emptied")
def test_a_claims_plan_for_empty_tables_is_not_kept_as_they_grow(
    geneva: gd.Drive, rows: Rows
) -> None:
    for _ in range(20):
        claim(geneva, wish())
    small = kept_plan(geneva, "lanes AS")

    rows.crowd(doublings=14)

    assert "Seq Scan" in small
    assert "Seq Scan" not in kept_plan(geneva, "lanes AS")


# Only PostgreSQL keeps a plan that it made when the tables were smaller.
@pytest.mark.databases("postgresql")
@pytest.mark.usefixtures("emptied")
def test_a_completions_plan_for_small_tables_is_not_kept_as_they_grow(
    geneva: gd.Drive, rows: Rows, task: type[gd.Workflow[Any]]
) -> None:
    for _ in range(20):
        task.create()
        complete(geneva, claimed(geneva))
    small = kept_plan(geneva, "given AS")

    rows.crowd(doublings=14)

    assert "Seq Scan" in small
    assert "Seq Scan" not in kept_plan(geneva, "given AS")


def kept_plan(drive: gd.Drive, part: str) -> str:
    """Show the plan that the server would use for a prepared statement, whatever its values."""

    def look(connection: Connection) -> str:
        name, count = connection.exec_driver_sql(
            "SELECT name, cardinality(parameter_types) FROM pg_prepared_statements "
            f"WHERE statement LIKE '%%{part}%%' AND generic_plans > 0"
        ).one()
        nothing = ", ".join(["NULL"] * count)
        found = connection.exec_driver_sql(f"EXPLAIN EXECUTE {name}({nothing})")
        return "\n".join(found.scalars())

    return drive.store.write_at_once(look)


def scans(connection: Connection) -> int:
    """Count how often this transaction went through all of the table."""
    found = connection.exec_driver_sql(
        f"SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = '{TABLE}'"
    )
    return int(found.scalar_one())


@pytest.mark.databases("postgresql")  # the others count by themselves
def test_a_table_that_grew_by_thousands_is_counted_without_waiting_for_anybody(
    geneva: gd.Drive,
) -> None:
    built = gd.DynamicWorkflow()
    built.fan_out(range(5_000), name="node_{}", job=idle)
    with geneva.engine.begin() as other:
        other.execute(text(f"LOCK TABLE {TABLE} IN SHARE UPDATE EXCLUSIVE MODE"))
        with noted(geneva.engine) as statements:
            built.start()

    assert [each for each, _ in statements if each.startswith("ANALYZE")] == [
        f"ANALYZE (SKIP_LOCKED) {TABLE}"
    ]


@gd.job(name="claim_plans.idle")
def idle() -> None: ...
