"""Requests for approval with their people and their workflow, read together for display."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from geneva_drive.definition.options.approval_terms import REJECT
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.states import ApprovalState, StepState
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import PersonRecord

_BATCH = 500  # databases limit the values in one statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalView:
    """A request with its votes and delegates, and the workflow that made it."""

    approval: Approval
    people: tuple[PersonRecord, ...]
    workflow: WorkflowRecord

    @property
    def is_pending(self) -> bool:
        return self.approval.state is ApprovalState.PENDING

    @property
    def deciders(self) -> list[str]:
        """The role and the people who are asked to decide."""
        approval = self.approval
        asked = [] if approval.role is None else [f"role {approval.role}"]
        if not self.is_pending:
            # When a request ends, its people are no longer assigned; the named approvers stay.
            return [*asked, *approval.approvers]
        standing = {one.person: one.is_assigned for one in self.people}
        named = [person for person in approval.approvers if standing.get(person)]
        delegates = [one for one in standing if standing[one] and one not in named]
        return [*asked, *named, *delegates]

    @property
    def approve_count(self) -> int:
        """The number of votes for the approving choice that has the most."""
        counts = [self._count(one) for one in self.approval.choices if one != REJECT]
        return max(counts, default=0)

    @property
    def reject_count(self) -> int:
        return self._count(REJECT)

    def _count(self, choice: str) -> int:
        return sum(one.choice == choice for one in self.people)


def views_of(drive: Drive, approvals: Sequence[Approval]) -> list[ApprovalView]:
    """Read the people and workflows of requests, with two queries for each few hundred."""
    starts = range(0, len(approvals), _BATCH)
    return [view for start in starts for view in _views(drive, approvals[start : start + _BATCH])]


def awaited_views(drive: Drive, executions: Iterable[StepExecution]) -> list[ApprovalView]:
    """Read the requests for which executions wait, the oldest first."""
    waiting = [one for one in executions if one.state is StepState.WAITING]
    ids = {one.approval_id for one in waiting} - {None}
    if not ids:
        return []
    store = drive.store
    records = store.read(lambda connection: store.approvals.get_many(connection, ids))
    return views_of(drive, [Approval(drive, records[key]) for key in sorted(records)])


def _views(drive: Drive, approvals: Sequence[Approval]) -> Iterator[ApprovalView]:
    store = drive.store
    with store.reading() as connection:
        people = store.approval_people.of_approvals(connection, [one.id for one in approvals])
        owners = list({one.workflow_id for one in approvals})
        workflows = store.workflows.get_many(connection, owners)
    for one in approvals:
        # The workflow, and with it the request, may have been deleted in the meantime.
        if one.workflow_id in workflows:
            yield ApprovalView(
                approval=one,
                people=tuple(people[one.id]),
                workflow=workflows[one.workflow_id],
            )
