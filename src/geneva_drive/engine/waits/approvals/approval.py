"""Requests for approval: opened when a node is reached, and the decision for its body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.nodes.approval import branches
from geneva_drive.definition.options.approval_terms import ApprovalTerms, OnReject, OnTimeout
from geneva_drive.definition.waits import approval_values
from geneva_drive.definition.waits.approval_decision import ApprovalDecision
from geneva_drive.definition.waits.approval_values import MAX_PERSON_LENGTH
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import AfterDecision, Decided
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, wait_of
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json
from geneva_drive.states import ApprovalState, Outcome
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord

T = TypeVar("T")

_DECIDED = (ApprovalState.APPROVED, ApprovalState.REJECTED, ApprovalState.EXPIRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApproval:
    """A request to open, with its terms as evaluated when the node was reached."""

    workflow_id: Key
    execution_id: Key
    step_name: str
    title: str | None
    facts: str | None
    initial: str | None
    form: str | None
    role: str | None
    approvers: tuple[str, ...]
    choices: tuple[str, ...]
    quorum: int
    reject_quorum: int
    deny_self: bool
    timeout: timedelta | None
    escalates_on_timeout: bool
    escalate_to: str | None


def plan(
    environment: Environment,
    execution: ExecutionRecord,
    terms: ApprovalTerms,
    instance: Workflow[Any, Any],
) -> NewApproval:
    """Return the request to open; terms may be callables, which is user code."""
    limit = environment.settings.max_payload_size
    people = _given("approvers", terms.approvers, instance, approval_values.people)
    quorum = approval_values.quorum("quorum", _value(terms.quorum, instance))
    if people is not None:
        approval_values.check_enough(people, quorum, terms.reject_quorum)
    facts = _given("show", terms.show, instance, approval_values.facts)
    initial = _given("initial", terms.initial, instance, approval_values.fields)
    return NewApproval(
        workflow_id=execution.workflow_id,
        execution_id=execution.id,
        step_name=execution.step_name,
        title=_title(terms, instance, limit),
        facts=_dump("What show returned", facts, limit),
        initial=_dump("What initial returned", initial, limit),
        form=None if terms.form is None else terms.form.name[:MAX_PERSON_LENGTH],
        role=_given("role", terms.role, instance, approval_values.role),
        approvers=people or (),
        choices=terms.choices,
        quorum=quorum,
        reject_quorum=terms.reject_quorum,
        deny_self=terms.deny_self,
        timeout=_given("timeout", terms.timeout, instance, approval_values.timeout),
        escalates_on_timeout=terms.on_timeout is OnTimeout.ESCALATE,
        escalate_to=terms.escalate_to,
    )


def _value(term: Any, instance: Workflow[Any, Any]) -> Any:
    return term(instance) if callable(term) else term


def _given(
    option: str, term: Any, instance: Workflow[Any, Any], check: Callable[[str, object], T]
) -> T | None:
    """Return the checked value of a term; None if it is not given, or None and optional."""
    value = _value(term, instance)
    is_optional = option not in ("role", "approvers")
    return None if term is None or (value is None and is_optional) else check(option, value)


def _dump(what: str, values: dict[str, Any] | None, limit: int) -> str | None:
    if values is None:
        return None
    return typed_json.dump_within(values, limit, what=what, setting="max_payload_size")


def _title(terms: ApprovalTerms, instance: Workflow[Any, Any], limit: int) -> str | None:
    ask = terms.ask
    if ask is None:
        return None
    title = ask(instance) if callable(ask) else ask.format_map(_Names(instance))
    if not isinstance(title, str):
        raise InvalidInput(f"ask must return text, got {shown(title)}.")
    if len(title) > limit:
        raise InvalidInput(f"ask must be at most {limit:,} characters long, got {len(title):,}.")
    return title


class _Names(dict[str, Any]):
    """The names that `ask` can use. The hero is loaded only if `ask` uses it."""

    def __init__(self, instance: Workflow[Any, Any]) -> None:
        super().__init__()
        self._instance = instance

    def __missing__(self, name: str) -> Any:
        return self._instance.hero if name == "hero" else self._instance.context


def open_request(
    connection: Connection, environment: Environment, new: NewApproval
) -> ApprovalRecord:
    """Insert the request; the caller makes its execution wait in the same transaction."""
    store = environment.store
    # The foreign key of the insert takes a shared lock on the workflow's row. Two transactions that
    # hold it and then want an exclusive lock would deadlock, so take the exclusive lock first.
    store.workflows.lock(connection, [new.workflow_id])
    now = environment.clock.now()
    deadline = None if new.timeout is None else now + new.timeout
    key = store.approvals.insert(
        connection,
        {
            "workflow_id": new.workflow_id,
            "execution_id": new.execution_id,
            "step_name": new.step_name,
            "state": ApprovalState.PENDING,
            "title": new.title,
            "facts": new.facts,
            "initial": new.initial,
            "form": new.form,
            "role": new.role,
            "approvers": typed_json.dump(list(new.approvers)) if new.approvers else None,
            "choices": typed_json.dump(list(new.choices)),
            "quorum": new.quorum,
            "reject_quorum": new.reject_quorum,
            "deny_self": new.deny_self,
            "timeout_seconds": None if new.timeout is None else new.timeout.total_seconds(),
            "escalates_on_timeout": new.escalates_on_timeout,
            "escalate_to": new.escalate_to,
            "escalation_count": 0,
            "requested_at": now,
            "expires_at": deadline,
            "wakes_at": deadline,
        },
    )
    store.approval_people.assign(connection, key, new.approvers)
    opened = store.approvals.get(connection, key)
    assert opened is not None, "it was just inserted"
    return opened


def decided_request(environment: Environment, execution: ExecutionRecord) -> ApprovalRecord | None:
    """Return the decided request of an execution, its own or that of an earlier attempt.

    None if a person has yet to be asked: the node was just reached or rewound, or its request was
    canceled by a command that now returns to the node.
    """
    wait = wait_of(execution)
    if not isinstance(wait, ApprovalWait):
        return None
    store = environment.store
    # A step waits while the database is unavailable.
    found = store.database.patiently(
        lambda: store.read_at_once(
            lambda connection: store.approvals.get(connection, wait.approval_id)
        )
    )
    return found if found is not None and found.state in _DECIDED else None


def decision_of(request: ApprovalRecord, terms: ApprovalTerms) -> ApprovalDecision[Any]:
    """Return the decision for the body, with its data as an instance of the form."""
    is_expired = request.state is ApprovalState.EXPIRED
    is_approved = request.state is ApprovalState.APPROVED
    if is_expired:
        is_approved = terms.on_timeout is OnTimeout.APPROVE
    return ApprovalDecision.read(
        {
            "approved": is_approved,
            "choice": request.choice,
            "by": request.decided_by,
            "comment": request.comment,
            "data": typed_json.load(request.data),
            "expired": is_expired,
        },
        terms.form,
        request.step_name,
    )


def outcome_of(decision: ApprovalDecision[Any], definition: Definition, node: Node) -> Decided:
    """Return the outcome of an approval whose body has returned."""
    terms = node.terms
    outcome = Outcome.APPROVED if decision.approved else Outcome.REJECTED
    return Decided(
        outcome=Outcome.EXPIRED if decision.expired else outcome,
        then=_then(decision, terms),
        result=typed_json.dump(decision.stored()),
        chosen=branches(definition, node, rejected=not decision.approved, expired=decision.expired),
    )


def _then(decision: ApprovalDecision[Any], terms: ApprovalTerms) -> AfterDecision:
    if decision.approved:
        return AfterDecision.CONTINUE
    if decision.expired and terms.on_timeout is OnTimeout.PAUSE:
        return AfterDecision.PAUSE
    if decision.expired and terms.on_timeout is OnTimeout.TASK:
        return AfterDecision.CONTINUE
    is_cancel = terms.on_reject is OnReject.CANCEL
    return AfterDecision.CANCEL if is_cancel else AfterDecision.CONTINUE
