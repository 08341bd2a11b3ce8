"""Finds requests for approval: `drive.approvals`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from geneva_drive import checks
from geneva_drive.definition.waits.approval_values import MAX_PERSON_LENGTH, MAX_ROLE_LENGTH
from geneva_drive.display import shown
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.engine.waits.approvals import decision_links
from geneva_drive.errors import ApprovalNotFound, InvalidInput, InvalidStateError
from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_PAGE = 500


@dataclass(frozen=True, slots=True)
class ApprovalQuery:
    """The requests that match, oldest first; the database is asked when they are read."""

    _drive: Drive
    wanted: ApprovalFilter
    maximum: int | None = None

    def limit(self, count: int) -> ApprovalQuery:
        most = checks.whole_number(
            "The argument of limit()", count, at_least=0, at_most=checks.LARGEST_NUMBER
        )
        return replace(self, maximum=most)

    def after(self, approval_id: object) -> ApprovalQuery:
        """Continue a list after the request with this id."""
        key = keys.parse(self._drive.store.key_type, approval_id)
        return replace(self, wanted=replace(self.wanted, after=key))

    def all(self) -> list[Approval]:
        return list(self)

    def first(self) -> Approval | None:
        return next(iter(self if self.maximum == 0 else self.limit(1)), None)

    def ids(self) -> list[Any]:
        return [approval.id for approval in self]

    def count(self) -> int:
        store = self._drive.store
        total = store.read(lambda connection: store.approvals.count(connection, self.wanted))
        return total if self.maximum is None else min(total, self.maximum)

    def __iter__(self) -> Iterator[Approval]:
        store, wanted, remaining = self._drive.store, self.wanted, self.maximum
        while remaining is None or remaining > 0:
            page = _PAGE if remaining is None else min(_PAGE, remaining)
            records = store.read(partial(store.approvals.page, wanted=wanted, limit=page))
            for record in records:
                yield Approval(self._drive, record)
            if len(records) < page:
                return
            wanted = replace(wanted, after=records[-1].id)
            remaining = None if remaining is None else remaining - len(records)


class Approvals:
    """The requests for approval of a Drive."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    def pending(self, role: str | None = None, person: str | None = None) -> ApprovalQuery:
        """Return the requests that wait for a decision, oldest first.

        `role` selects those for a role, `person` those that name a person or were delegated to
        them.
        """
        if role is not None:
            checks.text("pending(role=...)", role, longest=MAX_ROLE_LENGTH)
        if person is not None:
            checks.text("pending(person=...)", person, longest=MAX_PERSON_LENGTH)
        wanted = ApprovalFilter(state=ApprovalState.PENDING, role=role, person=person)
        return ApprovalQuery(self._drive, wanted)

    def of_workflow(self, workflow_id: Key) -> ApprovalQuery:
        """Return every request of a workflow, in the order in which they were opened."""
        return ApprovalQuery(self._drive, ApprovalFilter(workflow_id=workflow_id))

    def get(self, approval_id: object) -> Approval:
        """Return the request with this id, or raise `NotFound`."""
        store = self._drive.store
        try:
            key = keys.parse(store.key_type, approval_id)
        except InvalidInput as error:
            raise ApprovalNotFound(approval_id) from error
        return Approval(self._drive, self._require(key))

    def by_link(self, token: str) -> Approval:
        """Return the request that a link leads to; its commands act for the link's person.

        Raises `NotFound` for an unknown token, and `InvalidStateError` if the link no longer works:
        the request was decided, delegated, escalated or expired, or the link itself has expired.
        """
        if not isinstance(token, str):
            raise InvalidInput(f"by_link() takes the token of a link, got {shown(token)}.")
        environment = self._drive.environment
        link = decision_links.find(environment, token)
        record = self._require(link.approval_id)
        fault = decision_links.fault_of(environment, link)
        if not record.is_pending:
            fault = f"the request is {record.state}"
        if fault is not None:
            raise InvalidStateError(f"The link to approval {record.id} cannot be used: {fault}.")
        return Approval(self._drive, record, (decision_links.hash_of(token), link))

    def _require(self, approval_id: Key) -> ApprovalRecord:
        store = self._drive.store
        record = store.read(lambda connection: store.approvals.get(connection, approval_id))
        if record is None:
            raise ApprovalNotFound(approval_id)
        return record
