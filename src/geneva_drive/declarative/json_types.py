"""The words of messages for JSON types and values."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from geneva_drive.display import shown


def type_name(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "list"
    return type(value).__name__


def json_text(value: object) -> str:
    """Return a value as messages show it; null, true and false as JSON writes them."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shown(value)
