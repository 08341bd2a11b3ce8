"""Sort faults by their position in the document."""

from __future__ import annotations

from typing import Any

from geneva_drive.declarative.source.variants import Location


class LocationOrder:
    """The order of the locations of a document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._positions: dict[int, dict[str, int]] = {}

    def of(self, found: tuple[Location, str]) -> tuple[int, ...]:
        """Return a key to sort by; missing keys come after present ones."""
        places: list[int] = []
        value: Any = self._document
        for part in found[0]:
            if isinstance(part, int):
                places.append(part)
                value = value[part] if isinstance(value, list) and part < len(value) else None
            else:
                within = value if isinstance(value, dict) else {}
                places.append(self._position(within, part))
                value = within.get(part)
        return tuple(places)

    def _position(self, within: dict[str, Any], key: str) -> int:
        if id(within) not in self._positions and within:
            self._positions[id(within)] = {each: number for number, each in enumerate(within)}
        return self._positions.get(id(within), {}).get(key, len(within))
