"""The names under which Enum classes are stored."""

from __future__ import annotations

import sys
from enum import Enum

from geneva_drive.errors import UnknownEnum, UnknownEnumMember


def name_of(kind: type[Enum]) -> str | None:
    """Return the stored name of an Enum class, or None if it cannot be found by that name."""
    found = _find(kind.__module__, kind.__qualname__)
    return f"{kind.__module__}:{kind.__qualname__}" if found is kind else None


def member_of(enum_name: str, value: object) -> Enum:
    module, _, qualname = enum_name.partition(":")
    kind = _find(module, qualname)
    # Calling a class without members, such as Enum itself, would create a new Enum.
    if not (isinstance(kind, type) and issubclass(kind, Enum) and kind.__members__):
        raise UnknownEnum(enum_name)
    try:
        return kind(value)
    except ValueError as error:
        raise UnknownEnumMember(enum_name, value) from error


def _find(module: str, qualname: str) -> object:
    # A stored row must not cause code to run: import nothing, and bypass a module's __getattr__,
    # which may import.
    found: object = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found
