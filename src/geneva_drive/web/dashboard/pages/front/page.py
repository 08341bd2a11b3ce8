"""What needs whom: a person, an operator, the outside, workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.activity import (
    operator_overview,
    outside_overview,
    person_overview,
    worker_overview,
)
from geneva_drive.drive.activity.overview_rows import Overview, OverviewParty
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.search import SearchCount
from geneva_drive.web.dashboard.pages.front.charts import Chart, read_charts
from geneva_drive.web.dashboard.pages.front.first_run import is_first_run, show_first_run
from geneva_drive.web.dashboard.pages.front.rows import FrontRow, rows_of
from geneva_drive.web.dashboard.shell.brief_memory import BriefMemory
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import number, plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive
from geneva_drive.web.security.route_permissions import PAGES

router = APIRouter()

_Shared = tuple[OverviewParty, OverviewParty, OverviewParty]
_SHARED: BriefMemory[_Shared] = BriefMemory()
_OWN: BriefMemory[OverviewParty] = BriefMemory()
_CHARTS: BriefMemory[list[Chart]] = BriefMemory()


@dataclass(frozen=True, slots=True)
class LeadPart:
    """A part of the first sentence; the strong ones are for the viewer."""

    words: str
    is_strong: bool = False


@router.get("/")
def show(request: Request, drive: CurrentDrive, actor: CurrentActor) -> Response:
    found = read_overview(drive, actor)
    if is_first_run(drive, found):
        return show_first_run(request, drive)
    charts = _CHARTS.get(drive, lambda: read_charts(drive))
    values = {
        "overview": found,
        "lead": lead_of(found),
        "rows": {one.party: _groups(one, found.at) for one in found.parties},
        "due": _due(found.workers),
        "charts": charts,
    }
    return render(request, "pages/front.html", values, here="now")


def read_overview(drive: Drive, actor: Actor) -> Overview:
    """Return what needs whom; all viewers share what does not depend on them."""
    operator, outside, workers = _SHARED.get(
        drive,
        lambda: (
            operator_overview.read(drive),
            outside_overview.read(drive),
            worker_overview.read(drive),
        ),
    )
    person = _OWN.get(drive, lambda: person_overview.read(drive, actor), (actor.id, actor.roles))
    return Overview(
        person=person, operator=operator, outside=outside, workers=workers, at=drive.clock.now()
    )


def _groups(party: OverviewParty, now: datetime) -> list[tuple[str, str, list[FrontRow]]]:
    """Return each group as its title, its count and its rows."""
    return [
        (one.title, "" if one.key == "queues" else str(one.count), rows_of(one, now, PAGES))
        for one in party.groups
    ]


def _due(workers: OverviewParty) -> SearchCount:
    """Return how much workers have to do; silent workers are no work."""
    queues = workers.group("queues")
    return SearchCount(0, is_exact=True) if queues is None else queues.count


def lead_of(found: Overview) -> list[LeadPart]:
    """Return the first sentence: is something mine, is something broken, does the rest move."""
    return [*_mine(found), *_broken(found), *_moving(found)]


def _mine(found: Overview) -> list[LeadPart]:
    mine = found.person.group("mine")
    if mine is None:
        return []
    verb = "approval is" if mine.count.count == 1 else "approvals are"
    first = mine.rows[0].until
    when = [LeadPart(". ")]
    if first is not None:
        when = [LeadPart(f", the first until {first:%Y-%m-%d %H:%M:%S} UTC. ")]
    return [LeadPart(f"{mine.count} {verb} yours", is_strong=True), *when]


def _broken(found: Overview) -> list[LeadPart]:
    failures = found.operator.group("failures")
    if failures is None:
        others = found.operator.count
        if not others.count:
            return [LeadPart("Nothing is broken. ")]
        verb = "waits" if others.count == 1 else "wait"
        return [LeadPart(f"{others} {verb} for an operator. ", is_strong=True)]
    kinds = int(failures.title.split()[2].replace(",", ""))
    verb = "holds" if kinds == 1 else "hold"
    return [
        LeadPart(f"{plural(kinds, 'kind')} of failure", is_strong=True),
        LeadPart(
            f" {verb} {failures.count} {'workflow' if failures.count.count == 1 else 'workflows'}. "
        ),
    ]


def _moving(found: Overview) -> list[LeadPart]:
    due, outside = _due(found.workers), found.outside.count
    total = due.count + outside.count
    if not total:
        return []
    count = number(total) + ("" if due.is_exact and outside.is_exact else "+")
    verb = "moves by itself" if total == 1 else "move by themselves"
    return [LeadPart(f"The other {count} {verb}.")]
