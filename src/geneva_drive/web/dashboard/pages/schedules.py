"""Schedules: the next run, the last runs, and why runs were skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.schedules import Schedule, ScheduleRun
from geneva_drive.drive.search.search import active_of
from geneva_drive.states import MissedRuns, Overlap, SkippedReason
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive

router = APIRouter()

_NEXT_SHOWN = 5
_RUNS_SHOWN = 50
OVERLAP_WORDS = {
    Overlap.SKIP: "the run is skipped",
    Overlap.QUEUE: "the run waits for its end",
    Overlap.CANCEL_RUNNING: "it is canceled",
    Overlap.ALLOW: "both run",
}
MISSED_WORDS = {
    MissedRuns.LATEST: "only the newest is made up for",
    MissedRuns.SKIP: "none is made up for",
    MissedRuns.ALL: "each is made up for, in order",
}
_NOW_WORDS = {
    Overlap.SKIP: "If the workflow of its run before is ongoing, this run is skipped.",
    Overlap.QUEUE: "If the workflow of its run before is ongoing, this run waits for its end.",
    Overlap.CANCEL_RUNNING: "If the workflow of its run before is ongoing, it is canceled first.",
    Overlap.ALLOW: "It runs beside those that are ongoing.",
}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, in words."""

    run: ScheduleRun

    @property
    def look(self) -> tuple[str, str]:
        """Return the glyph and the hue."""
        if self.run.skipped_reason is SkippedReason.MISSED:
            return "late", "held"
        return {
            "started": ("ready", "rest"),
            "queued": ("scheduled", "rest"),
            "skipped": ("skipped", "quiet"),
        }[self.run.state]

    @property
    def word(self) -> str:
        is_missed = self.run.skipped_reason is SkippedReason.MISSED
        return "missed" if is_missed else self.run.state

    @property
    def sentence(self) -> str:
        by = f"By hand{f', by {self.run.actor}' if self.run.actor else ''}. "
        return (by if self.run.is_manual else "") + self._why

    @property
    def _why(self) -> str:
        run = self.run
        match run.skipped_reason:
            case SkippedReason.OVERLAP:
                blocked = "" if run.blocked_by is None else f" {run.blocked_by}"
                return f"Workflow{blocked} of an earlier run was ongoing."
            case SkippedReason.MISSED:
                return "No worker ran when it was due."
            case SkippedReason.PAUSED:
                return "The schedule was paused."
            case None:
                return (
                    "Starts when the previous workflow has ended." if run.state == "queued" else ""
                )


@router.get("/schedules")
def show_all(request: Request, drive: CurrentDrive) -> Response:
    found = drive.schedules.list()
    values = {
        "schedules": [
            (one, None if one.last_run is None else RunRow(one.last_run)) for one in found
        ],
        "soonest": min(
            (one for one in found if one.next_at is not None),
            key=lambda one: (one.next_at, one.type),
            default=None,
        ),
        "rest": _rest(found),
        "overlap_words": OVERLAP_WORDS,
        "quoted": _quoted,
    }
    return render(request, "pages/schedules.html", values, here="schedules")


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _rest(found: list[Schedule]) -> str:
    """Return the sentences after the one on the next run."""
    paused = sum(one.is_paused for one in found)
    missed = sum(
        one.last_run is not None and one.last_run.skipped_reason is SkippedReason.MISSED
        for one in found
    )
    skipped = sum(one.last_run is not None and one.last_run.state == "skipped" for one in found)
    parts = []
    if paused:
        parts.append(f"{plural(paused, 'is', 'are')} paused.")
    if missed:
        parts.append(f"{plural(missed, 'missed its', 'missed their')} last run.")
    if skipped > missed:
        parts.append(f"{plural(skipped - missed, 'skipped its', 'skipped their')} last run.")
    return " ".join(parts)


@router.get("/schedules/{type}")
def show(request: Request, drive: CurrentDrive, type: str, confirm: str | None = None) -> Response:
    schedule = drive.schedules.get(type)
    runs = drive.schedules.runs(type, _RUNS_SHOWN)
    values = {
        "schedule": schedule,
        "path": f"/schedules/{_quoted(type)}",
        "next": drive.schedules.next(type, _NEXT_SHOWN),
        "own_clock": partial(own_clock, schedule.timezone),
        "workflows": _workflows(drive, runs),
        "runs": [RunRow(one) for one in runs],
        "most": _RUNS_SHOWN,
        "lost": _lost([RunRow(one) for one in runs]),
        "question": questions(schedule).get(confirm or ""),
        "is_late": confirm in ("pause", "resume", "run") and confirm not in questions(schedule),
        "commands": questions(schedule),
        "overlap_words": OVERLAP_WORDS,
        "missed_words": MISSED_WORDS,
    }
    return render(request, "pages/schedule.html", values, here="schedules")


def _lost(runs: Sequence[RunRow]) -> str:
    """Return how many of the listed runs started no workflow."""
    counts = Counter(one.word for one in runs)
    found = [
        f"{counts[word]} {'was' if counts[word] == 1 else 'were'} {word}"
        for word in ("missed", "skipped")
        if counts[word]
    ]
    return f" Of its last {plural(len(runs), 'run')}, {' and '.join(found)}." if found else ""


def own_clock(timezone: str, at: datetime) -> str:
    """Return a moment in the schedule's own zone, such as "02:00 Berlin"; nothing in UTC."""
    if timezone == "UTC":
        return ""
    place = timezone.rpartition("/")[2].replace("_", " ")
    return f"{at.astimezone(ZoneInfo(timezone)):%H:%M} {place}"


def _workflows(drive: Drive, runs: Sequence[ScheduleRun]) -> dict[Any, WorkflowHandle[Any]]:
    """Read the workflows of runs that are still stored."""
    store = drive.store
    ids = [one.workflow_id for one in runs if one.workflow_id is not None]

    def read(connection: Connection) -> dict[Any, WorkflowHandle[Any]]:
        records = store.workflows.get_many(connection, ids)
        active = active_of(connection, drive, list(records.values()))
        return {key: drive.open_handle(one, active.get(key)) for key, one in records.items()}

    return store.read(read)


@dataclass(frozen=True, slots=True)
class ScheduleQuestion:
    """A command that is possible now, with its consequence."""

    name: str
    words: str  # of its button
    title: str
    sentence: str


def questions(schedule: Schedule) -> dict[str, ScheduleQuestion]:
    """Return the commands that are possible, by name."""
    name = schedule.type
    stays = " The schedule stays paused." if schedule.is_paused else " The plan stays as it is."
    found = [
        ScheduleQuestion(
            "run",
            "Run now",
            f"Run {name} now?",
            f"Starts a workflow of `{name}` now. {_NOW_WORDS[schedule.overlap]}{stays}",
        )
    ]
    if schedule.is_paused:
        found.append(
            ScheduleQuestion(
                "resume",
                "Resume",
                f"Resume the schedule of {name}?",
                "Its next run starts at its next moment. Runs that were due while it was paused "
                "are not made up for.",
            )
        )
    else:
        found.append(
            ScheduleQuestion(
                "pause",
                "Pause",
                f"Pause the schedule of {name}?",
                "No run starts until it is resumed; runs that are due meanwhile are recorded as "
                "skipped. Ongoing workflows continue.",
            )
        )
    return {one.name: one for one in found}


@router.post("/schedules/{type}/pause")
def pause(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm, type: str
) -> Response:
    done = FlashMessage("Paused", f"No run of `{type}` starts until the schedule is resumed.")
    act = partial(drive.schedules.pause, type, actor.id, form.text("reason"))
    return _give(request, form, type, act, done)


@router.post("/schedules/{type}/resume")
def resume(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm, type: str
) -> Response:
    done = FlashMessage("Resumed", f"The schedule of `{type}` starts its runs again.")
    act = partial(drive.schedules.resume, type, actor.id, form.text("reason"))
    return _give(request, form, type, act, done)


@router.post("/schedules/{type}/run")
def run(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm, type: str
) -> Response:
    found: list[ScheduleRun] = []
    return _give(
        request,
        form,
        type,
        lambda: found.append(drive.schedules.run_now(type, actor.id, form.text("reason"))),
        lambda: _answer(drive, found[0]),
    )


def _answer(drive: Drive, run: ScheduleRun) -> FlashMessage:
    drive.wake_workers()
    if run.state == "started":
        return FlashMessage(
            "Started",
            f"Workflow {run.workflow_id} of `{run.type}` runs as soon as a worker is free.",
            link=f"/workflows/{run.workflow_id}",
            link_words="See the workflow",
        )
    if run.state == "queued":
        return FlashMessage("Queued", "The run starts when the previous workflow has ended.")
    return FlashMessage("Skipped", f"No workflow was started. {RunRow(run).sentence}", "late")


def _give(
    request: Request,
    form: PostedForm,
    type: str,
    act: Callable[[], Any],
    done: FlashMessage | Callable[[], FlashMessage],
) -> Response:
    back = f"/schedules/{_quoted(type)}"
    return command.run(request, form, back=back, act=act, done=done)
