"""State is written through one door; beside it, the claim moves rows and a start makes them."""

from __future__ import annotations

import ast
import re

from tests.architecture.reading import calls, modules

STATEMENTS = {"update", "insert"}
WRITERS = {
    "move",
    "moving",
    "write_together",
    "insert",
    "claim",
    "claim_one",
    "take",
    "start",
    "complete",
    "publish",
}
HOLDERS = {"executions", "workflows", "dialect", "_dialect"}
DIALECTS = {"mysql", "postgresql", "sqlite"}
RAW = re.compile(r"\bINSERT INTO\b|\bUPDATE\s+\S+(\s+\w+)?\s+SET\b")


def test_only_storage_writes_rows() -> None:
    writing = {place.partition(":")[0] for place, function in calls() if _is_statement(function)}

    assert writing == {
        # Requests for approval: the states of requests, never of workflows or executions.
        "storage/statements/waits/approvals.py",
        "storage/statements/waits/approval_people.py",
        # Callback addresses: written once.
        "storage/statements/waits/callbacks.py",
        # Of executions only where they stand: cursors and counts, never a state.
        "storage/statements/loops/checkpoints.py",
        "storage/statements/dead_letters.py",
        # Documents: every version that was deployed.
        "storage/statements/documents/definitions.py",
        "storage/dialects/base.py",
        # One row into a table that a caller names.
        "storage/dialects/kept_writes.py",
        "storage/dialects/mysql/claim.py",
        "storage/dialects/mysql/dialect.py",
        "storage/dialects/mysql/insert.py",
        # Events and waits for them: never a state of workflows or executions.
        "storage/statements/waits/events.py",
        "storage/statements/waits/event_waits.py",
        "storage/statements/executions.py",
        # Counts of the workers of a batch or map.
        "storage/statements/expansions.py",
        # Counts of what nodes wait for, and graphs themselves: never a state.
        "storage/statements/graphs.py",
        "storage/health/commit_time.py",
        # Statements without a row, to see whether they are permitted.
        "storage/health/rights.py",
        # The users' own rows: what a loop's body asks of a batch.
        "storage/keysets/keyset.py",
        "storage/statements/limits.py",
        "storage/statements/parked_executions.py",
        "storage/statements/waits/resume_requests.py",
        # API keys and roles.
        "storage/statements/activity.py",
        "storage/statements/access/api_keys.py",
        "storage/statements/access/roles.py",
        # When schedules fire next, and what became of their runs: never a state of a workflow.
        "storage/statements/timers/schedule_runs.py",
        "storage/statements/timers/schedules.py",
        "storage/statements/workers.py",
        "storage/statements/workflows.py",
    }


def test_the_states_of_workflows_and_executions_are_written_at_these_places_only() -> None:
    writing = {
        (place, f"{table}.{function.attr}")
        for place, function in calls()
        if isinstance(function, ast.Attribute)
        and function.attr in WRITERS
        and (table := _name_of(function.value)) in HOLDERS
    }

    assert writing == {
        ("engine/commit/writer.py:_insert_executions", "executions.insert"),
        ("engine/commit/writer.py:_move_executions", "executions.move"),
        ("engine/commit/writer.py:_move_workflows", "workflows.move"),
        # The same door for one decision, in one round trip where the database can.
        ("engine/commit/writer.py:write_together", "executions.moving"),
        ("engine/commit/writer.py:write_together", "workflows.moving"),
        ("engine/commit/writer.py:write_together", "dialect.write_together"),
        # The hot paths of the same door: the same decisions, for plain completions only.
        ("engine/commit/plain_completions.py:complete", "dialect.complete"),
        ("engine/commit/node_completions.py:_complete_executions", "executions.complete"),
        ("engine/commit/creation.py:_insert", "executions.insert"),
        ("engine/commit/creation.py:_insert", "workflows.insert"),
        # The hot path of starting: the same rows, unless an index refuses them.
        ("engine/commit/creation.py:start", "dialect.start"),
        # The hot path of publishing: the only wait for an event is released as it is stored.
        ("engine/waits/events/event_store.py:store_event", "dialect.publish"),
        ("storage/statements/executions.py:claim_one", "_dialect.take"),
        ("storage/statements/executions.py:wake", "_dialect.take"),
        ("worker/claims/claimer.py:claim_due", "dialect.claim"),
        ("worker/claims/claimer.py:take", "executions.claim_one"),
    }


def test_only_the_hot_statements_are_written_as_text() -> None:
    assert [path for path, text in modules() if RAW.search(text)] == [
        "storage/dialects/mysql/complete.py",
        "storage/dialects/postgresql/claim.py",
        "storage/dialects/postgresql/complete.py",
        "storage/dialects/postgresql/event_insert.py",
        # Any rows of ours, where there are very many of them.
        "storage/dialects/postgresql/insert.py",
        "storage/dialects/sqlite/claim.py",
        "storage/dialects/sqlite/complete.py",
        "storage/dialects/sqlite/insert.py",
        # A loop's position, which is no state: saved after each of millions of items.
        "storage/statements/loops/checkpoint_writer.py",
        "storage/statements/loops/history_writer.py",
    ]


def _is_statement(function: ast.expr) -> bool:
    """Say whether it is SQLAlchemy's `update(table)`, or `sqlite.insert(table)`, or a method."""
    if isinstance(function, ast.Name):
        return function.id in STATEMENTS
    return (
        isinstance(function, ast.Attribute)
        and function.attr in STATEMENTS
        and (_name_of(function.value).endswith("table") or _name_of(function.value) in DIALECTS)
    )


def _name_of(expression: ast.expr) -> str:
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
