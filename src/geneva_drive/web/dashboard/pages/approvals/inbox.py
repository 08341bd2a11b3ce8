"""The inbox: requests that wait for the viewer, then requests that wait for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.activity.overview_rows import MOST, counted
from geneva_drive.drive.activity.person_overview import hero_words, who_is_asked
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.search import SearchCount
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, PersonRecord
from geneva_drive.web.dashboard.decision.question import plain_question
from geneva_drive.web.dashboard.decision.votes import past
from geneva_drive.web.dashboard.pages.approvals import decided
from geneva_drive.web.dashboard.pages.front.rows import time_left
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive

router = APIRouter()

_SHOWN = 50  # of each part
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """A request in the list."""

    id: Key
    question: str
    type: str
    hero: str
    who: str
    since: datetime
    until: datetime | None
    left: str
    left_hue: str | None
    own_vote: str | None  # the vote of the viewer so far


@dataclass(frozen=True, slots=True)
class Part:
    """Requests for the viewer, or for others."""

    count: SearchCount
    rows: list[InboxRow]


@router.get("/approvals")
def show(
    request: Request,
    drive: CurrentDrive,
    actor: CurrentActor,
    state: Annotated[str | None, Query(max_length=20)] = None,
    older: Annotated[str | None, Query(max_length=64)] = None,
    newer: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    if state == "decided":
        return decided.render_list(request, drive, older, newer)
    mine, others = (read_part(drive, actor, are_mine=one) for one in (True, False))
    values = {"mine": mine, "others": others, "lead": lead_of(mine, others)}
    return render(request, "pages/approvals.html", values, here="approvals")


def read_part(drive: Drive, actor: Actor, *, are_mine: bool) -> Part:
    """Return the number of waiting requests, and the oldest ones, by their deadlines."""
    store, now = drive.store, drive.clock.now()

    def read(
        connection: Connection,
    ) -> tuple[int, list[tuple[ApprovalRecord, WorkflowRecord]], dict[Key, list[PersonRecord]]]:
        count, found = store.front_page.approvals(
            connection,
            roles=actor.roles,
            person=actor.id,
            are_mine=are_mine,
            most=MOST,
            limit=_SHOWN,
        )
        ids = [approval.id for approval, _ in found]
        people = store.approval_people.of_approvals(connection, ids) if ids else {}
        return count, found, people

    count, found, people = store.read(read)
    ordered = sorted(found, key=lambda one: one[0].expires_at or _NEVER)
    rows = [_row(*one, people.get(one[0].id, ()), actor, now) for one in ordered]
    return Part(counted(count), rows)


def _row(
    approval: ApprovalRecord,
    workflow: WorkflowRecord,
    people: Sequence[PersonRecord],
    actor: Actor,
    now: datetime,
) -> InboxRow:
    left, hue = time_left(approval.expires_at, now)
    own = next((one.choice for one in people if one.person == actor.id and one.choice), None)
    return InboxRow(
        id=approval.id,
        question=plain_question(approval.title, approval.step_name),
        type=workflow.type or "dynamic",
        hero=hero_words(workflow) or "",
        who=who_is_asked(approval, people),
        since=approval.requested_at,
        until=approval.expires_at,
        left=left,
        left_hue=hue,
        own_vote=None if own is None else f"you {past(own)}",
    )


def lead_of(mine: Part, others: Part) -> list[tuple[str, bool]]:
    """Return the first sentence in parts; the strong part is about the viewer's requests."""
    if not mine.count.count:
        waiting = others.count
        if not waiting.count:
            return [("Nothing waits for a decision.", False)]
        verb = "approval waits" if waiting.count == 1 else "approvals wait"
        return [("Nothing waits for you. ", True), (f"{waiting} {verb} for others.", False)]
    verb = "approval waits" if mine.count.count == 1 else "approvals wait"
    first = min((one.until for one in mine.rows if one.until is not None), default=None)
    when = "" if first is None else f", the first until {first:%Y-%m-%d %H:%M:%S} UTC"
    rest = f" {others.count} more for others." if others.count.count else ""
    return [(f"{mine.count} {verb} for you", True), (f"{when}.{rest}", False)]
