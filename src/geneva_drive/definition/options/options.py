"""The options of a step, read and checked where they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from geneva_drive import limit as limits
from geneva_drive.definition.compiler import call_signatures, dependencies
from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options import iteration as iterating
from geneva_drive.definition.options import keywords, policies
from geneva_drive.definition.options.conditions import Condition, StepCondition
from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.definition.options.policies import (
    DEFAULT_MAX_REATTEMPTS,
    ExceptionPolicy,
    Policy,
    Retry,
)
from geneva_drive.durations import parse_duration
from geneva_drive.errors import StepConfigurationError
from geneva_drive.limit import Limit

MAX_NAME_LENGTH = 191  # what MySQL can index four bytes a character, twice over, beside a key


_KEYWORDS: Mapping[NodeKind, Any] = {
    NodeKind.STEP: keywords.StepOptions,
    NodeKind.RESUMABLE: keywords.ResumableStepOptions,
    NodeKind.TASK: keywords.TaskOptions,
    NodeKind.DECISION: keywords.DecisionOptions,
    NodeKind.CHILD: keywords.ChildOptions,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A step's options in their normal form."""

    wait: timedelta = timedelta(0)
    condition: StepCondition | None = None
    policies: tuple[Policy, ...] = ()
    timeout: timedelta | None = None
    before_step: object = None
    after_step: object = None
    queue: str | None = None
    priority: int | None = None
    limit: Limit | None = None
    transaction: bool = False
    keep_result: bool = False
    renamed_from: str | None = None
    iteration: Iteration | None = None  # of a resumable step
    depends_on: tuple[object, ...] = (PREVIOUS,)  # as written: names and what was decorated


def parse(given: Mapping[str, Any], kind: NodeKind) -> Options:
    """Read the keywords of a node."""
    _refuse_unknown(given, _KEYWORDS[kind].__annotations__)
    _refuse_both(given, "before_step", "after_step")
    _refuse_both(given, "skip_if", "run_if")
    _refuse_both(given, "depends_on", "also_depends_on")
    return _read(given, kind)


def parse_of_job(given: Mapping[str, Any]) -> Options:
    """Read the keywords that a job has wherever it is used."""
    _refuse_unknown(given, keywords.JobOptions.__annotations__)
    return _read(given, NodeKind.TASK)


def _refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        close = get_close_matches(unknown[0], known, 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise StepConfigurationError(
            f"there is no option {unknown[0]!r}.{meant} The options are: "
            f"{', '.join(sorted(known))}."
        )


def _read(given: Mapping[str, Any], kind: NodeKind) -> Options:
    if given.get("keep_result") and (given.get("partitions") or 1) != 1:
        raise StepConfigurationError(
            "keep_result goes with one body, and partitions have as many as there are of them. "
            "Let them write what they find to a table of yours."
        )
    return Options(
        wait=_duration(given, "wait") or timedelta(0),
        condition=_condition(given),
        policies=_policies(given),
        timeout=_timeout(given),
        before_step=given.get("before_step"),
        after_step=given.get("after_step"),
        queue=queue(given.get("queue")),
        priority=priority(given.get("priority")),
        limit=_limit(given.get("limit")),
        transaction=_flag(given, "transaction"),
        keep_result=_flag(given, "keep_result"),
        renamed_from=_former_name(given.get("renamed_from")),
        iteration=iterating.parse(given) if kind is NodeKind.RESUMABLE else None,
        depends_on=dependencies.parse(given, kind),
    )


def _refuse_both(given: Mapping[str, Any], one: str, other: str) -> None:
    if given.get(one) is not None and given.get(other) is not None:
        raise StepConfigurationError(
            f"{one} and {other} exclude each other. Leave out one of them."
        )


def queue(value: object) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH):
        return value
    raise StepConfigurationError(
        f"A queue is named by text of 1 to {MAX_NAME_LENGTH} characters, not {value!r}."
    )


def priority(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31:
        return value
    raise StepConfigurationError(f"A priority is a whole number of 32 bits, not {value!r}.")


def _limit(value: object) -> Limit | None:
    if value is None:
        return None
    if not isinstance(value, Limit):
        raise StepConfigurationError(f"limit takes a gd.Limit, not {value!r}.")
    try:
        limits.check(value)
    except ValueError as error:
        raise StepConfigurationError(f"limit: {error}.") from None
    if callable(value.key):
        call_signatures.check_plain("limit: key", value.key, "self")
    return value


def _flag(given: Mapping[str, Any], option: str) -> bool:
    value = given.get(option, False)
    if not isinstance(value, bool):
        raise StepConfigurationError(f"{option} is True or False, not {value!r}.")
    return value


def _duration(given: Mapping[str, Any], option: str) -> timedelta | None:
    value = given.get(option)
    if value is None:
        return None
    try:
        return parse_duration(value)
    except ValueError as error:
        raise StepConfigurationError(f"{option}: {error}.") from None


def _timeout(given: Mapping[str, Any]) -> timedelta | None:
    timeout = _duration(given, "timeout")
    if timeout == timedelta(0):
        raise StepConfigurationError(f"timeout: {given['timeout']!r} is not longer than zero.")
    return timeout


def _former_name(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise StepConfigurationError(f"renamed_from is the step's former name, not {value!r}.")


def _condition(given: Mapping[str, Any]) -> StepCondition | None:
    for option, skips_when in (("skip_if", True), ("run_if", False)):
        if given.get(option) is not None:
            return StepCondition(Condition(option, given[option]), skips_when)
    return None


def _policies(given: Mapping[str, Any]) -> tuple[Policy, ...]:
    on_exception, retry = given.get("on_exception"), given.get("retry")
    limits = [name for name in ("max_reattempts", "terminal_action") if name in given]
    if retry is not None:
        if not isinstance(retry, Retry):
            raise StepConfigurationError(f"retry takes a gd.Retry, not {retry!r}.")
        if on_exception is not None or limits:
            raise StepConfigurationError(
                "retry is short for a whole policy: leave out on_exception, max_reattempts and "
                "terminal_action, or write a list of gd.ExceptionPolicy."
            )
        return (retry.policy,)
    if limits and on_exception != "reattempt":
        raise StepConfigurationError(
            f'{limits[0]} goes with on_exception="reattempt"; in a gd.ExceptionPolicy it is an '
            f"argument of its own."
        )
    if limits:
        return (
            ExceptionPolicy(
                "reattempt",
                max_reattempts=given.get("max_reattempts", DEFAULT_MAX_REATTEMPTS),
                terminal_action=given.get("terminal_action", "pause"),
            ),
        )
    return policies.parse(on_exception)
