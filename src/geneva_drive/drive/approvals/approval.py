"""A request for approval: what is asked, who has voted, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from geneva_drive import checks
from geneva_drive.checks import text_fault
from geneva_drive.definition import registry
from geneva_drive.definition.actor import Actor
from geneva_drive.definition.options.approval_terms import APPROVE, REJECT
from geneva_drive.definition.waits.approval_values import MAX_PERSON_LENGTH, MAX_ROLE_LENGTH
from geneva_drive.definition.waits.form_type import FormType
from geneva_drive.display import shown
from geneva_drive.drive import audit_text
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.what_if import what_if
from geneva_drive.drive.record_field import RecordField
from geneva_drive.durations import Duration
from geneva_drive.engine.waits.approvals import decision_links, reassignment, votes
from geneva_drive.engine.waits.approvals.pending_request import By, PendingRequest, person_of
from geneva_drive.engine.waits.approvals.votes import Vote
from geneva_drive.errors import ApprovalNotFound, InvalidInput, UnknownWorkflowClass
from geneva_drive.masked_fields import mask_text
from geneva_drive.serialization import typed_json
from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema.records import AuditRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, LinkRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle

_LINK_LASTS = timedelta(hours=72)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalVote:
    """What one person wants; a later vote of the same person replaces it."""

    by: str
    choice: str
    comment: str | None
    stored_data: str | None  # typed JSON for display: masked fields are hidden
    at: datetime
    _data: str | None = field(repr=False)

    @property
    def data(self) -> dict[str, Any] | None:
        data: dict[str, Any] | None = typed_json.load(self._data)
        return data


class Approval:
    """A request for approval as it was when it was read; `reload()` reads it again.

    `by` is text if the caller has checked what the person may do, or a `gd.Actor`, whose roles are
    checked here. Each command is one transaction; if two people decide at the same time, one of
    them wins.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> class Refund(gd.Workflow):
    ...     @gd.approval(role="sales_manager", ask="Refund {context[amount]} euros?")
    ...     def manager_approval(self, decision): ...
    >>> workflow = Refund.create(context={"amount": 80})
    >>> from geneva_drive.testing import drain
    >>> _ = drain(drive)
    >>> [approval] = drive.approvals.pending(role="sales_manager")
    >>> approval.title
    'Refund 80 euros?'
    >>> approval.approve(by="ann").state
    <ApprovalState.APPROVED: 'approved'>
    """

    def __init__(
        self,
        drive: Drive,
        record: ApprovalRecord,
        link: tuple[str, LinkRecord] | None = None,
    ) -> None:
        self._drive = drive
        self._record = record
        self._link = link  # the hash of its token, and its row

    id = RecordField[Any]()
    workflow_id = RecordField[Any]()
    step_name = RecordField[str]()
    state = RecordField[ApprovalState]()
    title = RecordField[str | None]()
    role = RecordField[str | None]()
    quorum = RecordField[int]()
    reject_quorum = RecordField[int]()
    deny_self = RecordField[bool]()  # the person who started the workflow may not decide
    escalate_to = RecordField[str | None]()
    requested_at = RecordField[datetime]()
    expires_at = RecordField[datetime | None]()
    decided_at = RecordField[datetime | None]()
    decided_by = RecordField[str | None]()
    choice = RecordField[str | None]()
    comment = RecordField[str | None]()
    form = RecordField[str | None]()  # the name of the form's class

    @property
    def facts(self) -> dict[str, Any]:
        """What `show` returned when the node was reached."""
        return typed_json.load(self._record.facts) or {}

    @property
    def initial(self) -> dict[str, Any]:
        """The values with which the form begins."""
        return typed_json.load(self._record.initial) or {}

    @property
    def approvers(self) -> tuple[str, ...]:
        """The people who may decide, by name; empty if a role may."""
        return self._record.approver_list

    @property
    def choices(self) -> tuple[str, ...]:
        return self._record.choice_list

    @property
    def data(self) -> dict[str, Any] | None:
        """The data of the vote that decided."""
        data: dict[str, Any] | None = typed_json.load(self._record.data)
        return data

    @property
    def stored_facts(self) -> str | None:
        """The facts as typed JSON for display: masked fields are hidden."""
        return self._masked(self._record.facts)

    @property
    def stored_initial(self) -> str | None:
        """The initial values as typed JSON for display."""
        return self._masked(self._record.initial)

    @property
    def stored_data(self) -> str | None:
        """The data as typed JSON for display."""
        return self._masked(self._record.data)

    @property
    def masked_fields(self) -> frozenset[str]:
        """The setting `masked_fields`: what is hidden in the facts, the form and the data."""
        return self._drive.settings.masked_fields

    def _masked(self, stored: str | None) -> str | None:
        return mask_text(stored, self.masked_fields)

    @property
    def person(self) -> str | None:
        """The person of the decision link that led to this request; None without a link."""
        return None if self._link is None else self._link[1].person

    @property
    def _link_hash(self) -> str | None:
        return None if self._link is None else self._link[0]

    @property
    def votes(self) -> list[ApprovalVote]:
        """The votes that count, in their order."""
        store, key = self._drive.store, self.id
        people = store.read(
            lambda connection: store.approval_people.of_approvals(connection, [key])[key]
        )
        return [
            ApprovalVote(
                by=one.person,
                choice=one.choice,
                comment=one.comment,
                stored_data=self._masked(one.data),
                _data=one.data,
                at=one.voted_at,
            )
            for one in people
            if one.choice is not None and one.voted_at is not None
        ]

    @property
    def history(self) -> list[AuditRecord]:
        """Everything that was done or tried with the request, oldest first."""
        store = self._drive.store
        return store.read(
            lambda connection: store.audit_entries.of_approval(
                connection, self.workflow_id, self.id
            )
        )

    @property
    def workflow(self) -> WorkflowHandle[Any]:
        """The workflow that waits for the decision."""
        store, key = self._drive.store, self.workflow_id
        record = store.read(lambda connection: store.workflows.get(connection, key))
        if record is None:
            raise ApprovalNotFound(self.id)
        return self._drive.open_handle(record)

    def refusal_of(self, by: By) -> str | None:
        """Return why a person may not decide, or None if they may; nothing is recorded."""
        if not isinstance(by, str | Actor):
            raise InvalidInput(f"refusal_of() takes a name or a gd.Actor, got {shown(by)}.")
        store, key = self._drive.store, self.workflow_id
        with store.reading() as connection:
            workflow = store.workflows.get(connection, key)
            people = store.approval_people.of_approvals(connection, [self.id])[self.id]
        if workflow is None:
            raise ApprovalNotFound(self.id)
        request = PendingRequest(
            workflow=workflow,
            approval=self._record,
            people={one.person: one for one in people},
            now=self._drive.clock.now(),
        )
        return request.refusal_of(by)

    def approve(
        self,
        by: By | None = None,
        comment: str | None = None,
        data: object = None,
    ) -> Self:
        """Vote for `approve`; the vote that completes the quorum lets the workflow continue."""
        return self.decide(APPROVE, by=by, comment=comment, data=data)

    def reject(
        self,
        by: By | None = None,
        comment: str | None = None,
        data: object = None,
    ) -> Self:
        """Vote for `reject`."""
        return self.decide(REJECT, by=by, comment=comment, data=data)

    def decide(
        self,
        choice: str,
        by: By | None = None,
        comment: str | None = None,
        data: object = None,
    ) -> Self:
        """Vote for one of the choices; a later vote of the same person replaces it."""
        # Compared only as text: the equality of another type may raise anything.
        if text_fault(choice) or choice not in self.choices:
            listed = ", ".join(repr(one) for one in self.choices)
            raise InvalidInput(
                f"Approval {self.id} has no choice {shown(choice)}. Its choices are: {listed}."
            )
        vote = Vote(
            by=self._actor("decide", by),
            choice=choice,
            comment=audit_text.comment("decide", comment, self._drive.settings.max_payload_size),
            data=self._checked_data(choice, data),
            link_hash=self._link_hash,
        )
        self._record = votes.vote(self._drive.environment, self.workflow_id, self.id, vote)
        return self

    def escalate(self, to: str | None = None, by: By | None = None) -> Self:
        """Ask another role, by default `escalate_to`; earlier votes and links become invalid."""
        if to is not None:
            checks.text("escalate(to=...)", to, longest=MAX_ROLE_LENGTH)
        actor = self._actor("escalate", by)
        reassignment.escalate(
            self._drive.environment,
            self.workflow_id,
            self.id,
            to=to,
            by=actor,
            link_hash=self._link_hash,
        )
        return self.reload()

    def delegate(self, to: str, by: By | None = None) -> Self:
        """Delegate the decision of `by` to another person, whatever their roles."""
        checks.text("delegate(to=...)", to, longest=MAX_PERSON_LENGTH)
        actor = self._actor("delegate", by)
        reassignment.delegate(
            self._drive.environment,
            self.workflow_id,
            self.id,
            to=to,
            by=actor,
            link_hash=self._link_hash,
        )
        return self.reload()

    def link(self, for_: str, expires_in: Duration = _LINK_LASTS) -> str:
        """Return an address at which one person can decide this request, without a login.

        The link stops working once the request is decided, delegated, escalated or expired. It
        needs the setting `public_url`.
        """
        checks.text("link(for_=...)", for_, longest=MAX_PERSON_LENGTH)
        lasts = checks.positive_duration("link(expires_in=...)", expires_in)
        return decision_links.create(
            self._drive.environment, self.workflow_id, self.id, person=for_, expires_in=lasts
        )

    def what_if(self, reader: str | None = None) -> list[Consequence]:
        """Return the choices of a pending request, each with what it would do, and the deadline.

        The vote of `reader`, or of the link's person, is included in the counts.
        """
        person = self.person if reader is None else checks.text("what_if(reader=...)", reader)
        found = what_if(self._drive, self.workflow_id, reader=person)
        return [one for one in found if one.approval_id == self.id]

    def reload(self) -> Self:
        """Read the request again and return it."""
        store = self._drive.store
        record = store.read(lambda connection: store.approvals.get(connection, self.id))
        if record is None:
            raise ApprovalNotFound(self.id)
        self._record = record
        return self

    def _actor(self, command: str, by: object) -> By:
        actor = self._given_actor(command, by)
        # A link is for one person: trusted code that passes another name has mixed them up.
        if self.person is not None and person_of(actor) != self.person:
            raise InvalidInput(
                f"This link to approval {self.id} is for {self.person!r}, and {command}(by=...) "
                f"names {person_of(actor)!r}. Leave out by."
            )
        return actor

    def _given_actor(self, command: str, by: object) -> By:
        if isinstance(by, Actor):
            return by
        if by is None and self.person is not None:
            return self.person
        if by is None:
            raise InvalidInput(f"{command}() needs by=..., the person who does it.")
        if not isinstance(by, str):
            raise InvalidInput(f"{command}(by=...) must be text or a gd.Actor, got {shown(by)}.")
        return checks.text(f"{command}(by=...)", by, longest=MAX_PERSON_LENGTH)

    def _checked_data(self, choice: str, data: object) -> str | None:
        """Return the data as stored text; an approving choice must fit the form."""
        form = None if choice == REJECT else self._form()
        if form is not None:
            data = form.check(self.step_name, data)
        if data is None:
            return None
        if not checks.is_json_object(data):
            raise InvalidInput(
                f"decide(data=...) must be a dictionary with text as keys, got {shown(data)}."
            )
        limit = self._drive.settings.max_payload_size
        return typed_json.dump_within(
            dict(data), limit, what="The data of a decision", setting="max_payload_size"
        )

    def form_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the form; empty without one.

        Raises `NotFound` if this process has not imported the class that declares it.
        """
        form = self._form()
        return {} if form is None else form.json_schema()

    def _form(self) -> FormType | None:
        """Return the form type, which only the workflow class has; None without a form."""
        if self._record.form is None:
            return None
        workflow_type = self.workflow.type or ""
        definition = registry.definition_for(workflow_type)
        node = None if definition is None else definition.get(self.step_name)
        if node is None or not node.is_approval:
            raise UnknownWorkflowClass(workflow_type)
        return node.terms.form

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Approval) and self.id == other.id

    def __hash__(self) -> int:
        return hash(("approval", self.id))

    def __repr__(self) -> str:
        return f"<Approval {self.id} of {self.step_name!r}: {self.state}>"
