"""The words of `why()` for nodes that wait: for a child workflow, a person or an event."""

from __future__ import annotations

from typing import assert_never

from geneva_drive.display import moment_words
from geneva_drive.drive.explanation.why_facts import Circumstances
from geneva_drive.engine.transitions.wait_kinds import (
    ApprovalWait,
    ChildWait,
    EventWait,
    MomentWait,
    Wait,
    wait_of,
)
from geneva_drive.storage.schema.records import ExecutionRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE


def explain_wait(execution: ExecutionRecord, known: Circumstances) -> str:
    """Return the sentence about a node that waits."""
    node, wait = execution.step_name, wait_of(execution)
    match wait:
        case ChildWait(child_id):
            child = known.child
            about = "" if child is None else f" ({child.type}), which is {child.state}"
            return f"Node {node!r} waits for its child workflow {child_id}{about}."
        case ApprovalWait(approval_id):
            about = "" if known.approval is None else asked_people(known.approval)
            return f"Step {node!r} waits for a decision on approval {approval_id}{about}."
        case EventWait():
            about = "events" if known.event_wait is None else awaited_events(known.event_wait)
            return f"Step {node!r} waits for {about}."
        case MomentWait(until):
            return f"Step {node!r} runs at {moment_words(until)}."
        case None:
            return f"Node {node!r} waits."
        case _:
            assert_never(wait)


def asked_people(approval: ApprovalRecord) -> str:
    """Return who may decide a request, and until when."""
    if approval.role is not None:
        people = f"role {approval.role!r}"
    else:
        people = ", ".join(approval.approver_list)
    count = f" ({approval.quorum} people)" if approval.quorum > 1 else ""
    until = "" if approval.expires_at is None else f", until {moment_words(approval.expires_at)}"
    return f" by {people}{count}{until}"


def awaited_events(wait: EventWaitRecord) -> str:
    """Return the events that a node waits for, and until when."""
    until = "" if wait.expires_at is None else f", until {moment_words(wait.expires_at)}"
    if wait.patterns == (CALLBACK_TYPE,):
        return f"its callback{until}"
    types = [repr(pattern) for pattern in wait.patterns]
    joint = " and " if wait.is_all else " or "
    noun = "events" if wait.is_all and len(types) > 1 else "event"
    key = f" with key {wait.awaited_key!r}" if wait.awaited_key else ""
    return f"{noun} {joint.join(types)}{key}{until}"


def awaited(wait: Wait) -> tuple[str, str]:
    """Return the phrases for one waiting node and for several."""
    match wait:
        case ChildWait():
            return "for a child workflow", "for child workflows"
        case ApprovalWait():
            return "for a decision", "for decisions"
        case EventWait():
            return "for an event", "for events"
        case MomentWait():
            return "for a moment", "for their moments"
        case _:
            assert_never(wait)
