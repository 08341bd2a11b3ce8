"""Votes on requests for approval, and the decision that completes a quorum."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.options.approval_terms import APPROVE, REJECT
from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit import telemetry_events
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.engine.waits.approvals import decision_links
from geneva_drive.engine.waits.approvals.pending_request import (
    By,
    PendingRequest,
    Refusal,
    append_audit,
    lock_request,
    person_of,
    refuse,
)
from geneva_drive.engine.waits.approvals.request_endings import RequestEnding, decide_request
from geneva_drive.states import ApprovalState
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.telemetry import ApprovalAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """The vote of one person; its data has been checked against the form."""

    by: By
    choice: str
    comment: str | None
    data: str | None
    link_hash: str | None = None  # of the link that was used

    @property
    def person(self) -> str:
        return person_of(self.by)

    @property
    def command(self) -> str:
        return self.choice if self.choice in (APPROVE, REJECT) else "decide"

    @property
    def words(self) -> str | None:
        if self.command != "decide":
            return self.comment
        return f"{self.choice}: {self.comment}" if self.comment else self.choice


@dataclass(frozen=True, slots=True)
class _CountedVote:
    """A vote that was counted; `applied` is set if it decided the request."""

    applied: Applied | None
    approval: ApprovalRecord

    @property
    def continues(self) -> bool:
        return self.applied is not None and self.applied.leaves_something_due


def vote(
    environment: Environment, workflow_id: Key, approval_id: Key, given: Vote
) -> ApprovalRecord:
    """Count a vote, and release the node if it completes the quorum, in one transaction.

    Returns the request as it is now.
    """
    store = environment.store
    # A joined transaction may commit much later, so it carries no notice.
    notice = None if store.database.is_joined else environment.wakeups.hints.along()
    answer = store.write_group(
        lambda connection: _vote(connection, environment, workflow_id, approval_id, given, notice)
    )
    if isinstance(answer, Refusal):
        raise answer.error()
    if notice is not None and answer.continues:
        environment.wakeups.hints.went_along()
    store.database.after_commit(lambda: _announce(environment, answer, given.person))
    return answer.approval


def _vote(
    connection: Connection,
    environment: Environment,
    workflow_id: Key,
    approval_id: Key,
    given: Vote,
    notice: Notice | None,
) -> _CountedVote | Refusal:
    request = lock_request(connection, environment, workflow_id, approval_id, given.command)
    decision_links.check(connection, environment, request, given.link_hash)
    refusal = refuse(connection, environment, request, given.command, given.by)
    if refusal is not None:
        return refusal
    votes = Counter(
        one.choice
        for one in request.people.values()
        if one.choice is not None and one.person != given.person
    )
    needed = request.approval.reject_quorum if given.choice == REJECT else request.approval.quorum
    if votes[given.choice] + 1 < needed:
        values = _vote_values(given, request)
        environment.store.approval_people.put(connection, approval_id, given.person, values)
        append_audit(
            connection,
            environment,
            request,
            given.command,
            actor=given.person,
            reason=given.words,
        )
        return _CountedVote(None, request.approval)
    return _decide(connection, environment, request, given, notice)


def _vote_values(given: Vote, request: PendingRequest) -> dict[str, Any]:
    return {
        "choice": given.choice,
        "comment": given.comment,
        "data": given.data,
        "voted_at": request.now,
    }


def _decide(
    connection: Connection,
    environment: Environment,
    request: PendingRequest,
    given: Vote,
    notice: Notice | None,
) -> _CountedVote:
    state = ApprovalState.REJECTED if given.choice == REJECT else ApprovalState.APPROVED
    audit = AuditEntry(
        command=given.command,
        actor=given.person,
        reason=given.words,
        approval_id=request.approval.id,
    )
    decided = replace(
        request.approval,
        state=state,
        decided_at=request.now,
        decided_by=given.person,
        choice=given.choice,
        comment=given.comment,
        data=given.data,
    )
    last_vote = environment.store.approval_people.voting(
        decided.id,
        given.person,
        _vote_values(given, request),
        is_known=given.person in request.people,
    )
    ending = RequestEnding(request, decided, audit)
    applied = decide_request(connection, environment, ending, last_vote, notice)
    return _CountedVote(applied, decided)


def _announce(environment: Environment, counted: _CountedVote, person: str) -> None:
    applied = counted.applied
    if applied is None:
        return
    announce_commit(environment, [applied])
    if environment.events.wanted:
        now = environment.clock.now()
        environment.events.emit(
            [
                telemetry_events.approval_changed(
                    applied.workflow, counted.approval, ApprovalAction.DECIDED, now, by=person
                )
            ]
        )
