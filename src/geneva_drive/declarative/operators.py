"""The operators of conditions: a closed list, without silent coercion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

from geneva_drive.declarative.expressions import BadExpression, compile_pattern
from geneva_drive.declarative.json_types import type_name
from geneva_drive.errors import ExpressionFailed, NotComparable


class Operator(StrEnum):
    """How a comparison compares; `MEANINGS` says when each operator holds."""

    EQ = "eq"
    NEQ = "neq"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    REGEX = "regex"
    EXISTS = "exists"


ALIASES = {
    "==": Operator.EQ,
    "!=": Operator.NEQ,
    ">": Operator.GT,
    ">=": Operator.GTE,
    "<": Operator.LT,
    "<=": Operator.LTE,
}

# What each operator does, for the reference: the types of `field`, of `value`, and when it holds.
MEANINGS: Mapping[Operator, tuple[str, str, str]] = {
    Operator.EQ: ("any", "any but null", "both have the same type and value; 1 equals 1.0"),
    Operator.NEQ: ("any", "any but null", "`eq` does not hold"),
    Operator.GT: ("number or text", "the same", "`field` is greater; text by code point"),
    Operator.GTE: ("number or text", "the same", "`field` is greater or equal"),
    Operator.LT: ("number or text", "the same", "`field` is less"),
    Operator.LTE: ("number or text", "the same", "`field` is less or equal"),
    Operator.IN: ("any", "list", "an item of `value` equals `field`"),
    Operator.NOT_IN: ("any", "list", "no item of `value` equals `field`"),
    Operator.CONTAINS: (
        "list or text",
        "any; text in text",
        "an item equals `value`, or the text is part of `field`",
    ),
    Operator.STARTS_WITH: ("text", "text", "`field` begins with `value`"),
    Operator.ENDS_WITH: ("text", "text", "`field` ends with `value`"),
    Operator.REGEX: ("text", "RE2 pattern", "the pattern is found anywhere in `field`"),
    Operator.EXISTS: (
        "any",
        "true (the default) or false",
        "`field` is there and not null; with false, it is missing",
    ),
}

# The types that a literal `value` may have; None for any but null.
_NUMBER_OR_TEXT = ("number", "text")
VALUE_TYPES: Mapping[Operator, tuple[str, ...] | None] = {
    Operator.EQ: None,
    Operator.NEQ: None,
    Operator.GT: _NUMBER_OR_TEXT,
    Operator.GTE: _NUMBER_OR_TEXT,
    Operator.LT: _NUMBER_OR_TEXT,
    Operator.LTE: _NUMBER_OR_TEXT,
    Operator.IN: ("list",),
    Operator.NOT_IN: ("list",),
    Operator.CONTAINS: ("null", "true or false", "number", "text", "list", "object"),
    Operator.STARTS_WITH: ("text",),
    Operator.ENDS_WITH: ("text",),
    Operator.REGEX: ("text",),
    Operator.EXISTS: ("true or false",),
}


def equal(left: Any, right: Any) -> bool:
    """True if two JSON values have the same type and value; numbers compare by value."""
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    return type_name(left) == type_name(right) and bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        if not (_is_number(left) and _is_number(right)) and not _are_texts(left, right):
            raise TypeError
        return bool(compare(left, right))

    return holds


def _is_in(left: Any, right: Any) -> bool:
    if not isinstance(right, list | tuple):
        raise TypeError
    return any(equal(left, item) for item in right)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, list | tuple):
        return any(equal(item, right) for item in left)
    if not _are_texts(left, right):
        raise TypeError
    return right in left


def _texts(compare: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        if not _are_texts(left, right):
            raise TypeError
        return compare(left, right)

    return holds


def _is_found(text: str, pattern: str) -> bool:
    try:
        return bool(compile_pattern(pattern).search(text))
    except BadExpression as error:  # a pattern that a template produced
        raise ExpressionFailed(f"The pattern cannot be used: {error}.") from None


_COMPARISONS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: equal,
    Operator.NEQ: lambda left, right: not equal(left, right),
    Operator.GT: _ordered(lambda left, right: left > right),
    Operator.GTE: _ordered(lambda left, right: left >= right),
    Operator.LT: _ordered(lambda left, right: left < right),
    Operator.LTE: _ordered(lambda left, right: left <= right),
    Operator.IN: _is_in,
    Operator.NOT_IN: lambda left, right: not _is_in(left, right),
    Operator.CONTAINS: _contains,
    Operator.STARTS_WITH: _texts(str.startswith),
    Operator.ENDS_WITH: _texts(str.endswith),
    Operator.REGEX: _texts(_is_found),
}


def holds(operator: Operator, left: Any, right: Any) -> bool:
    """Compare the value of a field with a value; raise a `NotComparable` if their types differ.

    `exists` is not handled here, because it applies to missing fields as well.
    """
    try:
        return _COMPARISONS[operator](left, right)
    except TypeError:
        raise NotComparable(operator, type_name(left), type_name(right)) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _are_texts(left: object, right: object) -> bool:
    return isinstance(left, str) and isinstance(right, str)
