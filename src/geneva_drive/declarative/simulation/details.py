"""What a step did in a simulation, or would do, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, assert_never

from geneva_drive.declarative.action_types import (
    AnyAction,
    NotifyAction,
    RegisteredAction,
    SetAction,
    WebhookAction,
)
from geneva_drive.declarative.condition import Condition
from geneva_drive.declarative.expressions import search

_LONGEST = 60  # of a value


def of_action(action: AnyAction, values: Mapping[str, Any]) -> str:
    """Return what an action does with these values, its templates replaced."""
    match action:
        case SetAction():
            return f"set {action.path} = {_json(values['value'])}"
        case NotifyAction():
            return f"would notify {', '.join(values['recipients'])}: {values['message']}"
        case WebhookAction():
            return f"would {values['method']} {values['url']}"
        case RegisteredAction():
            arguments = ", ".join(f"{key}={_json(value)}" for key, value in values.items())
            return f"would call {action.type}({arguments})"
        case _:
            assert_never(action)


def of_condition(condition: Condition, scope: Mapping[str, Any]) -> list[str]:
    """Return the value that a plain comparison found; nothing for combined conditions."""
    if condition.field is None or condition.all_of or condition.any_of or condition.none_of:
        return []
    return [f"{condition.field} is {_json(search(condition.field, scope))}"]


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
