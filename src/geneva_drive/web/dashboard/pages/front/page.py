"""What needs whom: a person, an operator, the outside, workers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

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
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import number, plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive
from geneva_drive.web.security.gate import permissions_of
from geneva_drive.web.security.route_permissions import PAGES

router = APIRouter()

_Shared = tuple[OverviewParty, OverviewParty, OverviewParty]
_SHARED: BriefMemory[_Shared] = BriefMemory()
_OWN: BriefMemory[OverviewParty] = BriefMemory()
_UNNOTICED: BriefMemory[tuple[int, int]] = BriefMemory()
_LATEST = 50  # events that are looked at
_MOST_UNHEARD = 10  # of them that are looked at closely
_CHARTS: BriefMemory[list[Chart]] = BriefMemory()


@dataclass(frozen=True, slots=True)
class LeadPart:
    """A part of the first sentence; the strong ones are for the viewer."""

    words: str
    is_strong: bool = False
    href: str | None = None


@router.get("/")
def show(request: Request, drive: CurrentDrive, actor: CurrentActor) -> Response:
    found = read_overview(drive, actor)
    if is_first_run(drive, found):
        return show_first_run(request, drive)
    charts = _CHARTS.get(drive, lambda: read_charts(drive))
    values = {
        "overview": found,
        "lead": [*lead_of(found), *_unnoticed(drive, permissions_of(request))],
        "rows": {one.party: _groups(one, found.at) for one in found.parties},
        "due": _due(found.workers),
        "charts": charts,
    }
    return render(request, "pages/front.html", values, here="now")


def read_overview(drive: Drive, actor: Actor) -> Overview:
    """Return what needs whom; viewers share the parts that are the same for all."""
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
    """Return the number of due executions, without the group of silent workers."""
    queues = workers.group("queues")
    return SearchCount(0, is_exact=True) if queues is None else queues.count


def lead_of(found: Overview) -> list[LeadPart]:
    """Return the lead: what waits for the viewer, what is broken, whether the rest moves."""
    return [*_mine(found), *_broken(found), *_of_others(found), *_moving(found)]


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


def _of_others(found: Overview) -> list[LeadPart]:
    """Return the approvals of other people, if none waits for the viewer."""
    others = found.person.group("others")
    if others is None or found.person.group("mine") is not None:
        return []
    verb = "approval waits" if others.count.count == 1 else "approvals wait"
    return [LeadPart(f"{others.count} {verb} for others. ")]


def _moving(found: Overview) -> list[LeadPart]:
    due, outside = _due(found.workers), found.outside.count
    total = due.count + outside.count
    if not total:
        return []
    count = number(total) + ("" if due.is_exact and outside.is_exact else "+")
    verb = "moves by itself" if total == 1 else "move by themselves"
    if found.person.count.count or found.operator.count.count:
        return [LeadPart(f"The other {count} {verb}. ")]
    return [LeadPart(f"{count} {'workflow' if total == 1 else 'workflows'} {verb}. ")]


def _unnoticed(drive: Drive, permissions: Collection[str]) -> list[LeadPart]:
    """Return what stands still without a workflow: paused schedules, unheard events."""
    paused, unheard = _UNNOTICED.get(drive, lambda: (_paused(drive), _unheard(drive)))
    parts = []
    if paused and "schedule:read" in permissions:
        words = f"{plural(paused, 'schedule is', 'schedules are')} paused"
        parts += [LeadPart(words, href="/schedules"), LeadPart(". ")]
    if unheard and "event:read" in permissions:
        more = "At least " if unheard == _MOST_UNHEARD else ""
        words = f"{more}{plural(unheard, 'recent event')} reached no workflow"
        parts += [LeadPart(words, href="/events"), LeadPart(".")]
    return parts


def _paused(drive: Drive) -> int:
    return sum(one.is_paused for one in drive.schedules.list())


def _unheard(drive: Drive) -> int:
    """Count recent events that no workflow heard, although one waits for their type."""
    since = drive.clock.now() - timedelta(days=1)
    latest = [one for one in drive.published(limit=_LATEST) if one.published_at >= since]
    store, numbers = drive.store, [one.number for one in latest]
    heard = store.read(lambda connection: store.pages.heard_counts(connection, numbers))
    unheard = [one for one in latest if not any(heard[one.number])]
    return sum(bool(one.heard_by().near_misses) for one in unheard[:_MOST_UNHEARD])
