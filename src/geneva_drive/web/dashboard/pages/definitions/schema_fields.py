"""Form fields from a JSON Schema, which convert between texts and values. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "long", "date", "integer", "number", "decimal", "boolean", "choice", "json"]

_MOST_CHOICES = 200
_NULL = {"type": "null"}
_MOST_DIGITS = 300
ABSENT: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaField:
    """The field for one key of an object."""

    name: str
    kind: Kind
    is_required: bool
    default: Any = ABSENT
    description: str | None = None
    choices: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        return self.name

    @property
    def options(self) -> list[tuple[str, str]]:
        """Return the choices of a select, each as it is sent and as it is shown."""
        none = [] if self.is_required and self.default is ABSENT else [("", "none")]
        first = [("", "Choose…")] if self.is_required and self.default is ABSENT else none
        return [*first, *((_dumped(one), _readable(one)) for one in self.choices)]

    @property
    def first_text(self) -> str:
        """Return the initial text of the field."""
        return "" if self.default is ABSENT else self.text_of(self.default)

    def text_of(self, value: Any) -> str:
        """Return a JSON value as this field shows it."""
        if value is None and self.kind != "json":
            return ""
        if self.kind == "boolean":
            return "yes" if value is True else ""
        if self.kind == "choice":
            return _dumped(value)
        if self.kind == "json":
            return json.dumps(value, indent=2, ensure_ascii=False)
        return value if isinstance(value, str) else _dumped(value)

    def value_of(self, text: str | None) -> Any:
        """Return the value of a text, or `ABSENT`; raise `ValueError` with a sentence to show."""
        if self.kind == "boolean":
            return text == "yes"
        written = (text or "").replace("\r\n", "\n")
        if not written.strip():
            is_cleared = self.kind in ("text", "long") and isinstance(self.default, str)
            return "" if is_cleared and self.default else ABSENT
        if self.kind in ("text", "long"):
            return written
        return self._parsed(written.strip())

    def _parsed(self, written: str) -> Any:
        match self.kind:
            case "integer":
                return _integer(written)
            case "number":
                return _number(written)
            case "choice":
                found = [one for one in self.choices if _dumped(one) == written]
                if not found:
                    raise ValueError("Choose one of these.")
                return found[0]
            case "json":
                return parse_json(written)
            case _:
                return written


def parse_json(text: str) -> Any:
    """Return the value of JSON text; raise `ValueError` with a sentence to show."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"This is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except (ValueError, RecursionError):
        raise ValueError("This is not JSON that can be read: it is too deep or too long.") from None


def fields_of(schema: Mapping[str, Any]) -> list[SchemaField] | None:
    """Return the fields of an object; None if the schema names none, and one JSON text must do."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return None
    required = schema.get("required")
    names = set(required) if isinstance(required, list) else set()
    return [
        _field(str(name), one, schema, is_required=name in names)
        for name, one in properties.items()
    ]


def _field(name: str, part: Any, root: Mapping[str, Any], *, is_required: bool) -> SchemaField:
    own = part if isinstance(part, Mapping) else {}
    meant = _without_null(_resolved(own, root), root)
    kind, choices = _kind(meant)
    description = own.get("description") or meant.get("description")
    return SchemaField(
        name=name,
        kind=kind,
        is_required=is_required,
        default=own.get("default", ABSENT),
        description=description if isinstance(description, str) else None,
        choices=choices,
    )


def _kind(meant: Mapping[str, Any]) -> tuple[Kind, tuple[Any, ...]]:
    enum = meant.get("enum", [meant["const"]] if "const" in meant else None)
    if isinstance(enum, list) and 0 < len(enum) <= _MOST_CHOICES:
        return "choice", tuple(enum)
    if _is_decimal(meant):
        return "decimal", ()
    match meant.get("type"):
        case "string":
            return ("date" if meant.get("format") == "date" else "text"), ()
        case "integer":
            return "integer", ()
        case "number":
            return "number", ()
        case "boolean":
            return "boolean", ()
    return "json", ()


def _resolved(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references inside the schema; those of another program's schema may be circular."""
    seen = set()
    while isinstance(part.get("$ref"), str) and part["$ref"] not in seen:
        reference = part["$ref"]
        seen.add(reference)
        found: Any = root
        for step in reference.removeprefix("#/").split("/"):
            found = found.get(step) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        part = found
    whole = part.get("allOf")
    if isinstance(whole, list) and len(whole) == 1 and isinstance(whole[0], Mapping):
        return whole[0] if "$ref" not in whole[0] else _resolved(whole[0], root)
    return part


def _without_null(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of values that are not null."""
    kinds = part.get("anyOf")
    if not isinstance(kinds, list):
        return part
    others = [one for one in kinds if isinstance(one, Mapping) and one != _NULL]
    if len(others) == len(kinds) or not others:
        return part
    return _resolved(others[0], root) if len(others) == 1 else {**part, "anyOf": others}


def _is_decimal(meant: Mapping[str, Any]) -> bool:
    """True for a number that may be written as text, so that no digit is lost."""
    kinds = meant.get("anyOf")
    if not isinstance(kinds, list):
        return False
    return {one.get("type") for one in kinds if isinstance(one, Mapping)} == {"number", "string"}


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("Write a whole number that is shorter.")
    try:
        return int(text)
    except ValueError:
        raise ValueError("Write a whole number, such as 12.") from None


def _number(text: str) -> float | int:
    try:
        found = float(text)
    except ValueError:
        raise ValueError("Write a number, such as 12.5.") from None
    if not math.isfinite(found):
        raise ValueError("Write a number, such as 12.5.")
    return int(text) if text.lstrip("-").isdecimal() and len(text) < _MOST_DIGITS else found


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _readable(value: Any) -> str:
    return value if isinstance(value, str) else _dumped(value)
