"""Turn an exception or a flow-control verb into an outcome, by the exception policies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from geneva_drive.definition import flow_control
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.flow_control import FlowControl
from geneva_drive.definition.options.policies import (
    ExceptionAction,
    ExceptionPolicy,
    HandlerPolicy,
    Policy,
)
from geneva_drive.definition.workflow import Workflow
from geneva_drive.durations import parse_duration
from geneva_drive.engine.execution import lost_attribute
from geneva_drive.engine.transitions.outcome import (
    Canceled,
    ErrorDetails,
    Finished,
    Paused,
    Raised,
    Reaction,
    Reattempted,
    Skipped,
    StepOutcome,
    Suspended,
)
from geneva_drive.errors import PermanentError, RetryableError
from geneva_drive.states import Interruption, Outcome
from geneva_drive.storage.connections.database_wait import TroubleLasts
from geneva_drive.storage.schema.records import ExecutionRecord

_PAUSE = Reaction(action=ExceptionAction.PAUSE)


def react(
    error: BaseException,
    *,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
    execution: ExecutionRecord,
    timed_out: bool = False,
) -> StepOutcome:
    """Return the outcome of a step that raised, by the first policy that matches."""
    lost_attribute.explain(error, definition, node, instance)
    details = ErrorDetails.of(error)
    try:
        for key, policy in _policies(definition, node):
            if policy.matches(error):
                return _apply_policy(policy, key, error, details, instance, execution, timed_out)
    except FlowControl as signal:
        return of_signal(signal, details)
    except (KeyboardInterrupt, SystemExit, TroubleLasts):
        raise
    except BaseException as failure:  # noqa: BLE001 - matchers, waits and handlers are user code too
        # Applying a policy to its own failure could repeat forever: pause instead.
        failure.__context__ = failure.__context__ or error
        return Raised(ErrorDetails.of(failure), _PAUSE)
    return Raised(details, _PAUSE, timed_out)


def of_signal(signal: FlowControl, error: ErrorDetails | None = None) -> StepOutcome:
    match signal:
        case flow_control.Cancel():
            return Canceled(Outcome.CANCELED_BY_FLOW_CONTROL, error)
        case flow_control.Pause(reason=reason):
            return Paused(reason, error)
        case flow_control.Skip():
            return Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL, error)
        case flow_control.Finish(result=result):
            return Finished(error, result)
        case flow_control.Reattempt(wait=wait, rewind=rewind):
            return Reattempted(wait or timedelta(0), error, rewind)
        case flow_control.Suspend(wait=wait):
            return Suspended(Interruption.SUSPEND, wait or timedelta(0))
        case _:
            raise AssertionError(f"{signal!r} is not a flow-control verb")


def _policies(definition: Definition, node: Node) -> Iterator[tuple[str, Policy]]:
    for number, policy in enumerate(node.options.policies):
        yield f"step.{number}", policy
    for number, policy in enumerate(definition.policies):
        yield f"class.{number}", policy


def _apply_policy(
    policy: Policy,
    key: str,
    error: BaseException,
    details: ErrorDetails,
    instance: Workflow[Any, Any],
    execution: ExecutionRecord,
    timed_out: bool,
) -> StepOutcome:
    if isinstance(policy, HandlerPolicy):
        policy.handler(instance, error)
        return Raised(details, _PAUSE, timed_out)
    return Raised(details, _reaction(policy, key, error, execution), timed_out)


def _reaction(
    policy: ExceptionPolicy, key: str, error: BaseException, execution: ExecutionRecord
) -> Reaction:
    if policy.action is not ExceptionAction.REATTEMPT:
        return Reaction(action=policy.action)
    if isinstance(error, PermanentError):
        return Reaction(action=policy.terminal_action)
    if isinstance(error, RetryableError) and error.retry_after is not None:
        wait = parse_duration(error.retry_after)
    else:
        wait = policy.wait_before(execution.failure_counts.get(key, 0) + 1)
    return Reaction(
        action=ExceptionAction.REATTEMPT,
        wait=wait,
        policy=key,
        limit=policy.max_reattempts,
        terminal_action=policy.terminal_action,
    )
