"""Exception policies: what happens when a step raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal, Never

from geneva_drive import checks
from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.options.backoff import Backoff, exponential, linear
from geneva_drive.display import shown
from geneva_drive.durations import Duration, parse_duration
from geneva_drive.errors import StepConfigurationError

# The default for a plain on_exception="reattempt": endless reattempts would be a trap.
DEFAULT_MAX_REATTEMPTS = 100


class ExceptionAction(StrEnum):
    """What a policy does with a failed execution."""

    PAUSE = "pause"
    CANCEL = "cancel"
    SKIP = "skip"
    REATTEMPT = "reattempt"


ActionName = Literal["pause", "cancel", "skip", "reattempt"]
TerminalActionName = Literal["pause", "cancel", "skip"]
BackoffName = Literal["exponential", "linear"]
Predicate = Callable[[BaseException], bool]
Matching = type[BaseException] | Iterable[type[BaseException]] | Predicate


@dataclass(frozen=True, slots=True, init=False)
class ExceptionPolicy:
    """What happens when a step raises an exception that matches.

    `max_reattempts=N` allows N+1 runs, then applies `terminal_action`; None means no limit.

    >>> ExceptionPolicy("reattempt", matching=TimeoutError, wait=5, max_reattempts=3).action
    <ExceptionAction.REATTEMPT: 'reattempt'>
    """

    action: ExceptionAction
    matching: Matching | None
    wait: timedelta | Backoff | None
    max_reattempts: int | None
    terminal_action: ExceptionAction

    def __init__(
        self,
        action: ActionName,
        matching: Matching | None = None,
        wait: Duration | Backoff | None = None,
        max_reattempts: int | None = None,
        terminal_action: TerminalActionName = "pause",
    ) -> None:
        with code_location.ending_at_caller:
            chosen = _action(action, "on_exception", tuple(ExceptionAction))
            if chosen is not ExceptionAction.REATTEMPT and (
                wait is not None or max_reattempts is not None or terminal_action != "pause"
            ):
                raise code_location.fault(
                    f"wait, max_reattempts and terminal_action belong to a policy that "
                    f"reattempts; this one says {shown(action)}."
                )
            object.__setattr__(self, "action", chosen)
            object.__setattr__(self, "matching", _matching(matching))
            object.__setattr__(self, "wait", _wait(wait))
            object.__setattr__(self, "max_reattempts", _limit(max_reattempts))
            terminals = (ExceptionAction.PAUSE, ExceptionAction.CANCEL, ExceptionAction.SKIP)
            object.__setattr__(
                self, "terminal_action", _action(terminal_action, "terminal_action", terminals)
            )

    @property
    def is_blanket(self) -> bool:
        return self.matching is None

    def matches(self, error: BaseException) -> bool:
        match self.matching:
            case None:
                return True
            case tuple() as classes:
                return isinstance(error, classes)
            case predicate:
                return bool(predicate(error))  # type: ignore[operator]  # _matching left only predicates

    def wait_before(self, attempt: int) -> timedelta:
        """Return the wait after the failure of this attempt, counted from 1."""
        if self.wait is None:
            return timedelta(0)
        if isinstance(self.wait, timedelta):
            return self.wait
        return parse_duration(self.wait(attempt))


@dataclass(frozen=True, slots=True)
class HandlerPolicy:
    """A user's callable `(self, error)` that ends in a flow-control verb."""

    handler: Callable[[Any, BaseException], object]

    @property
    def is_blanket(self) -> bool:
        return True

    def matches(self, error: BaseException) -> bool:  # noqa: ARG002 - same shape as ExceptionPolicy
        return True


Policy = ExceptionPolicy | HandlerPolicy
PolicyOption = ActionName | ExceptionPolicy | Callable[[Any, Any], object]
OnException = PolicyOption | Iterable[PolicyOption]


@dataclass(frozen=True, slots=True, init=False)
class Retry:
    """Reattempt up to `max` times with a back-off: shorthand for a reattempt policy.

    >>> Retry(max=3, backoff="exponential").policy.max_reattempts
    3
    """

    policy: ExceptionPolicy

    def __init__(
        self,
        max: int | None = 3,
        backoff: BackoffName | timedelta | float | Backoff = "exponential",
        matching: Matching | None = None,
        terminal_action: TerminalActionName = "pause",
        **unknown: Never,
    ) -> None:
        with code_location.ending_at_caller:
            _refuse_unknown(unknown)
            policy = ExceptionPolicy("reattempt", matching, _backoff(backoff), max, terminal_action)
            object.__setattr__(self, "policy", policy)


def _refuse_unknown(given: Mapping[str, object]) -> None:
    for name in given:
        raise code_location.fault(
            f"gd.Retry has no argument {name!r}. Its arguments are max, backoff, matching and "
            f"terminal_action. backoff is the wait before a reattempt: seconds, 'exponential' or "
            f"'linear'. max counts the reattempts after the first run: max=2 means at most 3 runs."
        )


def _backoff(value: BackoffName | Duration | Backoff) -> Duration | Backoff:
    named: dict[object, Backoff] = {"exponential": exponential(), "linear": linear()}
    if not isinstance(value, str):
        return value
    if value not in named:
        raise code_location.fault(
            f"The backoff of a Retry is 'exponential', 'linear', a duration or a callable, "
            f"not {shown(value)}."
        )
    return named[value]


def parse(option: object) -> tuple[Policy, ...]:
    """Return the policies of an `on_exception` option in any of its forms."""
    if option is None:
        return ()
    if isinstance(option, ExceptionPolicy | str) or callable(option):
        return (_parse_one(option),)
    if isinstance(option, list | tuple):
        return tuple(_parse_one(item) for item in option)
    raise _no_policy(option)


def _parse_one(option: object) -> Policy:
    if isinstance(option, ExceptionPolicy):
        return option
    if isinstance(option, str):
        action = _action(option, "on_exception", tuple(ExceptionAction))
        limit = DEFAULT_MAX_REATTEMPTS if action is ExceptionAction.REATTEMPT else None
        return ExceptionPolicy(action.value, max_reattempts=limit)
    if callable(option) and not isinstance(option, type):
        call_signatures.check_plain("on_exception", option, "self", "error")
        return HandlerPolicy(option)
    raise _no_policy(option)


def _no_policy(value: object) -> StepConfigurationError:
    return code_location.fault(
        f"on_exception takes an action, a gd.ExceptionPolicy, a callable or a list of these, "
        f"not {shown(value)}."
    )


def ordered_for_class(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """Sort specific policies before blanket ones, stably.

    A subclass's policies come first in the list. Without the sort, its blanket policy would hide a
    parent's policy for a particular error.
    """
    listed = list(policies)
    return tuple(sorted(listed, key=lambda policy: policy.is_blanket))


def _action(value: object, option: str, allowed: tuple[ExceptionAction, ...]) -> ExceptionAction:
    hint = ""
    if isinstance(value, str) and value == "retry" and ExceptionAction.REATTEMPT in allowed:
        hint = (
            " To run the step again, write retry=gd.Retry(max=3) instead, or "
            "on_exception='reattempt'."
        )
    return ExceptionAction(
        checks.choice(option, value, allowed, error=code_location.fault, hint=hint)
    )


def _matching(value: object) -> tuple[type[BaseException], ...] | Predicate | None:
    if value is None:
        return None
    if isinstance(value, type):
        return _classes((value,))
    if isinstance(value, list | tuple | set | frozenset):
        return _classes(tuple(value))
    if callable(value):
        call_signatures.check_plain("matching", value, "error")
        return value
    raise code_location.fault(
        f"matching takes exception classes or a callable of the error, not {shown(value)}."
    )


def _classes(values: tuple[Any, ...]) -> tuple[type[BaseException], ...]:
    for value in values:
        if not (isinstance(value, type) and issubclass(value, BaseException)):
            raise code_location.fault(f"matching takes exception classes, not {shown(value)}.")
    if not values:
        raise code_location.fault("matching names no exception class, so it would never match.")
    return values


def _wait(value: Duration | Backoff | None) -> timedelta | Backoff | None:
    if value is None:
        return None
    if callable(value):
        call_signatures.check_plain("wait", value, "attempt")
        return value
    return checks.duration("The wait of an exception policy", value, error=code_location.fault)


def _limit(value: object) -> int | None:
    if value is None:
        return None
    return checks.whole_number(
        "max_reattempts",
        value,
        at_least=1,
        error=code_location.fault,
        hint=" Pass None for no limit; for no reattempt at all, use another action.",
    )
