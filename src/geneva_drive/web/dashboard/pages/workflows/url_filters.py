"""The filters of the workflow list in its URL, so that every view of it can be linked to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from difflib import get_close_matches
from urllib.parse import urlencode

from geneva_drive.drive.search.browse import Browsing
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.errors import InvalidInput
from geneva_drive.states import Need, WorkflowState

PATH = "/workflows"
ALL = "all"  # the state of the tab that includes ended workflows
_CHOICES = {"state": [*map(str, WorkflowState), ALL], "needs": [str(one) for one in Need]}
_WORDS = {
    "error_class": "error",
    "paused_reason": "reason",
    "hero_type": "hero type",
    "hero_id": "hero",
    "created_after": "created",
    "created_before": "created",
}
_BY_TAB = ("state", "needs")
FILTERS = tuple(field.name for field in fields(SearchFilter))


@dataclass(frozen=True, slots=True)
class IgnoredFilter:
    """A filter of the address that cannot be read and is ignored."""

    given: str
    meant: str | None
    address: str | None  # with the value that was probably meant


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is set, and the address without it."""

    name: str
    value: str
    href: str


@dataclass(frozen=True, slots=True)
class Address:
    """The filters of an address, as text."""

    given: Mapping[str, str]  # the filters that can be read, as they were written
    faults: tuple[IgnoredFilter, ...] = ()

    @property
    def wanted(self) -> SearchFilter:
        texts = {name: text for name, text in self.given.items() if (name, text) != ("state", ALL)}
        return SearchFilter.of({name: _moment(name, text) for name, text in texts.items()})

    @property
    def browsing(self) -> Browsing:
        return Browsing(self.wanted, only_ongoing=self.is_ongoing)

    @property
    def is_ongoing(self) -> bool:
        """True on the tab of all ongoing workflows, without a filter for a state or a need."""
        return "state" not in self.given and "needs" not in self.given

    @property
    def text(self) -> str | None:
        return self.given.get("q")

    def path(self, *, without: Iterable[str] = (), **changed: str) -> str:
        """Return the address with some filters changed, from the first page."""
        kept = {name: text for name, text in self.given.items() if name not in set(without)}
        query = urlencode({**kept, **changed})
        return f"{PATH}?{query}" if query else PATH

    @property
    def chips(self) -> list[Chip]:
        """Return the filters that are set, except the tab and the search text."""
        shown = [name for name in self.given if name not in _BY_TAB and name != "q"]
        state = self.given.get("state")
        if state in ("ready", "performing", "paused"):
            shown.insert(0, "state")
        return [self._chip(name) for name in shown]

    def _chip(self, name: str) -> Chip:
        text = self.given[name]
        before = {"created_after": "after ", "created_before": "before "}.get(name, "")
        return Chip(_WORDS.get(name, name), before + text, self.path(without=[name]))


def read_address(given: Mapping[str, str]) -> Address:
    """Return the filters of an address; those that cannot be read are left out."""
    texts = {name: text for name, text in given.items() if name in FILTERS and text.strip()}
    kept: dict[str, str] = {}
    wrong: dict[str, str] = {}
    for name, text in texts.items():
        (kept if _is_readable(name, text) else wrong)[name] = text
    known = Address(kept)
    return Address(kept, tuple(_fault(known, name, text) for name, text in wrong.items()))


def _is_readable(name: str, text: str) -> bool:
    if (name, text) == ("state", ALL):
        return True
    try:
        SearchFilter.of({name: _moment(name, text)})
    except InvalidInput:
        return False
    return "\x00" not in text


def _fault(known: Address, name: str, text: str) -> IgnoredFilter:
    close = get_close_matches(text, _CHOICES.get(name, []), 1)
    meant = close[0] if close else None
    address = None if meant is None else known.path(**{name: meant})
    return IgnoredFilter(f"{name}={text}", meant, address)


def _moment(name: str, text: str) -> object:
    """Return a moment; a form sends it without a zone, or as a date, and means UTC."""
    if not name.startswith("created_"):
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
