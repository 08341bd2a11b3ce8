"""The tabs of the list: who acts next, with counts."""

from __future__ import annotations

from dataclasses import dataclass

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.browse import Browsing, count_browsed
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.states import Need
from geneva_drive.web.dashboard.pages.workflows.url_filters import ALL, Address
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory
from geneva_drive.web.dashboard.shell.state_symbols import need_hue

_COUNTED = (Need.PERSON, Need.OPERATOR, Need.EVENT, Need.TIMER, Need.CHILD, Need.WORKER)
_MEMORY: BriefMemory[dict[str, str]] = BriefMemory()


@dataclass(frozen=True, slots=True)
class Tab:
    words: str
    href: str
    is_here: bool
    count: str | None = None
    glyph: str | None = None
    hue: str | None = None


def tabs(drive: Drive, address: Address, root: str) -> list[Tab]:
    """Return the tabs; their counts are those of all workflows, whatever else is filtered."""
    counts = _MEMORY.get(drive, lambda: _counts(drive))
    here = address.given.get("needs") or address.given.get("state", "ongoing")
    if here in ("ready", "performing", "paused"):
        here = "ongoing"

    def tab(words: str, name: str, **changed: str) -> Tab:
        href = root + address.path(without=("state", "needs"), **changed)
        count = counts.get(name)
        is_need = name in [str(need) for need in _COUNTED]
        return Tab(
            words,
            href,
            name == here,
            count,
            glyph=name if is_need else None,
            hue=need_hue(name) if is_need else None,
        )

    return [
        tab("All", ALL, state=ALL),
        tab("Ongoing", "ongoing"),
        *(tab(str(need).capitalize(), str(need), needs=str(need)) for need in _COUNTED),
        tab("Finished", "finished", state="finished"),
        tab("Canceled", "canceled", state="canceled"),
    ]


def _counts(drive: Drive) -> dict[str, str]:
    found = {
        str(need): str(count_browsed(drive, Browsing(SearchFilter(needs=need))))
        for need in _COUNTED
    }
    found["ongoing"] = str(count_browsed(drive, Browsing(SearchFilter(), only_ongoing=True)))
    return found
