"""JMESPath expressions and RE2 patterns: checked, compiled once, and evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from geneva_drive.declarative import extras
from geneva_drive.declarative.bounds.budget import MOST, Exhausted
from geneva_drive.display import shown
from geneva_drive.errors import ExpressionFailed

MAX_LENGTH = 500  # of an expression, which limits the recursion of its parser
_CACHED = 8192
_LONGEST_REASON = 300

_DUNDER = re.compile(r"__\w+__")
_SET_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*", re.ASCII)


class BadExpression(ValueError):
    """An expression does not parse; its text is a clause that says why."""


@lru_cache(_CACHED)
def compile_path(expression: str) -> Any:
    """Return a parsed JMESPath expression, or raise a `BadExpression`."""
    _check_text(expression)
    jmespath = extras.load("jmespath")
    try:
        compiled = jmespath.compile(expression)
    except jmespath.exceptions.JMESPathError as error:
        raise BadExpression(f"{shown(expression)} is not JMESPath: {_why(error)}") from None
    except RecursionError:
        raise BadExpression(f"{shown(expression)} is nested too deep") from None
    _check_functions(compiled.parsed)
    return compiled


@lru_cache(_CACHED)
def compile_pattern(pattern: str) -> Any:
    """Return a compiled RE2 pattern, or raise a `BadExpression`."""
    re2 = extras.load("re2")
    options = re2.Options()
    options.log_errors = False  # RE2 would write to stderr
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        why = error.args[0] if error.args else error
        words = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        raise BadExpression(f"{shown(pattern)} is not an RE2 pattern: {words}") from None


@lru_cache(_CACHED)
def compile_set_path(path: str) -> tuple[str, ...]:
    """Return the names of a dotted path that `set` writes to, or raise a `BadExpression`."""
    _check_text(path)
    if not _SET_PATH.fullmatch(path):
        raise BadExpression(f"{shown(path)} is not a path of names, such as 'order.status'")
    return tuple(path.split("."))


def search(expression: str, scope: Mapping[str, Any]) -> Any:
    """Return the value of a JMESPath expression; None if it finds nothing."""
    parsed = compile_path(expression).parsed
    # Imported here because it needs a package of the extra `json`.
    from geneva_drive.declarative.bounds.interpreter import BoundedInterpreter

    try:
        return BoundedInterpreter().visit(parsed, scope)
    except Exhausted:
        raise ExpressionFailed(
            f"The expression {shown(expression)} produces more than {MOST:,} values."
        ) from None
    except RecursionError:
        raise ExpressionFailed(f"The expression {shown(expression)} nests too deep.") from None
    # JMESPath checks the types of arguments, not their values: a slice by zero, a number too large.
    except (ValueError, TypeError, ArithmeticError) as error:
        why = " ".join(str(error).split())[:_LONGEST_REASON]  # it may contain the whole value
        raise ExpressionFailed(f"The expression {shown(expression)} failed: {why}.") from None


def _why(error: Any) -> str:
    """Return a parser's message without its drawing of the position."""
    errors = extras.load("jmespath").exceptions
    if not isinstance(error, errors.ParseError | errors.EmptyExpressionError):
        return str(error)
    if isinstance(error, errors.EmptyExpressionError):
        return "it is empty"
    if isinstance(error, errors.IncompleteExpressionError) or error.token_type == "EOF":
        return "it ends too early"
    if isinstance(error, errors.LexerError):
        return f"{error.message} at column {error.lexer_position + 1}"
    return f"unexpected {error.token_value!r} at column {error.lex_position + 1}"


def _check_functions(parsed: Any) -> None:
    """Raise a `BadExpression` for a function that JMESPath does not have.

    JMESPath itself reports it only when the expression runs.
    """
    known = extras.load("jmespath.functions").Functions.FUNCTION_TABLE
    rest = [parsed]
    while rest:
        node = rest.pop()
        if not isinstance(node, dict):
            continue  # the bounds of a slice
        if node["type"] == "function_expression" and node["value"] not in known:
            close = get_close_matches(node["value"], known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise BadExpression(f"there is no function {node['value']!r} in JMESPath{hint}")
        rest.extend(node["children"])


def _check_text(expression: str) -> None:
    if len(expression) > MAX_LENGTH:
        raise BadExpression(f"{shown(expression, 60)} is longer than {MAX_LENGTH} characters")
    if found := _DUNDER.search(expression):
        raise BadExpression(f"names such as {found[0]!r} are refused")
