"""The filters of a bulk command: those of a list, or those of a group of failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.drive.failures.failures import Standing
from geneva_drive.drive.failures.message_pattern import LONGEST
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.errors import InvalidInput

_OWN = ("message", "standing")
_STANDINGS = (Standing.PAUSED, Standing.REATTEMPTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The filters of a list; with `message` or `standing`, those of a group of failures.

    `type`, `step` and `error_class` are then those of the failure.
    """

    search: SearchFilter
    is_dynamic: bool = False  # only dynamic workflows, whose type is empty
    message: str | None = None  # without numbers, ids and quoted values
    standing: Standing | None = None

    @classmethod
    def of(cls, given: object) -> Where:
        """Parse a dictionary of filters, which must have at least one."""
        if not isinstance(given, Mapping):
            raise InvalidInput(f"bulk(where=...) must be a dictionary, got {shown(given)}.")
        rest = {name: value for name, value in given.items() if value is not None}
        if not rest:
            raise InvalidInput(
                "bulk(where=...) is empty, which would select every workflow. Pass at least one "
                "filter, such as {'type': 'Order'}."
            )
        own = {name: rest.pop(name) for name in _OWN if name in rest}
        is_dynamic = rest.get("type") == ""
        if is_dynamic:
            del rest["type"]
        return cls(
            search=SearchFilter.of(rest, owner="bulk(where=...)"),
            is_dynamic=is_dynamic,
            message=_message(own.get("message")),
            standing=_standing(own),
        )

    @property
    def is_failure_group(self) -> bool:
        return self.standing is not None

    @property
    def written(self) -> dict[str, str]:
        """Return the filters as text that `of` parses."""
        own = {"message": self.message, "standing": self.standing}
        texts = {name: str(value) for name, value in own.items() if value is not None}
        return self.search.written | ({"type": ""} if self.is_dynamic else {}) | texts


def _message(value: Any) -> str | None:
    if value is None or value == "":  # an error may have no message
        return value  # type: ignore[no-any-return]  # one of the two
    return checks.text("bulk(where=...): message", value, longest=LONGEST)


def _standing(own: Mapping[str, Any]) -> Standing | None:
    if not own:
        return None
    given = own.get("standing", Standing.PAUSED)
    return Standing(checks.choice("bulk(where=...): standing", given, _STANDINGS))
