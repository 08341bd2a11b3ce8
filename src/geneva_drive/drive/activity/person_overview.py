"""The pending approvals, those of the reader first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.definition.actor import Actor
from geneva_drive.definition.nodes.phrases import member_of
from geneva_drive.display import moment_words, shown
from geneva_drive.drive.activity.overview_rows import (
    MOST,
    MOST_ROWS,
    OverviewParty,
    OverviewRow,
    Party,
    group,
    party,
)
from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, PersonRecord
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_READ = 50  # requests; only the most urgent are shown
_NEVER = datetime.max.replace(tzinfo=UTC)
_LONGEST_TITLE = 120
_ORDINALS = {1: "second", 2: "third"}

_Found = Sequence[tuple[ApprovalRecord, WorkflowRecord]]


def read(drive: Drive, actor: Actor | None) -> OverviewParty:
    store = drive.store
    roles, person = ((), None) if actor is None else (actor.roles, actor.id)

    def query(
        connection: Connection,
    ) -> tuple[int, _Found, int, _Found, dict[Key, list[PersonRecord]]]:
        (count, mine), (others_count, others) = (
            store.front_page.approvals(
                connection, roles=roles, person=person, are_mine=are_mine, most=MOST, limit=_READ
            )
            for are_mine in (True, False)
        )
        own_rows, other_rows = _first(mine), _first(others)
        ids = [approval.id for approval, _ in (*own_rows, *other_rows)]
        people = store.approval_people.of_approvals(connection, ids) if ids else {}
        return count, own_rows, others_count, other_rows, people

    count, mine, others_count, others, people = store.read(query)
    return party(
        Party.PERSON,
        [
            group("mine", "Yours", count, [_row(*each, people, person) for each in mine]),
            group("others", "Others", others_count, [_row(*each, people, None) for each in others]),
        ],
    )


def waiting_sentence(drive: Drive, workflow_id: Key, reader: str) -> str | None:
    """Return who is asked for which decision, and until when; None without a pending request."""
    store = drive.store

    def query(connection: Connection) -> tuple[ApprovalRecord, list[PersonRecord]] | None:
        wanted = ApprovalFilter(state=ApprovalState.PENDING, workflow_id=workflow_id)
        pending = store.approvals.page(connection, wanted=wanted, limit=_READ)
        if not pending:
            return None
        first = min(pending, key=lambda one: one.expires_at or _NEVER)
        return first, store.approval_people.of_approvals(connection, [first.id]).get(first.id, [])

    found = store.read(query)
    if found is None:
        return None
    approval, people = found
    until = approval.expires_at
    ends = f" It can be decided until {moment_words(until)}." if until else ""
    return f"{_sentence(approval, people, reader)}{ends}"


def _first(found: _Found) -> _Found:
    """Return the requests that are due first."""
    return sorted(found, key=lambda one: one[0].expires_at or _NEVER)[:MOST_ROWS]


def _row(
    approval: ApprovalRecord,
    workflow: WorkflowRecord,
    people: dict[Key, list[PersonRecord]],
    reader: str | None,
) -> OverviewRow:
    return OverviewRow(
        title=workflow.type or "dynamic",
        about=hero_words(workflow),
        sentence=_sentence(approval, people.get(approval.id, []), reader),
        since=approval.requested_at,
        until=approval.expires_at,
        workflow_id=workflow.id,
        approval_id=approval.id,
    )


def _sentence(approval: ApprovalRecord, people: Sequence[PersonRecord], reader: str | None) -> str:
    asked = ""
    if approval.title:
        text = " ".join(approval.title.split())
        cut = text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 3]}..."
        asked = f": \u201c{cut}\u201d"
    if approval.escalation_count:
        return f"Escalated to {who_is_asked(approval, people)}{asked}" + ("" if asked else ".")
    is_named = any(one.person == reader and one.is_assigned for one in people)
    who = "you" if reader is not None and is_named else who_is_asked(approval, people)
    return f"Waits for {who}{asked}" + ("" if asked else ".")


def who_is_asked(approval: ApprovalRecord, people: Sequence[PersonRecord]) -> str:
    """Return who is asked, such as "a second sales manager"."""
    voted = sum(one.voted_at is not None for one in people)
    if approval.role is None:
        names = [one.person for one in people if one.is_assigned]
        return ", ".join(names[:2]) + (" and others" if len(names) > 2 else "") or "a person"  # noqa: PLR2004 - the two that are named
    is_next = voted in _ORDINALS and approval.quorum > voted
    return member_of(approval.role, _ORDINALS[voted] if is_next else "")


def hero_words(workflow: WorkflowRecord) -> str | None:
    """Return the hero of a workflow as text on one line."""
    if workflow.hero_type is None:
        return None
    name = workflow.hero_type.rpartition(".")[2]
    return shown(f"{name} {workflow.hero_id}")[1:-1]
