"""The context and the result of a workflow, as rows of names and values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.web.dashboard.shell.words import cut, plural

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Fact:
    """A key with its value: short enough for a line, and whole behind a fold."""

    name: str
    short: str
    whole: str | None = None


def facts_of(workflow: WorkflowHandle[Any]) -> tuple[Fact, ...]:
    """Return the hero and each key of the context; masked fields are hidden already."""
    hero: tuple[Fact, ...] = ()
    if workflow.hero_type is not None:
        hero = (Fact("hero", f"{workflow.hero_type} {workflow.hero_id}"),)
    context = json.loads(workflow.stored_context)
    return (*hero, *(fact(name, value) for name, value in context.items()))


def result_of(workflow: WorkflowHandle[Any]) -> Fact | None:
    stored = workflow.stored_result
    return None if stored is None else fact("result", json.loads(stored))


def fact(name: str, value: Any) -> Fact:
    value = _plain(value)
    if isinstance(value, str):
        is_long = len(value) > _LONGEST or "\n" in value
        return Fact(name, cut(value.partition("\n")[0], _LONGEST), value if is_long else None)
    if isinstance(value, list | dict) and value:
        noun = "item" if isinstance(value, list) else "key"
        return Fact(name, plural(len(value), noun), json.dumps(value, indent=2, ensure_ascii=False))
    return Fact(name, json.dumps(value, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Return a decimal number, date, UUID or the like as its text, without its stored type."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {"$type", "value"}:
        return {name: _plain(one) for name, one in value.items()}
    kind, inner = value["$type"], value["value"]
    # [text, fold, zone]: the text is enough for people.
    is_listed = kind in ("datetime", "time") and isinstance(inner, list)
    return inner[0] if is_listed else _plain(inner)
