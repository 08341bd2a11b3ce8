"""The promises of the demo, and whether the database proves that they were kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import distinct, func, select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Kill, Snapshot, WorkflowSnapshot
from geneva_drive.cli.demo.workflows import (
    MUTATIONS,
    ROWS,
    Article,
    Charge,
    Email,
    Order,
    Repayment,
)
from geneva_drive.states import ACTIVE_STEP_STATES, is_done

_MAILING_STEPS = (
    "send_welcome",
    "send_reminder",
    "ask_opinion",
    "send_tracking",
    "notify",
    "apologize",
)


@dataclass(frozen=True, slots=True)
class Promise:
    """A sentence with figures from the database, and all facts that contradict it."""

    text: str
    faults: Sequence[str]


def check(drive: gd.Drive, snapshot: Snapshot, kills: Sequence[Kill]) -> list[Promise]:
    with Session(drive.engine) as session:
        return [
            recorded_once(snapshot, kills, drive),
            imported_once(snapshot, session),
            booked_once(snapshot),
            charged_once(snapshot, session),
            decided_once(snapshot, session),
        ]


def recorded_once(snapshot: Snapshot, kills: Sequence[Kill], drive: gd.Drive) -> Promise:
    recovered = {e.id for e in snapshot.executions if e.outcome is gd.Outcome.RECOVERED}
    held = frozenset[Any]().union(*(kill.held_ids for kill in kills))
    finished = sum(w.state is gd.WorkflowState.FINISHED for w in snapshot.workflows)
    faults = list(_step_faults(snapshot.workflows))
    faults += [fault for workflow in snapshot.workflows for fault in _too_early(workflow)]
    faults += [
        f"The ancestry hash of {execution.step_name} does not match."
        for workflow in gd.Workflow.using(drive).query()
        for execution in workflow.verify_ancestry()
    ]
    faults += [f"Worker {kill.label} held no step." for kill in kills if not kill.held_ids]
    faults += [f"Execution {key} was not recovered." for key in sorted(held - recovered)]
    noun = "workflow" if finished == 1 else "workflows"
    after = f", {len(recovered & held)} recovered after kill -9" if kills else ""
    return Promise(f"{finished} {noun}, each step done once and in order{after}", faults)


def _step_faults(workflows: Iterable[WorkflowSnapshot]) -> Iterator[str]:
    for workflow in workflows:
        if workflow.state is not gd.WorkflowState.FINISHED:
            yield f"{workflow.title} is {workflow.state}, not finished."
        for name, attempts in workflow.attempts().items():
            count = sum(is_done(e.state, e.outcome) for e in attempts)
            if count != 1:
                yield f"{workflow.title}: {name} is recorded as done {count} times."
            active = (e.state for e in attempts if e.state in ACTIVE_STEP_STATES)
            yield from (f"{workflow.title}: {name} is still {state}." for state in active)


def _too_early(workflow: WorkflowSnapshot) -> Iterator[str]:
    done = {e.step_name: e for e in workflow.executions if is_done(e.state, e.outcome)}
    for name, execution in done.items():
        begun_at = execution.started_at or execution.finished_at
        for parent in workflow.graph.parents[name]:
            ended_at = done[parent].finished_at if parent in done else None
            if ended_at is None or begun_at is None or begun_at < ended_at:
                yield f"{workflow.title}: {name} began before {parent} was done."


def imported_once(snapshot: Snapshot, session: Session) -> Promise:
    lost = sum(w.count(gd.Outcome.RECOVERED) for w in snapshot.of_type("Import"))
    articles = session.scalar(select(func.count(Article.id))) or 0
    imported = session.scalar(select(func.count(distinct(Article.row_number)))) or 0
    faults = []
    if imported != ROWS:
        faults.append(f"{ROWS - imported:,} rows of the catalogue were not imported.")
    if articles != imported:
        faults.append(f"{articles - imported:,} rows were imported more than once.")
    return Promise(
        f"{ROWS:,} rows, {lost} workers killed on the way, each row imported exactly once",
        faults,
    )


def booked_once(snapshot: Snapshot) -> Promise:
    fan_outs = [workflow for workflow in snapshot.workflows if workflow.fan_out_names]
    done = sum(len(w.fan_out_names & w.done_names) for w in fan_outs)
    lost = sum(w.count(gd.Outcome.RECOVERED) for w in fan_outs)
    faults = list(_step_faults(fan_outs))
    sums = [e.result for w in fan_outs for e in w.executions if e.step_name == "aggregate"]
    expected = sum(MUTATIONS)
    faults += [f"{sum_} cents were booked, not {expected}." for sum_ in sums if sum_ != expected]
    return Promise(
        f"{done:,} nodes of a fan-out, {lost} recovered, each done and counted exactly once",
        faults,
    )


def charged_once(snapshot: Snapshot, session: Session) -> Promise:
    charges = session.execute(
        select(Order.name, func.count(Charge.id)).outerjoin(Charge).group_by(Order.id)
    ).all()
    emails = session.execute(
        select(Email.to, Email.subject, func.count()).group_by(Email.to, Email.subject)
    ).all()
    due = sum(
        e.step_name in _MAILING_STEPS and e.state is gd.StepState.COMPLETED
        for e in snapshot.executions
    )
    sent = sum(count for _, _, count in emails)
    faults = [f"{name} was charged {count} times." for name, count in charges if count != 1]
    faults += [f"{to} was sent {what!r} {count} times." for to, what, count in emails if count != 1]
    if sent != due:
        faults.append(f"{due} e-mails were due, and {sent} were sent.")
    return Promise(
        f"{len(charges)} orders charged, {due} e-mails sent, each exactly once",
        faults,
    )


def decided_once(snapshot: Snapshot, session: Session) -> Promise:
    refunds = snapshot.of_type("Refund")
    approvals = {refund.hero_name: refund.count(gd.Outcome.APPROVED) for refund in refunds}
    repaid = select(Order.name, func.count(Repayment.id)).outerjoin(Repayment).group_by(Order.id)
    faults = [
        f"The refund of {name} was approved {approved} times, and paid back {count} times."
        for name, count in session.execute(repaid)
        if count != (approved := approvals.get(name, 0))
    ]
    escalated = sum(e.command == "escalate" for refund in refunds for e in refund.audit_entries)
    return Promise(
        f"{len(refunds)} refunds decided, {escalated} escalated, each decision took effect "
        f"exactly once",
        faults,
    )
