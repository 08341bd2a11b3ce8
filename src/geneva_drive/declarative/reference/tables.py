"""The tables of docs/json.md, made from the types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic.fields import FieldInfo

from geneva_drive.declarative.action_types import (
    Action,
    NotifyAction,
    RegisteredAction,
    SetAction,
    WebhookAction,
)
from geneva_drive.declarative.condition import Condition
from geneva_drive.declarative.document import ContextTerms, Document, Trigger
from geneva_drive.declarative.field_types import DocumentPart
from geneva_drive.declarative.operators import ALIASES, MEANINGS, Operator
from geneva_drive.declarative.steps import TYPES, AnyStep, Requirement, RetryTerms

_ACTIONS: dict[str, type[Action]] = {
    "set": SetAction,
    "notify": NotifyAction,
    "webhook": WebhookAction,
    "any other": RegisteredAction,
}
_PARTS: dict[str, type[DocumentPart]] = {
    "trigger": Trigger,
    "context": ContextTerms,
    "retry": RetryTerms,
    "requires": Requirement,
    "condition": Condition,
}


def operators_table() -> str:
    """Return every operator: its signs, what it compares, and when it holds."""
    signs = {operator: sign for sign, operator in ALIASES.items()}
    rows = (
        (f"`{operator}`", f"`{signs[operator]}`" if operator in signs else "", *MEANINGS[operator])
        for operator in Operator
    )
    return _table(("operator", "or", "`field`", "`value`", "it holds if"), rows)


def document_table() -> str:
    """Return the keys of a document, and of its parts."""
    rows = [_row("", name, field) for name, field in _own(Document, DocumentPart)]
    for part, kind in _PARTS.items():
        rows += [_row(f"`{part}`", name, field) for name, field in _own(kind, DocumentPart)]
    return _table(("of", "key", "must", "meaning"), rows)


def steps_table() -> str:
    """Return the keys of every step, and those of each type of step."""
    rows = [_row("every step", name, field) for name, field in _own(AnyStep, DocumentPart)]
    for step_type, kind in TYPES.items():
        rows.append((f"`{step_type}`", "", "", f"**{_summary(kind)}**"))
        rows += [_row("", name, field) for name, field in _own(kind, AnyStep)]
    return _table(("type", "key", "must", "meaning"), rows)


def actions_table() -> str:
    """Return the keys of every action, and those of each type of action."""
    rows = [_row("every action", name, field) for name, field in _own(Action, DocumentPart)]
    for action_type, kind in _ACTIONS.items():
        shown = action_type if " " in action_type else f"`{action_type}`"
        rows.append((shown, "", "", f"**{_summary(kind)}**"))
        rows += [_row("", name, field) for name, field in _own(kind, Action)]
    return _table(("type", "key", "must", "meaning"), rows)


def _summary(kind: type[DocumentPart]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def _own(kind: type[DocumentPart], common: type[DocumentPart]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the keys of a part besides those of `common`; `type` is in the first column."""
    for name, field in kind.model_fields.items():
        is_own = name not in common.model_fields
        if is_own and (name != "type" or kind in (Trigger, Requirement)):
            yield field.alias or name, field


def _row(of: str, name: str, field: FieldInfo) -> tuple[str, str, str, str]:
    return of, f"`{name}`", "yes" if field.is_required() else "", field.description or ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(_lines(head, rows))


def _lines(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
