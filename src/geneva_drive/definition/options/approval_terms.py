"""The options that only an approval has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from string import Formatter
from typing import Any, TypedDict, TypeVar

from geneva_drive import checks
from geneva_drive.checks import MakeError
from geneva_drive.definition import form_type
from geneva_drive.definition.compiler import call_signatures
from geneva_drive.definition.form_type import FormType
from geneva_drive.definition.nodes.declaration import Declared
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.serialization import typed_json

T = TypeVar("T")

MAX_ROLE_LENGTH = 191  # also of a choice
MAX_PERSON_LENGTH = 255
REJECT = "reject"  # the choice that rejects; every other approves

People = Sequence[str] | AbstractSet[str]
Facts = Mapping[str, Any]


class OnReject(StrEnum):
    """What follows a rejection, after the body."""

    CANCEL = "cancel"  # the workflow
    CONTINUE = "continue"  # with the nodes behind the approval
    TASK = "task"  # with `reject_task` alone


class OnTimeout(StrEnum):
    """What an approval does at its deadline."""

    REJECT = "reject"
    APPROVE = "approve"
    ESCALATE = "escalate"  # to the role `escalate_to`, with a new deadline
    PAUSE = "pause"  # the execution fails as expired
    TASK = "task"  # continue with `timeout_task` alone


class TermOptions(TypedDict, total=False):
    """The keywords of `@gd.approval` beside those of `@gd.step` and the form."""

    role: str | Callable[[Any], str] | None
    approvers: People | Callable[[Any], People] | None
    quorum: int | Callable[[Any], int]
    reject_quorum: int
    deny_self: bool
    choices: Sequence[str]
    ask: str | Callable[[Any], str] | None
    show: Facts | Callable[[Any], Facts | None] | None
    initial: Facts | Callable[[Any], Facts | None] | None
    timeout: Duration | Callable[[Any], Duration | None] | None
    on_reject: str | Declared
    on_timeout: str | Declared
    escalate_to: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTerms:
    """Who decides an approval, what they are asked, and what follows.

    A callable takes the workflow. It is called when the approval is requested.
    """

    role: str | Callable[[Any], object] | None = None
    approvers: tuple[str, ...] | Callable[[Any], object] | None = None
    quorum: int | Callable[[Any], object] = 1
    reject_quorum: int = 1
    deny_self: bool = False
    choices: tuple[str, ...] = ("approve", REJECT)
    ask: str | Callable[[Any], object] | None = None  # for str.format with hero and context
    show: dict[str, Any] | Callable[[Any], object] | None = None
    form: FormType | None = None
    initial: dict[str, Any] | Callable[[Any], object] | None = None
    timeout: timedelta | Callable[[Any], object] | None = None
    on_reject: OnReject = OnReject.CANCEL
    reject_task: str | Declared | None = None  # as written
    on_timeout: OnTimeout = OnTimeout.REJECT
    timeout_task: str | Declared | None = None  # as written
    escalate_to: str | None = None


def parse(given: Mapping[str, Any]) -> ApprovalTerms:
    """Return the terms of an approval from its keywords; keywords of steps are passed over."""
    return ApprovalTerms()
