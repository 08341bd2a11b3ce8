"""Convert the variants of a document to its normal form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Location = tuple[str | int, ...]


def written_path(location: Iterable[str | int]) -> str:
    """Return a location as messages write it: `$.steps[0].id`."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


class Origins:
    """The locations of a normal form's parts in the document as it was written."""

    def __init__(self) -> None:
        self._moved: dict[Location, Location] = {}
        # Keys in two places with different values, each with a clause for the fault.
        self.conflicts: list[tuple[Location, str]] = []

    def add(self, here: Location, there: Location) -> None:
        self._moved[here] = there

    def path(self, location: Location) -> str:
        """Return the path of a location of the normal form, as `$.steps[0].id`."""
        return written_path(self._written(location))

    def _written(self, location: Location) -> Location:
        if not self._moved:
            return location
        for end in range(len(location), 0, -1):
            if location[:end] in self._moved:
                # A moved part may be inside a part that was moved as well.
                moved = self._moved[location[:end]]
                before = self._written(moved[:-2]) if moved[:-2] != location else moved[:-2]
                return (*before, *moved[-2:], *location[end:])
        return location


def normal_form(written: dict[str, Any], origins: Origins) -> dict[str, Any]:
    """Return the document with `definition` and the objects of `action` unfolded."""
    document = written
    definition = written.get("definition")
    if isinstance(definition, dict):
        document = {key: value for key, value in written.items() if key != "definition"}
        for key, value in definition.items():
            if key not in document:
                origins.add((key,), ("definition", key))
                document[key] = value
            elif document[key] != value:
                origins.conflicts.append((("definition", key), _conflict(key)))
    if isinstance(document.get("steps"), list):
        document = {**document, "steps": _steps(document["steps"], ("steps",), origins)}
    return document


def _conflict(key: str) -> str:
    return f"differs from the value of {key!r} outside; keep one of them"


def _steps(steps: list[Any], location: Location, origins: Origins) -> list[Any]:
    return [_step(step, (*location, index), origins) for index, step in enumerate(steps)]


def _step(step: Any, location: Location, origins: Origins) -> Any:
    if not isinstance(step, dict):
        return step
    unfolded = step
    action = step.get("action")
    if isinstance(action, dict) and isinstance(
        word := action.get("action", action.get("type")), str
    ):
        unfolded = {**step, "action": word}
        origins.add(
            (*location, "action"), (*location, "action", "action" if "action" in action else "type")
        )
        for key, value in action.items():
            if key in ("action", "type"):
                continue
            if key not in step:
                origins.add((*location, key), (*location, "action", key))
                unfolded[key] = value
            elif step[key] != value:
                # Its location is not moved: the step has this key as well.
                there = (*location, "action", key)
                origins.add(there, there)
                origins.conflicts.append((there, _conflict(key)))
    if isinstance(unfolded.get("steps"), list):
        inner = _steps(unfolded["steps"], (*location, "steps"), origins)
        unfolded = {**unfolded, "steps": inner}
    return unfolded
