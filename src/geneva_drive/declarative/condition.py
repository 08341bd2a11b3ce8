"""Conditions: comparisons joined by `and`, `or` and `not`, and how they are evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from geneva_drive.declarative import operators
from geneva_drive.declarative.expressions import BadExpression, compile_pattern, search
from geneva_drive.declarative.field_types import DocumentPart, Listed, Path
from geneva_drive.declarative.json_types import json_text, type_name
from geneva_drive.declarative.operators import ALIASES, VALUE_TYPES, Operator
from geneva_drive.declarative.templates import is_template, render
from geneva_drive.errors import MissingField

_OPERATORS = [*(str(operator) for operator in Operator), *ALIASES]


def _operator(value: object) -> Operator:
    if isinstance(value, str) and value in _OPERATORS:
        return ALIASES.get(value) or Operator(value)
    close = get_close_matches(str(value), _OPERATORS, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"the operators are {', '.join(Operator)}"
    raise ValueError(f"there is no operator {json_text(value)}; {hint}")


class Condition(DocumentPart):
    """A comparison, or `and`, `or` or `not`. A comparison beside `or` is one more alternative."""

    field: Annotated[Path | None, Field(description="JMESPath over the context.")] = None
    operator: Annotated[
        Operator | None,
        BeforeValidator(_operator),
        WithJsonSchema({"enum": _OPERATORS}),
        Field(description="One of the operators below."),
    ] = None
    value: Annotated[Any, Field(description="What the field is compared with.")] = None
    default: Annotated[Any, Field(description="Used if the field is missing.")] = None
    all_of: Annotated[
        Conditions | None, Field(alias="and", description="Conditions that must all hold.")
    ] = None
    any_of: Annotated[
        Conditions | None, Field(alias="or", description="Conditions; at least one must hold.")
    ] = None
    none_of: Annotated[
        Condition | None, Field(alias="not", description="A condition that must not hold.")
    ] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        is_comparison = self.field is not None or self.operator is not None
        if is_comparison and self.field is None:
            yield "field", "is missing"
        elif is_comparison and self.operator is None:
            yield "operator", "is missing"
        elif not is_comparison and (self.has("value") or self.has("default")):
            yield "", "'value' and 'default' belong to a comparison with 'field' and 'operator'"
        elif not is_comparison and not (self.all_of or self.any_of or self.none_of):
            yield "", "a condition needs 'field' and 'operator', 'and', 'or' or 'not'"
        if self.all_of and self.any_of:
            yield "or", "is used together with 'and'; put one of them inside the other"
        if self.has("default") and self.default is None:
            yield "default", "must not be null: null is a missing field"
        if self.operator is Operator.EXISTS:
            yield from self._exists_faults()
        elif isinstance(self.operator, Operator):
            yield from (("value", fault) for fault in self._value_faults(self.operator))

    def _exists_faults(self) -> Iterator[tuple[str, str]]:
        if self.has("value") and not isinstance(self.value, bool):
            yield (
                "value",
                f"the value of 'exists' must be true or false, got {json_text(self.value)}",
            )
        if self.has("default"):
            yield "default", "'exists' takes no default"

    def _value_faults(self, operator: Operator) -> Iterator[str]:
        allowed = VALUE_TYPES[operator]
        if not self.has("value"):
            yield "is missing"
        elif is_template(self.value):
            pass  # its type is known when the workflow runs
        elif self.value is None and allowed is None:
            wanted = str(operator is Operator.NEQ).lower()
            yield (
                f"{str(operator)!r} does not compare with null; write "
                f'"operator": "exists", "value": {wanted}'
            )
        elif allowed is not None and type_name(self.value) not in allowed:
            types = " or ".join(allowed)
            yield f"the value of {str(operator)!r} must be {types}, got {json_text(self.value)}"
        elif operator is Operator.REGEX:
            yield from _pattern_faults(self.value)


def _pattern_faults(pattern: str) -> Iterator[str]:
    try:
        compile_pattern(pattern)
    except BadExpression as error:
        yield str(error)


Conditions = Annotated[Listed[Condition], Field(min_length=1)]
Condition.model_rebuild()


def evaluate(condition: Condition, scope: Mapping[str, Any]) -> bool:
    """True if the condition holds for the values in `scope`.

    Parts are evaluated from left to right, the comparison first and `not` last, and only until the
    answer is known. Raise a `MissingField` for a field that is null or not there.
    """
    answers = _answers(condition, scope)
    return any(answers) if condition.any_of else all(answers)


def _answers(condition: Condition, scope: Mapping[str, Any]) -> Iterator[bool]:
    if condition.operator is not None:
        yield _compare(condition, condition.operator, scope)
    for part in (*(condition.all_of or ()), *(condition.any_of or ())):
        yield evaluate(part, scope)
    if condition.none_of is not None:
        yield not evaluate(condition.none_of, scope)


def _compare(condition: Condition, operator: Operator, scope: Mapping[str, Any]) -> bool:
    field = condition.field or ""
    found = search(field, scope)
    if operator is Operator.EXISTS:
        wanted = condition.value if condition.has("value") else True
        return (found is not None) == wanted
    if found is None and condition.has("default"):
        found = render(condition.default, scope)
    if found is None:
        raise MissingField(field)
    return operators.holds(operator, found, render(condition.value, scope))
