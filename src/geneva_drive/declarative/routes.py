"""Where a workflow goes after a step, for the engine and for simulations alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from geneva_drive.declarative.document import Document, Place
from geneva_drive.declarative.steps import (
    ActionStep,
    ApprovalStep,
    ConditionStep,
    ForeachStep,
    ParallelStep,
    Step,
    WaitStep,
)


class Ending(StrEnum):
    """How a step ended."""

    TRUE = "true"  # a condition holds
    FALSE = "false"
    ALLOWED = "allowed"  # an action without `requires`
    BLOCKED = "blocked"
    APPROVED = "approved"  # an approval, or an action with `requires`
    REJECTED = "rejected"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"  # a wait for an event
    EXECUTED = "executed"  # execute, workflow, and a wait that is over
    PASSED = "passed"  # parallel and foreach
    NOT_PASSED = "not_passed"
    FAILED = "failed"  # it raised, and is not reattempted


class Result(StrEnum):
    """How a workflow finished."""

    ALLOWED = "allowed"
    BLOCKED = "blocked"
    EXECUTED = "executed"


@dataclass(frozen=True, slots=True)
class EndedStep:
    """A step that ended, with the comment or error of its end."""

    ending: Ending
    reason: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether a condition holds; None for other steps."""
        is_condition = self.ending in (Ending.TRUE, Ending.FALSE)
        return self.ending is Ending.TRUE if is_condition else None


@dataclass(frozen=True, slots=True)
class GoTo:
    """The step that comes next, in the same list."""

    step_id: str


@dataclass(frozen=True, slots=True)
class FinishWorkflow:
    """The workflow finishes."""

    result: Result
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EndBranch:
    """A branch of a `parallel`, or an item of a `foreach`, is over."""

    passed: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """The step failed; the exception policy of the workflow decides."""

    reason: str | None = None


Route = GoTo | FinishWorkflow | EndBranch | Fail


def route(document: Document, step_id: str, ended: EndedStep) -> Route:
    """Return where a workflow goes after this step has ended like this."""
    return route_from(document.places[step_id], ended)


def route_from(place: Place, ended: EndedStep) -> Route:
    """Return where a workflow goes after the step at this place has ended like this."""
    siblings, index, parent = place
    step = siblings[index]
    if ended.ending is Ending.FAILED or _is_unanswered(step, ended):
        return Fail(ended.reason) if parent is None else EndBranch(False, ended.reason)
    target = _target(step, ended.ending) or _following(place, ended.ending)
    if target is not None:
        return GoTo(target)
    result = _RESULTS.get(ended.ending, Result.EXECUTED)
    if isinstance(step, ApprovalStep) and ended.ending is Ending.APPROVED:
        result = Result.EXECUTED
    reason = _reason(step, ended) if result is Result.BLOCKED else None
    if parent is None:
        return FinishWorkflow(result, reason)
    if isinstance(parent, ParallelStep) and ended.ending is Ending.FALSE:
        # The condition does not hold, and names no next step.
        return EndBranch(False, ended.reason or f"The condition of {step.id!r} does not hold.")
    return EndBranch(result is not Result.BLOCKED, reason)


def first_steps(parent: ParallelStep) -> tuple[str, ...]:
    """Return the first step of each branch: the steps that no other step of the list names."""
    named = {target for step in parent.steps for target in named_targets(step)}
    return tuple(step.id for step in parent.steps if step.id not in named)


def verdict(step: ParallelStep | ForeachStep, ends: Sequence[EndBranch]) -> EndedStep:
    """Return how a `parallel` or `foreach` ends, from the ends of all branches or items."""
    refused = [end for end in ends if not end.passed]
    strategy = step.strategy if isinstance(step, ParallelStep) else "all_must_pass"
    if strategy == "any_can_pass":
        passed = len(refused) < len(ends)
    else:
        passed = strategy == "best_effort" or not refused
    if passed:
        return EndedStep(Ending.PASSED)
    return EndedStep(Ending.NOT_PASSED, next((end.reason for end in refused if end.reason), None))


def named_targets(step: Step) -> Iterator[str]:
    """Yield the steps that a step names."""
    for key in ("next", *step.targets):
        if (target := getattr(step, key)) is not None:
            yield target


def possible_endings(step: Step) -> tuple[Ending, ...]:
    """Return the endings that a step may have, apart from failures."""
    if isinstance(step, ConditionStep):
        return (Ending.TRUE, Ending.FALSE)
    if isinstance(step, ActionStep) and step.requires is None:
        return (Ending.ALLOWED if step.action == "allow" else Ending.BLOCKED,)
    if isinstance(step, ActionStep | ApprovalStep):
        return (Ending.APPROVED, Ending.REJECTED, Ending.EXPIRED)
    if isinstance(step, WaitStep) and step.event is not None:
        return (Ending.EXECUTED, Ending.TIMED_OUT)
    if isinstance(step, ParallelStep | ForeachStep):
        return (Ending.PASSED, Ending.NOT_PASSED)
    return (Ending.EXECUTED,)


def _is_unanswered(step: Step, ended: EndedStep) -> bool:
    return ended.ending is Ending.TIMED_OUT and getattr(step, "on_timeout", None) is None


# The keys that name the next step after each ending; the first one given counts.
_TARGETS: dict[Ending, tuple[str, ...]] = {
    Ending.TRUE: ("on_true", "next"),
    Ending.FALSE: ("on_false", "next"),
    Ending.ALLOWED: ("next",),
    Ending.BLOCKED: ("next",),
    Ending.APPROVED: ("on_true", "next"),
    Ending.REJECTED: ("on_false", "on_reject"),
    Ending.EXPIRED: ("on_timeout", "on_false", "on_reject"),
    Ending.TIMED_OUT: ("on_timeout",),
    Ending.EXECUTED: ("next",),
    Ending.PASSED: ("next",),
    Ending.NOT_PASSED: ("on_false",),
    Ending.FAILED: (),
}
# These end a list unless the step names a next step.
_ENDS_LIST = (
    Ending.ALLOWED,
    Ending.BLOCKED,
    Ending.REJECTED,
    Ending.EXPIRED,
    Ending.NOT_PASSED,
)
_RESULTS: dict[Ending, Result] = {
    Ending.ALLOWED: Result.ALLOWED,
    Ending.APPROVED: Result.ALLOWED,
    Ending.BLOCKED: Result.BLOCKED,
    Ending.REJECTED: Result.BLOCKED,
    Ending.EXPIRED: Result.BLOCKED,
    Ending.NOT_PASSED: Result.BLOCKED,
}


def _target(step: Step, ending: Ending) -> str | None:
    named = (getattr(step, key, None) for key in _TARGETS[ending])
    return next((target for target in named if target is not None), None)


def _following(place: Place, ending: Ending) -> str | None:
    siblings, index, parent = place
    # The next in the list of a parallel is another branch.
    if ending in _ENDS_LIST or isinstance(parent, ParallelStep) or index + 1 == len(siblings):
        return None
    return siblings[index + 1].id


def _reason(step: Step, ended: EndedStep) -> str | None:
    if ended.reason is not None:
        return ended.reason
    if ended.ending is Ending.EXPIRED:
        return f"{step.id!r} was not decided in time."
    return step.reason if isinstance(step, ActionStep) else None
