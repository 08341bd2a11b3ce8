"""What must hold between the tables of approvals after every transaction, whatever happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, select

import geneva_drive as gd
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, wait_of
from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    ApprovalState,
    Outcome,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.records import ExecutionRecord

_DECIDED = (ApprovalState.APPROVED, ApprovalState.REJECTED, ApprovalState.EXPIRED)
_OF_DECISIONS = (Outcome.APPROVED, Outcome.REJECTED, Outcome.EXPIRED)
_EFFECTS = ("approval", "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The rows of a database, read in one transaction."""

    workflows: list[RowMapping]
    executions: list[ExecutionRecord]
    approvals: list[RowMapping]
    people: list[RowMapping]
    requests: list[RowMapping]
    held: frozenset[Any]  # executions with a request to stop
    claimable: frozenset[Any]
    woken: frozenset[Any]  # executions that the timers will make claimable

    @classmethod
    def of(cls, drive: gd.Drive) -> Ledger:
        return drive.store.read(lambda connection: cls._read(drive, connection))

    @classmethod
    def _read(cls, drive: gd.Drive, connection: Connection) -> Ledger:
        store, tables = drive.store, drive.store.tables

        def rows(table: Table) -> list[RowMapping]:
            return list(connection.execute(select(table)).mappings())

        workflows, states = rows(tables.workflows), rows(tables.step_executions)
        return cls(
            workflows=workflows,
            executions=[
                one
                for row in workflows
                for one in store.executions.of_workflow(connection, row["id"])
            ],
            approvals=rows(tables.approvals),
            people=rows(tables.approval_people),
            requests=rows(tables.resume_requests),
            held=frozenset(row["id"] for row in states if row["stop"] is not None),
            claimable=frozenset(row["id"] for row in states if row["claimable"]),
            woken=frozenset(row["id"] for row in states if row["wakes_at"] is not None),
        )


def assert_consistent(drive: gd.Drive) -> Ledger:
    """Raise an error if two tables of the database contradict each other; return what was read."""
    ledger = Ledger.of(drive)
    _check_waits(ledger)
    _check_workflows(ledger)
    _check_requests(ledger)
    _check_resume_requests(ledger)
    _check_completions(ledger)
    return ledger


def _approval_of(execution: ExecutionRecord) -> Any:
    wait = wait_of(execution)
    return wait.approval_id if isinstance(wait, ApprovalWait) else None


def _check_waits(ledger: Ledger) -> None:
    """A pending request has exactly one waiting execution, the one that asked, and vice versa."""
    waiting = Counter(
        (_approval_of(one), one.workflow_id, one.id, one.step_name)
        for one in ledger.executions
        if one.state is StepState.WAITING
    )
    pending = Counter(
        (row["id"], row["workflow_id"], row["execution_id"], row["step_name"])
        for row in ledger.approvals
        if row["state"] == ApprovalState.PENDING
    )
    assert waiting == pending
    open_waits = Counter(key[1] for key in waiting)
    assert {row["id"]: row["open_waits"] for row in ledger.workflows} == {
        row["id"]: open_waits[row["id"]] for row in ledger.workflows
    }


def _check_workflows(ledger: Ledger) -> None:
    """Nothing of an ended workflow is open, nothing of a paused one runs, no ready one is stuck."""
    for row in ledger.workflows:
        active = [
            one
            for one in ledger.executions
            if one.workflow_id == row["id"] and one.state in ACTIVE_STEP_STATES
        ]
        keys = {one.id for one in active}
        if row["state"] in ENDED_WORKFLOW_STATES:
            # What ran while its workflow ended may still end.
            assert {one.state for one in active} <= {StepState.IN_PROGRESS}
        elif row["state"] == WorkflowState.PAUSED:
            idle = {one.id for one in active if one.state is not StepState.IN_PROGRESS}
            assert idle <= ledger.held
            assert not keys & (ledger.claimable | ledger.woken)
        elif row["requested"] is None:
            assert active
            assert not keys & ledger.held
            scheduled = {one.id for one in active if one.state is StepState.SCHEDULED}
            assert scheduled <= ledger.claimable | ledger.woken


def _check_requests(ledger: Ledger) -> None:
    for row in ledger.approvals:
        is_pending = row["state"] == ApprovalState.PENDING
        assert row["wakes_at"] == (row["expires_at"] if is_pending else None)
        assert (row["decided_at"] is None) is is_pending
        by_person = row["state"] in (ApprovalState.APPROVED, ApprovalState.REJECTED)
        assert (row["decided_by"] is not None) is by_person
        assert (row["choice"] is not None) is by_person
        assigned = [one for one in ledger.people if one["approval_id"] == row["id"]]
        assert is_pending or not any(one["is_assigned"] for one in assigned)
        votes = Counter(one["choice"] for one in assigned if one["choice"] is not None)
        quorum = row["reject_quorum"] if row["choice"] == "reject" else row["quorum"]
        assert not by_person or votes[row["choice"]] == quorum


def _check_resume_requests(ledger: Ledger) -> None:
    """Each decision has one resume request: executed, ended with an error, or held with it."""
    asked = Counter(row["trigger_id"] for row in ledger.requests if row["kind"] in _EFFECTS)
    decided = {str(row["id"]): row for row in ledger.approvals if row["state"] in _DECIDED}
    assert asked == Counter(decided.keys())
    unfinished = {
        str(_approval_of(one)): one.id
        for one in ledger.executions
        if one.state is StepState.SCHEDULED
    }
    for row in ledger.requests:
        assert row["executed_at"] is None or row["error"] is None
        if row["kind"] in _EFFECTS:
            is_expired = decided[row["trigger_id"]]["state"] == ApprovalState.EXPIRED
            assert (row["kind"] == "timeout") is is_expired
        if row["executed_at"] is None and row["error"] is None:
            assert unfinished[row["trigger_id"]] in ledger.held


def _check_completions(ledger: Ledger) -> None:
    """A decision is recorded by one execution at most, and only the decision that was taken."""
    decided = {row["id"]: row["state"] for row in ledger.approvals if row["state"] in _DECIDED}
    recorded = [one for one in ledger.executions if one.outcome in _OF_DECISIONS]
    assert max(Counter(_approval_of(one) for one in recorded).values(), default=0) <= 1
    assert all(str(decided[_approval_of(one)]) == str(one.outcome) for one in recorded)
