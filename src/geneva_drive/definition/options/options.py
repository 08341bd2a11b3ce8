"""The options of a node, parsed and checked when it is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from geneva_drive import checks
from geneva_drive.definition.compiler import call_signatures, dependencies
from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options import keywords, policies
from geneva_drive.definition.options.conditions import StepCondition, WorkflowCondition
from geneva_drive.definition.options.iteration import Iteration, parse_iteration
from geneva_drive.definition.options.policies import (
    DEFAULT_MAX_REATTEMPTS,
    ExceptionPolicy,
    Policy,
    Retry,
)
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError
from geneva_drive.limit import Limit, check_limit

MAX_NAME_LENGTH = 191  # MySQL can index two such columns, at four bytes a character, and a key
_MAX_PRIORITY = 2**31 - 1

_KEYWORDS: Mapping[NodeKind, Any] = {
    NodeKind.STEP: keywords.StepOptions,
    NodeKind.RESUMABLE: keywords.ResumableStepOptions,
    NodeKind.TASK: keywords.TaskOptions,
    NodeKind.DECISION: keywords.DecisionOptions,
    NodeKind.APPROVAL: keywords.ApprovalOptionsWithForm,
    NodeKind.WAIT: keywords.WaitOptions,
    NodeKind.EVENT: keywords.EventWaitOptions,
    NodeKind.CALLBACK: keywords.CallbackWaitOptions,
    NodeKind.CHILD: keywords.ChildOptions,
    NodeKind.BATCH: keywords.BatchOptions,
    NodeKind.WORKER: keywords.WorkerOptions,
    NodeKind.AGGREGATE: keywords.WorkerOptions,
    NodeKind.MAP: keywords.MapOptions,
}

_WITH_DEADLINE = (NodeKind.APPROVAL, NodeKind.EVENT, NodeKind.CALLBACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a node in their normal form."""

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
    depends_on: tuple[object, ...] = (PREVIOUS,)  # as written: names and declarations


def parse(given: Mapping[str, Any], kind: NodeKind, known: Any = None) -> Options:
    """Parse the keywords of a node; `known` is their TypedDict if it is not that of the kind."""
    refuse_unknown(given, (known or _KEYWORDS[kind]).__annotations__)
    _refuse_both(given, "before_step", "after_step")
    _refuse_both(given, "skip_if", "run_if")
    _refuse_both(given, "depends_on", "also_depends_on")
    return _read(given, kind)


def parse_of_job(given: Mapping[str, Any]) -> Options:
    """Parse the keywords of a job."""
    refuse_unknown(given, keywords.JobOptions.__annotations__)
    return _read(given, NodeKind.TASK)


def refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        close = get_close_matches(unknown[0], known, 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise StepConfigurationError(
            f"there is no option {shown(unknown[0])}.{meant} The options are: "
            f"{', '.join(sorted(known))}."
        )


def _read(given: Mapping[str, Any], kind: NodeKind) -> Options:
    if given.get("keep_result") and (given.get("partitions") or 1) != 1:
        raise StepConfigurationError(
            "keep_result needs a single body, but each partition has one. Write the results of "
            "partitions to a table of your own."
        )
    return Options(
        wait=_wait(given.get("wait")),
        condition=_condition(given),
        policies=_policies(given),
        # The timeout of an approval or event wait limits the wait, not the body.
        timeout=None if kind in _WITH_DEADLINE else _timeout(given.get("timeout")),
        before_step=given.get("before_step"),
        after_step=given.get("after_step"),
        queue=queue(given.get("queue")),
        priority=priority(given.get("priority")),
        limit=_limit(given.get("limit")),
        transaction=_flag(given, "transaction"),
        keep_result=_flag(given, "keep_result"),
        renamed_from=_former_name(given.get("renamed_from")),
        iteration=parse_iteration(given) if kind is NodeKind.RESUMABLE else None,
        depends_on=dependencies.parse(given, kind),
    )


def _refuse_both(given: Mapping[str, Any], one: str, other: str) -> None:
    if given.get(one) is not None and given.get(other) is not None:
        raise StepConfigurationError(
            f"{one} and {other} exclude each other. Leave out one of them."
        )


def queue(value: object) -> str | None:
    return None if value is None else name("queue", value)


def priority(value: object) -> int | None:
    if value is None:
        return None
    return checks.whole_number(
        "priority",
        value,
        at_least=-_MAX_PRIORITY,
        at_most=_MAX_PRIORITY,
        error=StepConfigurationError,
    )


def name(option: str, value: object) -> str:
    """Return a name that fits into its column, or raise a `StepConfigurationError`."""
    return checks.text(option, value, longest=MAX_NAME_LENGTH, error=StepConfigurationError)


def _limit(value: object) -> Limit | None:
    if value is None:
        return None
    if not isinstance(value, Limit):
        raise StepConfigurationError(f"limit takes a gd.Limit, not {shown(value)}.")
    check_limit("limit", value, error=StepConfigurationError)
    if callable(value.key):
        call_signatures.check_plain("limit: key", value.key, "self")
    return value


def _flag(given: Mapping[str, Any], option: str) -> bool:
    return checks.flag(option, given.get(option, False), error=StepConfigurationError)


def _wait(value: object) -> timedelta:
    if value is None:
        return timedelta(0)
    return checks.duration("wait", value, error=StepConfigurationError)


def _timeout(value: object) -> timedelta | None:
    if value is None:
        return None
    return checks.positive_duration("timeout", value, error=StepConfigurationError)


def _former_name(value: object) -> str | None:
    if value is None:
        return None
    return checks.text("renamed_from", value, error=StepConfigurationError)


def _condition(given: Mapping[str, Any]) -> StepCondition | None:
    for option, skips_when in (("skip_if", True), ("run_if", False)):
        if given.get(option) is not None:
            return StepCondition(WorkflowCondition(option, given[option]), skips_when)
    return None


def _policies(given: Mapping[str, Any]) -> tuple[Policy, ...]:
    on_exception, retry = given.get("on_exception"), given.get("retry")
    limits = [name for name in ("max_reattempts", "terminal_action") if name in given]
    if retry is not None:
        if not isinstance(retry, Retry):
            limit = retry if type(retry) is int and retry > 0 else 3
            raise StepConfigurationError(
                f"retry takes a gd.Retry, not {shown(retry)}: write retry=gd.Retry(max={limit})."
            )
        if on_exception is not None or limits:
            raise StepConfigurationError(
                "retry is shorthand for a whole policy: leave out on_exception, max_reattempts and "
                "terminal_action, or write a list of gd.ExceptionPolicy."
            )
        return (retry.policy,)
    if limits and on_exception != "reattempt":
        raise StepConfigurationError(
            f'{limits[0]} needs on_exception="reattempt"; for a gd.ExceptionPolicy, pass it to '
            f"the policy."
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
