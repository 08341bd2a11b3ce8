"""The changes that `set` makes to a context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive.declarative.json_types import type_name
from geneva_drive.errors import ExpressionFailed


@dataclass(frozen=True, slots=True)
class ContextChange:
    """A value that an action writes to a path of names."""

    path: tuple[str, ...]
    value: Any


def apply_changes(context: Mapping[str, Any], changes: Iterable[ContextChange]) -> dict[str, Any]:
    """Return a copy of the context with the changes.

    Missing objects on a path are created. Raise an `ExpressionFailed` if a path leads through a
    value that is not an object.
    """
    changed = dict(context)
    for change in changes:
        _write(changed, change)
    return changed


def compacted(changes: Iterable[ContextChange]) -> list[ContextChange]:
    """Return the changes without those that a later change overwrites completely."""
    left: list[ContextChange] = []
    for change in changes:
        depth = len(change.path)
        left = [one for one in left if one.path[:depth] != change.path]
        left.append(change)
    return left


def _write(target: dict[str, Any], change: ContextChange) -> None:
    *way, last = change.path
    for depth, name in enumerate(way, start=1):
        inner = target.get(name)
        if inner is not None and not isinstance(inner, Mapping):
            raise ExpressionFailed(
                f"'set' cannot write {'.'.join(change.path)!r}: {'.'.join(way[:depth])!r} is "
                f"{type_name(inner)}, not an object."
            )
        # A copy, as the old object belongs to the caller.
        target[name] = dict(inner or {})
        target = target[name]
    target[last] = change.value
