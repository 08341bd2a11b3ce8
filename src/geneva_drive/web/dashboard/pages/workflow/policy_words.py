"""What follows when a node fails, in a few words, from the policies of its definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geneva_drive.definition.options.policies import (
    ExceptionAction,
    ExceptionPolicy,
    Matching,
    Policy,
)
from geneva_drive.definition.workflow import definition_of
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.web.dashboard.shell.words import number

_MOST_CLASSES = 3
_THEN = {
    ExceptionAction.PAUSE: "pauses",
    ExceptionAction.CANCEL: "cancels the workflow",
    ExceptionAction.SKIP: "is skipped",
}


def policy_words(workflow: WorkflowHandle[Any], name: str) -> str:
    """Return such as "reattempts on ConnectionError up to 3 times, then pauses", or nothing.

    Nothing is said of a class that this process does not know, of a handler, which decides by
    itself, and of several policies, which do not fit a line.
    """
    workflow_class = workflow.workflow_class
    if workflow_class is None:
        return ""
    definition = definition_of(workflow_class)
    node = definition.get(name)
    policies: Sequence[Policy] = [*(node.options.policies if node else ()), *definition.policies]
    if len(policies) != 1 or not isinstance(policies[0], ExceptionPolicy):
        return ""
    return _words(policies[0])


def _words(policy: ExceptionPolicy) -> str:
    on = _on(policy.matching)
    if policy.action is not ExceptionAction.REATTEMPT:
        return f"{_THEN[policy.action]}{on or ' when it fails'}"
    limit = policy.max_reattempts
    if limit is None:
        return f"reattempts{on} without end"
    times = "once" if limit == 1 else f"up to {number(limit)} times"
    return f"reattempts{on} {times}, then {_THEN[policy.terminal_action]}"


def _on(matching: Matching | None) -> str:
    if matching is None:
        return ""
    if not isinstance(matching, tuple):
        return " on some errors"
    names = [one.__name__ for one in matching[:_MOST_CLASSES]]
    more = len(matching) - len(names)
    if more:
        return f" on {', '.join(names)} and {more} more"
    return f" on {' or '.join(names)}"
