"""The records of approvals, their people and links, and of resume requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping

from geneva_drive.serialization import typed_json
from geneva_drive.states import ApprovalState, ResumeTrigger
from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    """A row of `approvals`; facts, initial values, approvers, choices and data are typed JSON."""

    id: Key
    workflow_id: Key
    execution_id: Key
    step_name: str
    state: ApprovalState
    title: str | None
    facts: str | None
    initial: str | None
    form: str | None
    role: str | None
    approvers: str | None
    choices: str
    quorum: int
    reject_quorum: int
    deny_self: bool
    timeout_seconds: float | None
    escalates_on_timeout: bool
    escalate_to: str | None
    escalation_count: int
    requested_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None
    decided_by: str | None
    choice: str | None
    comment: str | None
    data: str | None

    @classmethod
    def of(cls, row: RowMapping) -> ApprovalRecord:
        return cls.read([row[name] for name in cls.__slots__])

    @classmethod
    def read(cls, values: Sequence[Any]) -> ApprovalRecord:
        """Return the record for values in the order of its fields."""
        named = dict(zip(cls.__slots__, values, strict=True))
        return cls(**{**named, "state": ApprovalState(named["state"])})

    @property
    def is_pending(self) -> bool:
        return self.state is ApprovalState.PENDING

    @property
    def choice_list(self) -> tuple[str, ...]:
        return tuple(typed_json.load(self.choices))

    @property
    def approver_list(self) -> tuple[str, ...]:
        return tuple(typed_json.load(self.approvers) or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """A row of `approval_people`: the part and the vote of one person in a request."""

    person: str
    is_assigned: bool | None  # True: named or delegated to; False: has delegated; None: by role
    choice: str | None
    comment: str | None
    data: str | None
    voted_at: datetime | None

    @classmethod
    def read(cls, values: Sequence[Any]) -> PersonRecord:
        """Return the record for values in the order of its fields."""
        return cls(**dict(zip(cls.__slots__, values, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRecord:
    """A row of `approval_links`."""

    id: Key
    approval_id: Key
    person: str
    expires_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequestRecord:
    """A row of `resume_requests`: what made a paused workflow continue, and when."""

    trigger: ResumeTrigger
    trigger_id: str | None  # the approval, event or actor
    actor: str | None
    stored_data: str | None  # typed JSON, readable even if this process lacks its types
    requested_at: datetime
    executed_at: datetime | None
    error: str | None

    @property
    def data(self) -> dict[str, Any] | None:
        data: dict[str, Any] | None = typed_json.load(self.stored_data)
        return data
