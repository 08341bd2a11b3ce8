"""The fields of a request's form, from the JSON Schema of its class."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition.nodes.phrases import from_name
from geneva_drive.definition.options.approval_terms import REJECT
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.views.execution_bodies import approval_item_body
from geneva_drive.masked_fields import MASK
from geneva_drive.web.dashboard.decision.shown_values import words

_KINDS = {"integer": "number", "number": "decimal", "boolean": "checkbox"}
_FORMATS = {"date": "date", "email": "email"}
_BESIDE = 40  # characters of a description that stand beside the label; a longer one stands below
_LONG = 200  # characters of a value that need an area


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of the form on the page."""

    name: str  # in the form that is posted
    label: str
    kind: str  # of the macro `field`, or checkbox
    value: str
    note: str | None = None  # beside the label
    hint: str | None = None
    proposed: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    is_required: bool = False
    is_numeric: bool = False
    fault: str | None = None

    @property
    def is_checked(self) -> bool:
        return self.value in ("true", "on")


def fields_of(
    approval: Approval,
    filled: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
    prefix: str = "",
) -> list[FormField]:
    """Return the fields with the values that were filled in, or else with the initial ones.

    Raises `NotFound` if this process has not imported the class that declares the form.
    """
    schema = approval.form_schema()
    definitions = schema.get("$defs", {})
    initial = approval_item_body(approval)["initial"]
    required = schema.get("required", [])
    return [
        _field(
            _Declared(
                name=prefix + name,
                label=_label(name, resolved),
                schema=resolved,
                initial=initial.get(name),
                is_required=name in required,
                is_secret=name in approval.masked_fields,
            ),
            given=None if filled is None else filled.get(prefix + name, ""),
            fault=(faults or {}).get(name),
        )
        for name, one in schema.get("properties", {}).items()
        for resolved in [_resolved(one, definitions)]
    ]


def data_in(
    approval: Approval, choice: str, fields: Mapping[str, str], prefix: str = ""
) -> dict[str, Any] | None:
    """Return the data of a decision; a rejection needs none."""
    if choice == REJECT or approval.form is None:
        return None
    schema = approval.form_schema()
    data: dict[str, Any] = {}
    for name, one in schema.get("properties", {}).items():
        kind = _kind(_resolved(one, schema.get("$defs", {})))
        given = fields.get(prefix + name)
        if kind == "checkbox":
            data[name] = given is not None  # a browser leaves out an empty box
        elif given:
            data[name] = _parsed(given) if kind == "json" else given
        elif name in approval.masked_fields and name in approval.initial:
            data[name] = approval.initial[name]  # masked on the page, and not changed
    known = {prefix + name for name in schema.get("properties", {})}
    return {**data, **dict(_unknown(fields, known, prefix))}


def _unknown(fields: Mapping[str, str], known: set[str], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield unknown fields, which the form refuses by name."""
    for name, value in fields.items():
        is_own = name.startswith(prefix) if prefix else name not in ("choice", "comment")
        if is_own and name not in known:
            yield name.removeprefix(prefix), value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # the form refuses it, with a reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    """A field as the form declares it, with the value that the workflow proposes."""

    name: str
    label: str
    schema: Mapping[str, Any]
    initial: Any
    is_required: bool
    is_secret: bool

    @property
    def notes(self) -> tuple[str | None, str | None]:
        """The description: beside the label, or below the field."""
        described = self.schema.get("description") or None
        is_brief = described is not None and len(described) <= _BESIDE
        return (described, None) if is_brief else (None, described)


def _field(declared: _Declared, given: str | None, fault: str | None) -> FormField:
    if declared.is_secret:
        return _secret(declared, fault)
    schema, kind = declared.schema, _kind(declared.schema)
    initial = words(declared.initial)
    value = (initial or words(schema.get("default"))) if given is None else given
    options = tuple((words(one), words(one)) for one in schema.get("enum", ()))
    has_area = kind == "json" or (kind == "text" and (len(value) > _LONG or "\n" in value))
    note, hint = declared.notes
    return FormField(
        name=declared.name,
        label=declared.label,
        kind="textarea" if has_area else _shown_kind(kind),
        value=value,
        note=note,
        hint=hint,
        proposed=initial if initial and kind != "checkbox" else None,
        options=options if declared.is_required or value else (("", "—"), *options),
        is_required=declared.is_required,
        is_numeric=kind in ("number", "decimal"),
        fault=fault,
    )


def _secret(declared: _Declared, fault: str | None) -> FormField:
    """Return a masked field, which never shows its value."""
    is_known = words(declared.initial) == MASK
    note, hint = declared.notes
    return FormField(
        name=declared.name,
        label=declared.label,
        kind="password",
        value="",
        note=note,
        hint="Leave it empty to keep the value." if is_known else hint,
        is_required=declared.is_required and not is_known,
        fault=fault,
    )


def _shown_kind(kind: str) -> str:
    # Numbers are text with a keypad: browsers drop text that a number field cannot read.
    return "text" if kind in ("number", "decimal") else kind


def _label(name: str, schema: Mapping[str, Any]) -> str:
    title: str = schema.get("title") or ""
    given = "" if title == name.replace("_", " ").title() else title
    plain = from_name(name)
    return given or plain[:1].upper() + plain[1:]


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with its references resolved, and without `null` and text as alternatives."""
    if "$ref" in schema:
        named = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        return {**_resolved(named, definitions), **_own(schema, "$ref"), "title": ""}
    if "allOf" in schema and len(schema["allOf"]) == 1:
        return {**_resolved(schema["allOf"][0], definitions), **_own(schema, "allOf")}
    if "const" in schema:
        return {**schema, "enum": [schema["const"]]}
    variants = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if not variants:
        return schema
    # The schema of a decimal allows a number or a text of digits.
    return {**_resolved(variants[0], definitions), **_own(schema, "anyOf")}


def _own(schema: Mapping[str, Any], without: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != without}


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "select"
    if schema.get("type") in ("array", "object"):
        return "json"
    kind = _KINDS.get(str(schema.get("type", "")), "text")
    return _FORMATS.get(str(schema.get("format", "")), kind)
