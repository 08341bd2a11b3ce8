"""The context and the result of a workflow, as rows of names and values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition.workflow import definition_of
from geneva_drive.drive.bulk.progress import BulkProgress
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.web.dashboard.shell.words import cut, number, plural, state_word

_LONGEST = 120
_LONGEST_WHOLE = 20_000  # characters; a stored value may have a million, and pages stay small
_DONE = {
    "pause": "Paused",
    "resume": "Resumed",
    "cancel": "Canceled",
    "skip": "Skipped a step of",
    "reattempt": "Reattempted a step of",
    "reset_for_retry": "Reset a step of",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A key with its value, shortened to a line; more of it is behind a fold."""

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


def type_of(workflow: WorkflowHandle[Any]) -> str | None:
    """Return the name of the context's class, if it has one that this process knows."""
    workflow_class = workflow.workflow_class
    kind = None if workflow_class is None else definition_of(workflow_class).context_type
    return None if kind is None else kind.name


def result_of(workflow: WorkflowHandle[Any]) -> Fact | None:
    stored = workflow.stored_result
    if stored is None:
        return None
    bulk = workflow.bulk
    return fact("result", json.loads(stored)) if bulk is None else Fact("result", bulk_words(bulk))


def bulk_words(bulk: BulkProgress) -> str:
    """Return the progress of a bulk in sentences."""
    done = f"{_DONE[bulk.command]} {number(bulk.applied)} of {plural(bulk.total, 'workflow')}."
    parts = [done]
    if bulk.passed_over:
        parts.append(f"{number(bulk.passed_over)} had left the state, or refused it.")
    return " ".join([*parts, bulk.stopped or ""]).strip()


@dataclass(frozen=True, slots=True)
class TriedFirst:
    """A workflow that a bulk tried before the rest, and how that went."""

    id: str
    words: str


def heading_of(workflow: WorkflowHandle[Any]) -> str:
    """Return what the page is called: after the hero, or after what a bulk was asked to do."""
    if workflow.hero_type:
        return f"{workflow.hero_type} {workflow.hero_id}"
    bulk = workflow.bulk
    if bulk is not None:
        return f"{state_word(bulk.command).capitalize()} {plural(bulk.total, 'workflow')}"
    return f"{workflow.type or workflow.template or 'Dynamic workflow'} {workflow.id}"


def tried_first(workflow: WorkflowHandle[Any]) -> tuple[TriedFirst, ...]:
    """Return the workflows that a bulk tried before the rest; none of any other workflow."""
    bulk = workflow.bulk
    if bulk is None:
        return ()
    is_waiting = workflow.is_ongoing and bulk.applied <= len(bulk.first_ids)
    passed = "has not come so far yet" if is_waiting else "passed its step"
    return tuple(
        TriedFirst(one, "failed again" if one in bulk.failed_ids else passed)
        for one in bulk.first_ids
    )


def fact(name: str, value: Any) -> Fact:
    value = _plain(value)
    if isinstance(value, str):
        is_long = len(value) > _LONGEST or "\n" in value
        return Fact(
            name, cut(value.partition("\n")[0], _LONGEST), _whole(value) if is_long else None
        )
    if isinstance(value, list | dict) and value:
        noun = "item" if isinstance(value, list) else "key"
        whole = _whole(json.dumps(value, indent=2, ensure_ascii=False))
        return Fact(name, plural(len(value), noun), whole)
    return Fact(name, json.dumps(value, ensure_ascii=False))


def _whole(text: str) -> str:
    left_out = len(text) - _LONGEST_WHOLE
    if left_out <= 0:
        return text
    return (
        f"{text[:_LONGEST_WHOLE]}\n\n"
        f"{plural(left_out, 'more character')}; the REST API returns the whole value."
    )


def _plain(value: Any) -> Any:
    """Return a decimal number, date, UUID and the like as text, without the stored type."""
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
