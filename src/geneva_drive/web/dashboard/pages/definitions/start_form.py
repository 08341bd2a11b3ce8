"""The form that starts a workflow: its texts, their faults, and the options they give."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from geneva_drive.definition.heroes import HeroRef
from geneva_drive.drive.definitions.known_definitions import schema_of
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import Fault, InvalidInput
from geneva_drive.masked_fields import MASK
from geneva_drive.web.dashboard.pages.definitions.schema_fields import (
    ABSENT,
    SchemaField,
    fields_of,
    parse_json,
)

PREFIX = "context."  # of the names of inputs, so that no key of a context collides with ours
WHOLE = "context"  # the field of a context without a schema
PLAIN = ("hero_type", "hero_id", "queue", "idempotency_key", "allow_multiple", "like")
_FIRST_PART = re.compile(r"[^.\[]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartForm:
    """The fields of a definition with their texts."""

    fields: tuple[SchemaField, ...] | None  # None: the context is one JSON text
    texts: Mapping[str, str]  # by the name of the input
    faults: dict[str, str] = field(default_factory=dict)  # by the same, or "" for the whole form
    like: str = ""  # the id of the workflow whose values were proposed

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    @property
    def has_hidden(self) -> bool:
        """True if fields show masked values, which are copied if they are not changed."""
        return bool(self.like) and any(MASK in one for one in self.texts.values())

    @property
    def is_more_open(self) -> bool:
        """True if one of the folded fields has a text."""
        names = ("queue", "idempotency_key", "allow_multiple")
        return any(self.text(name) or name in self.faults for name in names)


def empty_form(drive: Drive, name: str) -> StartForm:
    fields = fields_of(schema_of(drive, name))
    if fields is None:
        return StartForm(fields=None, texts={WHOLE: ""})
    texts = {PREFIX + one.name: one.first_text for one in fields}
    return StartForm(fields=tuple(fields), texts=texts)


def form_like(drive: Drive, name: str, workflow: WorkflowHandle[Any]) -> StartForm:
    """Return the form with the values of a workflow; masked ones show dots."""
    empty = empty_form(drive, name)
    texts = {**empty.texts, **_shown(empty.fields, workflow)}
    texts["hero_type"] = workflow.hero_type or ""
    texts["hero_id"] = workflow.hero_id or ""
    return StartForm(fields=empty.fields, texts=texts, like=str(workflow.id))


def read_form(
    drive: Drive, name: str, sent: Mapping[str, str], model: WorkflowHandle[Any] | None
) -> tuple[StartForm, dict[str, Any]]:
    """Return the form that was sent, with its faults, and the options of `drive.start`.

    A field that still shows the value of `model` keeps it exactly, even if it is masked.
    """
    empty = empty_form(drive, name)
    texts = {one: sent.get(one, "") for one in (*empty.texts, *PLAIN)}
    form = StartForm(fields=empty.fields, texts=texts, like="" if model is None else str(model.id))
    context = _context(form, model)
    hero = _hero(form)
    options = {
        "context": context,
        "hero": hero,
        "queue": form.text("queue").strip() or None,
        "idempotency_key": form.text("idempotency_key").strip() or None,
        "allow_multiple": form.text("allow_multiple") == "yes",
    }
    return form, options


def place_faults(form: StartForm, error: InvalidInput) -> None:
    """Attach the faults of a refused form to the fields that they name."""
    faults: tuple[Fault, ...] = getattr(error, "faults", ())
    for one in faults:
        found = _FIRST_PART.match(one.path.removeprefix("$."))
        name = PREFIX + found[0] if found else ""
        if form.fields is None:
            name = WHOLE
        known = name if name in form.texts else ""
        inner = one.path if found and found[0] != one.path and known else ""
        words = f"{inner}: {one.message}" if inner or not known else one.message
        if not known and one.path:
            words = f"{one.path}: {one.message}"
        form.faults.setdefault(known, _sentence(words))
    if not faults:
        form.faults.setdefault(_plain_place(str(error)), str(error))


def _plain_place(text: str) -> str:
    for name, beginning in (
        ("queue", "create(queue=...)"),
        ("queue", "The queue"),
        ("idempotency_key", "create(idempotency_key=...)"),
        ("hero_type", "The type of a HeroRef"),
        ("hero_id", "The id of a HeroRef"),
    ):
        if text.startswith(beginning):
            return name
    return ""


def _sentence(words: str) -> str:
    text = words[:1].upper() + words[1:]
    return text if text.endswith(".") else f"{text}."


def _hero(form: StartForm) -> HeroRef | None:
    kind, key = form.text("hero_type").strip(), form.text("hero_id").strip()
    if not kind and not key:
        return None
    if not kind or not key:
        form.faults["hero_id" if kind else "hero_type"] = "A hero needs both a type and an id."
        return None
    try:
        return HeroRef(kind, key)
    except InvalidInput as error:
        place_faults(form, error)
        return None


def _context(form: StartForm, model: WorkflowHandle[Any] | None) -> dict[str, Any] | None:
    kept = {} if model is None else dict(model.context)
    shown = {} if model is None else _shown(form.fields, model)
    if form.fields is None:
        text = _lines(form.text(WHOLE))
        if model is not None and text == _lines(shown[WHOLE]):
            return kept
        return _whole(form, text)
    found: dict[str, Any] = {}
    for one in form.fields:
        name = PREFIX + one.name
        if one.name in kept and _lines(form.text(name)) == _lines(shown[name]):
            found[one.name] = kept[one.name]
            continue
        try:
            value = one.value_of(form.text(name))
        except ValueError as error:
            form.faults[name] = str(error)
            continue
        if value is not ABSENT:
            found[one.name] = value
    return found


def _whole(form: StartForm, text: str) -> dict[str, Any] | None:
    if not text:
        return None
    try:
        value = parse_json(text)
    except ValueError as error:
        form.faults[WHOLE] = str(error)
        return None
    if not isinstance(value, dict):
        form.faults[WHOLE] = 'A context is an object, such as {"amount": 12}.'
        return None
    return value


def _shown(fields: tuple[SchemaField, ...] | None, workflow: WorkflowHandle[Any]) -> dict[str, str]:
    stored = json.loads(workflow.stored_context)
    if fields is None:
        return {WHOLE: json.dumps(stored, indent=2, ensure_ascii=False) if stored else ""}
    return {
        PREFIX + one.name: one.text_of(_plain(stored[one.name]))
        for one in fields
        if one.name in stored
    }


def _plain(value: Any) -> Any:
    """Return a typed value, such as a Decimal, as people write it."""
    if isinstance(value, dict) and set(value) == {"$type", "value"}:
        inner = value["value"]
        return inner if isinstance(inner, str | int | float) else value
    return value


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
