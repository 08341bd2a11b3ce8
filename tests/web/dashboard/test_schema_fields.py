"""Which field a part of a JSON Schema becomes, and what its text stands for."""

from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.web.dashboard.pages.definitions.schema_fields import (
    ABSENT,
    SchemaField,
    fields_of,
)


def field(part: Any, *, root: dict[str, Any] | None = None, required: bool = True) -> SchemaField:
    names = ["x"] if required else []
    found = fields_of({"properties": {"x": part}, "required": names, **(root or {})})
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "integer"}, "integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
        ({"anyOf": [{"type": "number"}, {"type": "string"}]}, "decimal"),
        ({"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}, "decimal"),
        ({"type": "boolean"}, "boolean"),
        ({"enum": [1, "a", None]}, "choice"),
        ({"const": 3}, "choice"),
        ({"type": "array"}, "json"),
        ({"type": ["string", "null"]}, "json"),
        ({"anyOf": [{"type": "integer"}, {"type": "array"}]}, "json"),
        ({"$ref": "#/$defs/Colour"}, "choice"),
        ({"allOf": [{"$ref": "#/$defs/Colour"}]}, "choice"),
        ({"$ref": "#/$defs/Missing"}, "json"),
        ({"$ref": "#/$defs/Loop"}, "json"),
        (True, "json"),
        ({}, "json"),
    ],
)
def test_each_part_becomes_a_field(part: Any, kind: str) -> None:
    defs = {"Colour": {"enum": ["red"]}, "Loop": {"$ref": "#/$defs/Loop"}}

    assert field(part, root={"$defs": defs}).kind == kind


@pytest.mark.parametrize(
    ("part", "text", "value"),
    [
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "number"}, "12", 12),
        ({"type": "number"}, "1.5e3", 1500.0),
        ({"type": "boolean"}, "", False),
        ({"type": "boolean"}, "yes", True),
        ({"type": "string"}, " a\r\nb ", " a\nb "),
        ({"type": "string"}, "", ABSENT),
        ({"type": "string", "default": "a"}, "", ""),
        ({"enum": [1, "1"]}, "1", 1),
        ({"enum": [1, "1"]}, '"1"', "1"),
        ({"type": "array"}, "[1]", [1]),
    ],
)
def test_a_text_stands_for_a_value(part: Any, text: str, value: Any) -> None:
    assert field(part, required=False).value_of(text) == value


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "integer"}, "1.5"),
        ({"type": "integer"}, "9" * 5000),
        ({"type": "number"}, "nan"),
        ({"type": "number"}, "1,5"),
        ({"enum": ["a"]}, '"b"'),
        ({"type": "array"}, "[" * 100_000),
        ({"type": "array"}, "[1"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(part: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        field(part).value_of(text)


@pytest.mark.parametrize("schema", [{}, {"properties": {}}, {"properties": 3}, {"type": "object"}])
def test_a_schema_without_properties_is_one_text(schema: dict[str, Any]) -> None:
    assert fields_of(schema) is None
