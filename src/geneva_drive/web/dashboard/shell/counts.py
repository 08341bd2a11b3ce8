"""The counts beside the entries of the sidebar."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.activity import person_overview
from geneva_drive.drive.activity.overview_rows import MOST, counted
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.failures.failures import Standing
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory

_SHARED: BriefMemory[dict[str, str]] = BriefMemory()
_OWN: BriefMemory[str | None] = BriefMemory()
_NEEDED = {
    "approvals": "approval:read",
    "failures": "execution:read",
    "dead-letters": "dead_letter:read",
    "workers": "worker:read",
}


def read(drive: Drive, actor: Actor, permissions: Collection[str]) -> Mapping[str, str]:
    """Return the counts by name of entry; a count of nothing is left out."""
    found = dict(_SHARED.get(drive, lambda: _shared(drive)))
    if "approval:decide" in permissions:
        own = _OWN.get(drive, lambda: _own(drive, actor), (actor.id, actor.roles))
        if own is not None:
            found["approvals"] = own
    return {name: count for name, count in found.items() if _NEEDED[name] in permissions}


def _shared(drive: Drive) -> dict[str, str]:
    failures = sum(one.standing is Standing.PAUSED for one in drive.failures())
    letters = drive.store.read(partial(drive.store.dead_letters.count_pending, most=MOST))
    heard = sum(one.is_alive for one in drive.workers)
    found = {"failures": failures, "dead-letters": letters, "workers": heard}
    return {name: str(counted(count)) for name, count in found.items() if count}


def _own(drive: Drive, actor: Actor) -> str | None:
    mine = person_overview.read(drive, actor).group("mine")
    return None if mine is None else str(mine.count)
