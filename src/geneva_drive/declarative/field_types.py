"""The types of single fields of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from geneva_drive import checks
from geneva_drive.declarative.expressions import (
    BadExpression,
    compile_path,
    compile_set_path,
)
from geneva_drive.declarative.json_types import json_text
from geneva_drive.declarative.templates import is_template
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.definition.waits import event_values
from geneva_drive.durations import parse_duration

T = TypeVar("T")

# Documents have lists; tuples keep the parsed document from changing.
Listed = Annotated[tuple[T, ...], Strict(False)]
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"  # `{{item.price}}` reads it without quotes


class PartFaults(ValueError):
    """Faults of one part, each with the key it is about; an empty key for the part itself."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        self.faults = faults
        super().__init__("; ".join(message for _, message in faults))


class DocumentPart(BaseModel):
    """A part of a document: unknown keys are refused, nothing is converted, nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_by_name=True)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a key and a clause for each contradiction between keys.

        Values may be unparsed, if one of them has a fault of its own.
        """
        return iter(())

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, written: Any, parse: Any, info: ValidationInfo) -> Self:
        try:
            part: Self = parse(written)
        except ValidationError:
            if isinstance(info.context, list) and isinstance(written, dict):
                info.context.append((cls, written))
            raise
        faults = list(part.faults())
        if faults:
            raise PartFaults(faults)
        return part

    def has(self, key: str) -> bool:
        """True if the document gives this key a value, null included."""
        return key in self.model_fields_set


# Parts with a fault in one of their keys, as written. Passed as pydantic's context.
RefusedParts = list[tuple[type[DocumentPart], dict[str, Any]]]


def _span(value: object) -> timedelta:
    if not isinstance(value, int | float | str | timedelta) or isinstance(value, bool):
        raise ValueError(_NO_SPAN.format(json_text(value)))  # noqa: TRY004 - for pydantic
    try:
        span = parse_duration(value)
    except ValueError as error:
        is_unread = "is not a duration" in str(error)
        raise ValueError(_NO_SPAN.format(json_text(value)) if is_unread else str(error)) from None
    if not span:
        raise ValueError(f"{json_text(value)} is not longer than zero")
    return span


_NO_SPAN = "{} is not a duration: write seconds, or text such as '30s', '15m', '24h' or '7d'"


def _seconds(span: timedelta) -> int | float:
    seconds = span.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def _checked(check: Callable[[str], Any]) -> AfterValidator:
    """Return a validator that keeps a text if `check` accepts it."""

    def keep(value: str) -> str:
        try:
            check(value)
        except BadExpression as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(keep)


def _storable(value: str) -> str:
    fault = checks.text_fault(value)
    if fault:
        raise ValueError(fault)
    return value


def _plain(value: str) -> str:
    if is_template(value):
        raise ValueError(f"must not contain a template, got {json_text(value)}")
    return value


def _event_type(value: str) -> str:
    return event_values.pattern("the type of an event", value, error=_clause)


def _clause(sentence: str) -> ValueError:
    return ValueError(sentence.rstrip("."))


def _as_text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=MAX_NAME_LENGTH)]
Variable = Annotated[str, Field(pattern=VARIABLE_PATTERN, max_length=MAX_NAME_LENGTH)]
Text = Annotated[str, AfterValidator(_storable)]
Path = Annotated[str, _checked(compile_path)]
SetPath = Annotated[str, _checked(compile_set_path)]
PlainText = Annotated[Text, AfterValidator(_plain)]
EventType = Annotated[str, AfterValidator(_plain), AfterValidator(_event_type)]
EventKey = Annotated[Text, BeforeValidator(_as_text, json_schema_input_type=str | int)]
Version = Annotated[
    str,
    BeforeValidator(_as_text, json_schema_input_type=str | int | float),
    Field(min_length=1, max_length=100),
]
Span = Annotated[
    timedelta,
    BeforeValidator(_span),
    PlainSerializer(_seconds, when_used="always"),
    WithJsonSchema(
        {
            "description": "Seconds, or text such as '30s', '15m', '24h', '7d'.",
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)?\s*$"},
            ],
        }
    ),
]
