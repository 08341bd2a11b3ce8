"""Run the actions of a step."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, assert_never

from geneva_drive.declarative.action_types import (
    AnyAction,
    NotifyAction,
    RegisteredAction,
    SetAction,
    WebhookAction,
)
from geneva_drive.declarative.actions import registry
from geneva_drive.declarative.actions.changes import ContextChange, apply_changes
from geneva_drive.declarative.actions.webhook import WebhookRequest, send
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.expressions import compile_set_path
from geneva_drive.declarative.steps import (
    ActionStep,
    ExecuteStep,
    ForeachStep,
    ParallelStep,
    Step,
)
from geneva_drive.declarative.templates import render
from geneva_drive.errors import Fault

logger = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTerms:
    """The ids, settings and clock that actions need besides their document."""

    message_id: str  # prefix of the ids of webhooks; the same for every attempt
    webhook_secret: str | None = None
    webhook_allowed_hosts: Collection[str] = ()
    now: Callable[[], datetime] = _now


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """The effect of one action, for the metadata of the execution."""

    type: str
    values: Mapping[str, Any]  # the keys of the action, templates replaced
    detail: str | None = None
    error: str | None = None  # of an optional action that failed
    result: Any = None  # of a registered action

    def stored(self) -> dict[str, Any]:
        """Return the values to store, without bodies and headers: they may contain secrets."""
        kept = {"type": self.type, "detail": self.detail, "error": self.error}
        return {key: value for key, value in kept.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Executed:
    """The effects of the actions of a step."""

    changes: tuple[ContextChange, ...] = ()
    records: tuple[ActionRecord, ...] = field(default=())


def execute(actions: Sequence[AnyAction], scope: Mapping[str, Any], terms: ActionTerms) -> Executed:
    """Run actions one after the other; each sees the changes of the actions before it.

    An action that fails raises, unless it is optional: then its record has the error.
    """
    changes: list[ContextChange] = []
    records: list[ActionRecord] = []
    for number, action in enumerate(actions, start=1):
        here = apply_changes(scope, changes)
        try:
            record, change = _run(action, here, terms, number)
        except Exception as error:
            # An action may be a function of the user's, which may raise anything.
            if not action.optional:
                raise
            logger.warning("The optional action %r failed: %s", action.type, error)
            records.append(ActionRecord(action.type, {}, error=f"{type(error).__name__}: {error}"))
        else:
            records.append(record)
            changes += change
    return Executed(tuple(changes), tuple(records))


def _run(
    action: AnyAction, scope: Mapping[str, Any], terms: ActionTerms, number: int
) -> tuple[ActionRecord, list[ContextChange]]:
    values = rendered(action, scope)
    if isinstance(action, SetAction):
        change = ContextChange(compile_set_path(action.path), values["value"])
        apply_changes(scope, [change])  # fails here, where `optional` is handled
        return ActionRecord(action.type, values, f"set {action.path}"), [change]
    if isinstance(action, NotifyAction):
        return ActionRecord(action.type, values, _notify(values)), []
    if isinstance(action, WebhookAction):
        request = WebhookRequest(message_id=f"{terms.message_id}_{number}", **values)
        status = send(
            request,
            secret=terms.webhook_secret,
            allowed_hosts=terms.webhook_allowed_hosts,
            now=terms.now(),
        )
        return ActionRecord(action.type, values, f"{action.method} answered {status}"), []
    if isinstance(action, RegisteredAction):
        function = registry.require_action(action.type)
        result = function(copy.deepcopy(dict(scope)), **values)
        return ActionRecord(action.type, values, result=result), []
    assert_never(action)


def rendered(action: AnyAction, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an action with their templates replaced."""
    if isinstance(action, SetAction):
        return {"value": copy.deepcopy(render(action.value, scope))}
    if isinstance(action, NotifyAction):
        return {
            "recipients": _flat([render(each, scope) for each in action.recipients]),
            "message": str(render(action.message, scope)),
        }
    if isinstance(action, WebhookAction):
        return {
            "url": str(render(action.url, scope)),
            "method": action.method,
            "body": render(action.body, scope),
            "headers": {key: str(render(value, scope)) for key, value in action.headers.items()},
        }
    if isinstance(action, RegisteredAction):
        return {key: render(value, scope) for key, value in action.params.items()}
    assert_never(action)


def load_context(document: Document, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context with what the loaders of a document return, in their order."""
    loaded = dict(context)
    for name in document.context.load:
        loaded[name] = registry.require_loader(name)(copy.deepcopy(loaded))
    return loaded


def needed(document: Document) -> set[str]:
    """Return the actions and loaders that a document calls, named as by `registry.registered`."""
    names = {f"loader {name}" for name in document.context.load}
    for step in document.all_steps():
        for action in getattr(step, "execute", ()):
            if action.type not in registry.BUILT_IN:
                names.add(f"action {action.type}")
    return names


def unregistered(document: Document) -> list[Fault]:
    """Return a warning for each action and loader that this process does not know."""
    found = [
        Fault(f"$.context.load[{index}]", f"no loader {name!r} is registered")
        for index, name in enumerate(document.context.load)
        if not registry.has_loader(name)
    ]
    return found + list(_unregistered_actions(document.steps, "$.steps"))


def _unregistered_actions(steps: Sequence[Step], path: str) -> Iterator[Fault]:
    for number, step in enumerate(steps):
        here = f"{path}[{number}]"
        if isinstance(step, ParallelStep | ForeachStep):
            yield from _unregistered_actions(step.steps, f"{here}.steps")
        if isinstance(step, ActionStep | ExecuteStep):
            for index, action in enumerate(step.execute):
                if not registry.has_action(action.type):
                    message = f"no action {action.type!r} is registered"
                    yield Fault(f"{here}.execute[{index}].type", message)


def _flat(recipients: list[Any]) -> list[str]:
    """Return recipients as texts; a template may have found a list of them."""
    return [
        str(one)
        for each in recipients
        for one in (each if isinstance(each, list | tuple) else [each])
    ]


def _notify(values: Mapping[str, Any]) -> str:
    recipients, message = values["recipients"], values["message"]
    notifiers = registry.notifiers()
    for notifier in notifiers:
        notifier(list(recipients), message)
    if notifiers:
        return f"notified {', '.join(recipients)}"
    logger.info("No notifier is registered. To %s: %s", ", ".join(recipients), message)
    return f"to {', '.join(recipients)}: {message} (no notifier is registered)"
