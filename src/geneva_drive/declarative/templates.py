"""Templates: `{{path}}` in the values of a document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from geneva_drive.declarative.bounds.budget import MOST, Budget, Exhausted
from geneva_drive.declarative.expressions import (
    MAX_LENGTH,
    BadExpression,
    compile_path,
    search,
)
from geneva_drive.display import shown
from geneva_drive.errors import ExpressionFailed, MissingField

_MOST_FAULTS = 100  # of one text
_OPEN, _CLOSE = "{{", "}}"
# The quoted parts and braces of JMESPath, in which a template does not end.
_PIECE = re.compile(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|`(?:\\.|[^`\\])*+`|[{}]""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Expression:
    text: str


class _Unended(ValueError):
    """A `{{` has no `}}`."""


def is_template(value: object) -> bool:
    """True for text that contains a template."""
    return isinstance(value, str) and _OPEN in value


def is_one_template(value: object) -> bool:
    """True for a template without other text; it keeps the type of its value."""
    if not isinstance(value, str):
        return False
    try:
        parts = list(_parts(value.strip()))
    except _Unended:
        return True  # `faults` reports it
    return len(parts) == 1 and isinstance(parts[0], _Expression)


def render(value: Any, scope: Mapping[str, Any]) -> Any:
    """Return a value with every template replaced.

    A template alone keeps the type of its value; inside other text it becomes text. Raise a
    `MissingField` if a template finds null or nothing.
    """
    try:
        return _render(value, scope, Budget())
    except Exhausted:
        raise ExpressionFailed(
            f"The templates in {shown(value, 60)} produce more than {MOST:,} values or characters."
        ) from None


def faults(text: str) -> Iterator[str]:
    """Yield a clause for each fault of a text with templates, up to a limit."""
    return islice(_faults(text), _MOST_FAULTS)


def _faults(text: str) -> Iterator[str]:
    try:
        for part in _parts(text):
            if isinstance(part, _Expression):
                yield from _expression_faults(part.text)
    except _Unended:
        yield f"{shown(text)} has a '{{{{' without '}}}}'"


def _expression_faults(expression: str) -> Iterator[str]:
    try:
        compile_path(expression)
    except BadExpression as error:
        yield str(error)


def _parts(text: str) -> Iterator[str | _Expression]:
    """Yield the texts and expressions of a text in turn, in linear time."""
    read = 0
    while (start := text.find(_OPEN, read)) >= 0:
        if start > read:
            yield text[read:start]
        begin = start + len(_OPEN)
        end = _end(text, begin)
        yield _Expression(text[begin:end].strip())
        read = end + len(_CLOSE)
    if read < len(text):
        yield text[read:]


def _end(text: str, begin: int) -> int:
    # Expressions are limited in length. Without this bound, many braces take quadratic time.
    last = begin + 2 * MAX_LENGTH
    at, open_braces = begin, 0
    while found := _PIECE.search(text, at, last):
        at = found.end()
        if found[0] == "{":
            open_braces += 1
        elif found[0] == "}" and open_braces:
            open_braces -= 1
        elif found[0] == "}" and text[at : at + 1] == "}":
            return found.start()
    # A quote is not closed. Take the expression as it is: its parser reports a better fault.
    end = text.find(_CLOSE, begin, last)
    if end < 0:
        raise _Unended
    return end


def _render(value: Any, scope: Mapping[str, Any], budget: Budget) -> Any:
    if isinstance(value, str):
        return _render_text(value, scope, budget) if _OPEN in value else value
    if isinstance(value, Mapping):
        return {key: _render(item, scope, budget) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_render(item, scope, budget) for item in value]
    return value


def _render_text(text: str, scope: Mapping[str, Any], budget: Budget) -> Any:
    parts = list(_parts(text.strip()))
    if len(parts) == 1 and isinstance(parts[0], _Expression):
        found = _found(parts[0].text, scope)
        budget.charge_value(found)
        return found
    pieces = []
    for part in _parts(text):
        piece = part if isinstance(part, str) else _as_text(_found(part.text, scope), budget)
        budget.charge(len(piece))
        pieces.append(piece)
    return "".join(pieces)


def _found(expression: str, scope: Mapping[str, Any]) -> Any:
    value = search(expression, scope)
    if value is None:
        raise MissingField(expression)
    return value


def _as_text(value: Any, budget: Budget) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | list | dict):
        budget.charge_value(value)
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
