"""The audit trail of a workflow, newest first, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from geneva_drive.drive.handle.handle import WorkflowHandle

MOST_ENTRIES = 30

_VERBS = {
    "pause": ("bars", "paused"),
    "resume": ("play", "resumed"),
    "resume_at": ("play", "resumed at another step"),
    "cancel": ("stop", "canceled"),
    "skip": ("next", "skipped a step"),
    "reattempt": ("play", "reattempted a step"),
    "rewind": ("left", "rewound a step"),
    "reset_for_retry": ("play", "reset a step"),
    "resolve_manually": ("check", "resolved a step by hand"),
    "complete_manually": ("check", "completed a step by hand"),
    "approve": ("person-check", "approved"),
    "reject": ("person-check", "rejected"),
    "vote": ("person-check", "voted"),
    "escalate": ("person", "escalated"),
    "delegate": ("person", "delegated"),
    "link": ("link", "made a link"),
    "expire": ("timer", "expired"),
    "retry_dead_letter": ("play", "retried the dead letter"),
    "resolve_dead_letter": ("check", "resolved the dead letter"),
    "run_schedule": ("play", "ran its schedule"),
    "bulk": ("play", "ordered it"),
    "import_dag": ("branch", "replaced the graph"),
    "freeze_dag": ("branch", "froze the graph"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEntry:
    """An entry of the audit trail: who did what, when and why."""

    glyph: str
    actor: str | None
    words: str
    reason: str | None
    at: datetime


def trail_of(workflow: WorkflowHandle[Any]) -> Sequence[TrailEntry]:
    """Return the entries, newest first; the last one is the creation of the workflow."""
    entries = [_entry(one) for one in _newest_first(workflow.audit_entries)]
    began = TrailEntry(
        glyph="plus",
        actor=workflow.started_by,
        words="created it" if workflow.started_by else "Created",
        reason=None,
        at=workflow.created_at,
    )
    return [*entries[:MOST_ENTRIES], began]


def _newest_first(entries: Iterable[Any]) -> list[Any]:
    return list(entries)[::-1]


def _entry(one: Any) -> TrailEntry:
    glyph, verb = _VERBS.get(one.command, ("document", one.command.replace("_", " ")))
    words = verb if one.actor else verb[:1].upper() + verb[1:]
    return TrailEntry(glyph=glyph, actor=one.actor, words=words, reason=one.reason, at=one.at)
