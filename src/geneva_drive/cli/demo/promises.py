"""Whether the database holds what was promised, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Effects, Kill, Snapshot, WorkflowSnapshot
from geneva_drive.states import ACTIVE_STEP_STATES, is_done

_MAILING_STEPS = frozenset(
    {"send_welcome", "send_reminder", "ask_opinion", "send_tracking", "notify"}
)


def step_faults(workflows: Iterable[WorkflowSnapshot]) -> list[str]:
    """Name every step that is not recorded as done exactly once, and every workflow not ended."""
    return [fault for workflow in workflows for fault in _faults_of(workflow)]


def kill_faults(snapshot: Snapshot, kill: Kill) -> list[str]:
    """Name what a killed worker held and nobody took back."""
    if not kill.held_ids:
        return [f"The killed worker {kill.pid} held no step."]
    return [
        f"Execution {held} of the killed worker {kill.pid} was not recovered."
        for held in sorted(kill.held_ids - recovered_ids(snapshot))
    ]


def recovered_ids(snapshot: Snapshot) -> frozenset[Any]:
    return frozenset(e.id for e in snapshot.executions if e.outcome is gd.Outcome.RECOVERED)


def order_faults(snapshot: Snapshot, effects: Effects) -> list[str]:
    """Name every node that began before one that it depends on was done, or cannot prove it."""
    return [
        *(fault for workflow in snapshot.workflows for fault in _too_early(workflow)),
        *(f"The ancestry hash of {node} does not match." for node in effects.unproven),
    ]


def _too_early(workflow: WorkflowSnapshot) -> Iterator[str]:
    done = {e.step_name: e for e in workflow.executions if is_done(e.state, e.outcome)}
    for name, execution in done.items():
        begun_at = execution.started_at or execution.finished_at
        for parent in workflow.graph.parents[name]:
            ended_at = done[parent].finished_at if parent in done else None
            if ended_at is None or begun_at is None or begun_at < ended_at:
                yield f"{workflow.title}: {name} began before {parent} was done."


def effect_faults(snapshot: Snapshot, effects: Effects) -> list[str]:
    """Name every charge and e-mail, and count the articles, missing or there too often."""
    return [
        *_charge_faults(snapshot, effects),
        *_email_faults(snapshot, effects),
        *import_faults(effects),
        *booking_faults(effects),
    ]


def import_faults(effects: Effects) -> list[str]:
    missing = effects.row_count - effects.imported_row_count
    repeated = effects.article_count - effects.imported_row_count
    return [
        *([f"{missing:,} rows of the catalogue were not imported."] if missing else []),
        *([f"{repeated:,} rows were imported more than once."] if repeated else []),
    ]


def booking_faults(effects: Effects) -> list[str]:
    if effects.balance_cents == effects.expected_cents:
        return []
    return [f"{effects.balance_cents:,} cents were booked, and not {effects.expected_cents:,}."]


def emails_due(snapshot: Snapshot) -> int:
    return sum(
        e.step_name in _MAILING_STEPS and e.state is gd.StepState.COMPLETED
        for e in snapshot.executions
    )


def _faults_of(workflow: WorkflowSnapshot) -> Iterator[str]:
    if workflow.state is not gd.WorkflowState.FINISHED:
        yield f"{workflow.title} is {workflow.state}, not finished."
    for step_name in workflow.step_names:
        attempts = workflow.attempts_at(step_name)
        count = sum(is_done(e.state, e.outcome) for e in attempts)
        if count != 1:
            yield f"{workflow.title}: {step_name} is recorded as done {count} times."
    for execution in workflow.executions:
        if execution.state in ACTIVE_STEP_STATES:
            yield f"{workflow.title}: {execution.step_name} is still {execution.state}."


def _charge_faults(snapshot: Snapshot, effects: Effects) -> Iterator[str]:
    for workflow in snapshot.workflows:
        if "charge_card" not in workflow.step_names:
            continue
        count = effects.charges.get(workflow.hero_name, 0)
        if count != 1:
            yield f"{workflow.title} was charged {count} times."


def _email_faults(snapshot: Snapshot, effects: Effects) -> Iterator[str]:
    for (recipient, subject), count in effects.emails.items():
        if count != 1:
            yield f"{recipient} was sent {subject!r} {count} times."
    sent, due = sum(effects.emails.values()), emails_due(snapshot)
    if sent != due:
        yield f"{sent} e-mails were sent, and {due} steps that send one are completed."
