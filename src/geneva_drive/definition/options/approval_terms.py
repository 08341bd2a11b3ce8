"""The options that only an approval has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypedDict, TypeVar

from geneva_drive import checks
from geneva_drive.checks import MakeError
from geneva_drive.definition.compiler import call_signatures
from geneva_drive.definition.nodes.declaration import DeclaredNode
from geneva_drive.definition.waits import approval_values, form_type
from geneva_drive.definition.waits.form_type import FormType
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.errors import StepConfigurationError

T = TypeVar("T")
E = TypeVar("E", "OnReject", "OnTimeout")

APPROVE = "approve"
REJECT = "reject"  # the choice that rejects; every other approves

People = Sequence[str] | AbstractSet[str]
Facts = Mapping[str, Any]


class OnReject(StrEnum):
    """What follows a rejection, after the body."""

    CANCEL = "cancel"  # the workflow
    CONTINUE = "continue"  # with the nodes after the approval
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
    on_reject: str | DeclaredNode
    on_timeout: str | DeclaredNode
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
    choices: tuple[str, ...] = (APPROVE, REJECT)
    ask: str | Callable[[Any], object] | None = None  # for str.format with hero and context
    show: dict[str, Any] | Callable[[Any], object] | None = None
    form: FormType | None = None
    initial: dict[str, Any] | Callable[[Any], object] | None = None
    timeout: timedelta | Callable[[Any], object] | None = None
    on_reject: OnReject = OnReject.CANCEL
    reject_task: str | DeclaredNode | None = None  # as written
    on_timeout: OnTimeout = OnTimeout.REJECT
    timeout_task: str | DeclaredNode | None = None  # as written
    escalate_to: str | None = None
    # Called before the request opens; its return value is stored with the request.
    prepare: Callable[[Any], object] | None = None


def parse(given: Mapping[str, Any]) -> ApprovalTerms:
    """Parse the keywords that only an approval has."""
    on_reject, reject_task = _effect("on_reject", given.get("on_reject", "cancel"), OnReject)
    on_timeout, timeout_task = _effect("on_timeout", given.get("on_timeout", "reject"), OnTimeout)
    terms = ApprovalTerms(
        role=_value(given, "role", approval_values.role),
        approvers=_value(given, "approvers", approval_values.people),
        quorum=_value(given, "quorum", approval_values.quorum, 1),
        reject_quorum=approval_values.quorum(
            "reject_quorum", given.get("reject_quorum", 1), error=StepConfigurationError
        ),
        deny_self=checks.flag(
            "deny_self", given.get("deny_self", False), error=StepConfigurationError
        ),
        choices=_choices(given.get("choices", (APPROVE, REJECT))),
        ask=_value(given, "ask", _format_text),
        show=_value(given, "show", approval_values.facts),
        form=form_type.parse(given.get("form")),
        initial=_value(given, "initial", approval_values.fields),
        timeout=_value(given, "timeout", approval_values.timeout),
        on_reject=on_reject,
        reject_task=reject_task,
        on_timeout=on_timeout,
        timeout_task=timeout_task,
        escalate_to=_escalate_to(given.get("escalate_to")),
    )
    _check_together(terms)
    return terms


def _value(
    given: Mapping[str, Any], option: str, check: Callable[..., T], default: T | None = None
) -> Any:
    """Return a checked value, or a callable of the workflow that returns one."""
    value = given.get(option, default)
    if value is None and default is None:
        return None
    if callable(value) and not isinstance(value, type):
        call_signatures.check_plain(option, value, "self")
        return value
    return check(option, value, error=StepConfigurationError)


def _escalate_to(value: object) -> str | None:
    if value is None:
        return None
    return approval_values.role("escalate_to", value, error=StepConfigurationError)


def _choices(value: object) -> tuple[str, ...]:
    choices = approval_values.texts(
        "choices", value, longest=approval_values.MAX_ROLE_LENGTH, error=StepConfigurationError
    )
    if all(choice == REJECT for choice in choices):
        raise StepConfigurationError(
            f"choices has no word that approves: {shown(value)}. Every word except "
            f"{REJECT!r} approves: add one, such as 'approve'."
        )
    return choices


def _effect(option: str, value: object, kind: type[E]) -> tuple[E, str | DeclaredNode | None]:
    """Return the effect, and the task if the value names one."""
    if isinstance(value, str) and value in words_of(kind):
        return kind(value), None
    if isinstance(value, DeclaredNode) or (isinstance(value, str) and value):
        return kind.TASK, value
    raise StepConfigurationError(f"{option} takes {listed(kind)}, not {shown(value)}.")


def words_of(kind: type[OnReject] | type[OnTimeout]) -> list[str]:
    """Return the words that an option accepts beside the names of tasks."""
    return [word.value for word in kind if word is not kind.TASK]


def listed(kind: type[OnReject] | type[OnTimeout]) -> str:
    """Return a list of the values that an option accepts."""
    return f"{', '.join(map(repr, words_of(kind)))} or a task that depends on the approval"


class _Anything:
    """A hero or context for testing a format: it has every attribute and item."""

    __slots__ = ()

    def __getattr__(self, name: str) -> _Anything:
        return self

    def __getitem__(self, key: object) -> _Anything:
        return self

    def __format__(self, spec: str) -> str:
        return ""


def _format_text(option: str, value: object, *, error: MakeError) -> str:
    text = checks.text(option, value, error=error)
    only = "can only refer to hero and context, as in {hero.total} or {context[total]}"
    braces = "For braces in the text, write {{ and }}."
    try:
        text.format(hero=_Anything(), context=_Anything())
    except KeyError as unknown:
        raise error(f"{option} refers to {unknown}, and {only}. {braces}") from None
    except IndexError:
        raise error(
            f"{option} has braces that are empty or numbered, and {only}. {braces}"
        ) from None
    except (ValueError, TypeError) as fault:
        raise error(f"{option} is not text for str.format: {fault}. {braces}") from None
    return text


def _check_together(terms: ApprovalTerms) -> None:
    if terms.role is None and terms.approvers is None:
        raise StepConfigurationError(
            "it needs role or approvers, which say who decides. Write "
            '@gd.approval(role="manager") or @gd.approval(approvers=["ann@example.org"]).'
        )
    if terms.role is not None and terms.approvers is not None:
        raise StepConfigurationError(
            "role and approvers exclude each other. Leave out one of them."
        )
    if isinstance(terms.approvers, tuple) and isinstance(terms.quorum, int):
        approval_values.check_enough(
            terms.approvers, terms.quorum, terms.reject_quorum, error=StepConfigurationError
        )
    if terms.initial is not None and terms.form is None:
        raise StepConfigurationError(
            "initial needs form, whose fields it fills in. Pass a dataclass or pydantic model "
            "as form."
        )
    _check_deadline(terms)


def _check_deadline(terms: ApprovalTerms) -> None:
    if terms.on_timeout is OnTimeout.ESCALATE and terms.escalate_to is None:
        raise StepConfigurationError(
            "on_timeout='escalate' needs escalate_to, the role that decides after the deadline."
        )
    if terms.on_timeout is not OnTimeout.REJECT and terms.timeout is None:
        written = terms.timeout_task or str(terms.on_timeout)
        raise StepConfigurationError(
            f"on_timeout={shown(written)} needs timeout: without a deadline it never happens."
        )
