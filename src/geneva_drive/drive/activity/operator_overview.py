"""What needs an operator: groups of failures, dead letters without a failure, held workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.display import short_name
from geneva_drive.drive.activity.overview_rows import (
    MOST_ROWS,
    OverviewGroup,
    OverviewParty,
    OverviewRow,
    Party,
    Tone,
    group,
    party,
)
from geneva_drive.drive.activity.person_overview import hero_words
from geneva_drive.drive.failures.failures import FailureGroup, Standing, failure_groups
from geneva_drive.drive.search.search import SearchCount
from geneva_drive.states import DeadLetterReason
from geneva_drive.storage.schema.records import DeadLetterRecord, WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_LOOKED_AT = 2_000  # dead letters and paused workflows: more would take over 20 ms
_SINCE = "24h"  # paused workflows count whatever their age

_WHY = {
    DeadLetterReason.WORKER_UNAVAILABLE: "Lost its worker too often",
    DeadLetterReason.MAX_RETRIES_EXCEEDED: "Its reattempts ran out",
    DeadLetterReason.MISSING_JOB: "Its job is missing",
    DeadLetterReason.STALENESS_TIMEOUT: "Makes no progress",
    DeadLetterReason.RESUME_TIMEOUT: "Was not resumed in time",
    DeadLetterReason.MANUAL: "Was reported by hand",
}


def read(drive: Drive) -> OverviewParty:
    store = drive.store
    failures = [one for one in failure_groups(drive, _SINCE) if one.standing is Standing.PAUSED]

    def query(connection: Connection) -> list[OverviewGroup]:
        front = store.front_page
        count, is_exact, letters = front.other_dead_letters(
            connection, looked_at=_LOOKED_AT, limit=MOST_ROWS
        )
        of_letters = SearchCount(count, is_exact)
        count, is_exact, held = front.held(connection, looked_at=_LOOKED_AT, limit=MOST_ROWS)
        of_held = SearchCount(count, is_exact)
        by = front.pauses(connection, [one.id for one in held])
        return [
            group("dead_letters", "Other dead letters", of_letters, [_letter(*e) for e in letters]),
            group("held", "Paused by hand", of_held, [_held(e, by.get(e.id)) for e in held]),
        ]

    return party(Party.OPERATOR, [_failed(failures), *store.read(query)])


def _failed(failures: list[FailureGroup]) -> OverviewGroup:
    total = sum(one.count for one in failures)
    count = SearchCount(total, is_exact=all(one.is_count_exact for one in failures))
    noun = "group" if len(failures) == 1 else "groups"
    rows = [_failure(one) for one in failures[:MOST_ROWS]]
    return group("failures", f"Failures, in {len(failures):,} {noun}", count, rows)


def _failure(one: FailureGroup) -> OverviewRow:
    error = ": ".join(filter(None, (short_name(one.error_class or ""), one.message)))
    return OverviewRow(
        title=one.type or "dynamic",
        about=one.step,
        sentence=error or "Failed without an error.",
        count=one.count,
        since=one.first,
        until=None,
        workflow_id=one.sample_ids[0] if one.count == 1 else None,
        tone=Tone.FAILED,
        failure=one.where,
    )


def _letter(letter: DeadLetterRecord, workflow: WorkflowRecord) -> OverviewRow:
    step = "" if letter.step_name is None else f" in `{letter.step_name}`"
    notes = "" if not letter.notes else f": \u201c{letter.notes.splitlines()[0]}\u201d"
    return OverviewRow(
        title=workflow.type or "dynamic",
        about=hero_words(workflow),
        sentence=f"{_WHY[letter.reason]}{step}{notes}" + ("" if notes else "."),
        since=letter.created_at,
        workflow_id=workflow.id,
        tone=Tone.FAILED,
    )


def _held(workflow: WorkflowRecord, actor: str | None) -> OverviewRow:
    by = f"Held by {actor}" if actor else "Paused"
    reason = (workflow.paused_reason or "").splitlines()
    return OverviewRow(
        title=workflow.type or "dynamic",
        about=hero_words(workflow),
        sentence=f"{by}: \u201c{reason[0]}\u201d" if reason else f"{by}.",
        since=workflow.paused_at,
        workflow_id=workflow.id,
        tone=Tone.HELD,
    )
