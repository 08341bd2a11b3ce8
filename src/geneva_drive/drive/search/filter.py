"""The filters for workflows of `GET /executions` and of bulk commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.states import Need, WorkflowState

_MOMENTS = ("created_after", "created_before")
_CHOICES = {"state": tuple(WorkflowState), "needs": tuple(Need)}
_LONGEST = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """The filters; None for a field selects all workflows."""

    state: WorkflowState | None = None
    needs: Need | None = None
    type: str | None = None
    step: str | None = None  # the current or failed step
    queue: str | None = None
    paused_reason: str | None = None
    error_class: str | None = None  # of its last failure
    hero_type: str | None = None
    hero_id: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    q: str | None = None  # an id, or the beginning of a hero's id

    @classmethod
    def of(cls, given: object, *, owner: str = "where") -> SearchFilter:
        """Parse a dictionary of filters; moments may be ISO 8601 text."""
        if not isinstance(given, Mapping):
            raise InvalidInput(f"{owner} must be a dictionary of filters, got {shown(given)}.")
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                close = get_close_matches(str(name), known, 1)
                meant = f" Did you mean {close[0]!r}?" if close else ""
                raise InvalidInput(
                    f"{owner}: there is no filter {shown(name)}.{meant} The filters are: "
                    f"{', '.join(known)}."
                )
        values = {
            name: _checked(f"{owner}: {name}", name, value)
            for name, value in given.items()
            if value is not None
        }
        return cls(**values)

    @property
    def given(self) -> dict[str, Any]:
        """Return the filters that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def written(self) -> dict[str, str]:
        """Return the filters that are set, as text that `of` parses."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else str(value)
            for name, value in self.given.items()
        }


def _checked(owner: str, name: str, value: object) -> Any:
    if name in _MOMENTS:
        return _moment(owner, value)
    if name in _CHOICES:
        chosen = checks.choice(owner, value, _CHOICES[name])
        return WorkflowState(chosen) if name == "state" else Need(chosen)
    if name == "paused_reason":
        return checks.text(owner, value)
    return checks.text(owner, value, longest=_LONGEST)


def _moment(owner: str, value: object) -> datetime:
    if not isinstance(value, str):
        return checks.moment(owner, value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(
            f"{owner} must be a moment such as '2026-01-31T12:00:00Z', got {shown(value)}."
        ) from None
    return checks.moment(owner, moment)
