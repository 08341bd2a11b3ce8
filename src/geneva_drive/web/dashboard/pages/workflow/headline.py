"""The first sentence of a workflow's page: its situation, and what makes it continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geneva_drive.display import moment_words
from geneva_drive.drive.activity.person_overview import waiting_sentence
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.states import Need, Outcome, WorkflowState
from geneva_drive.web.dashboard.pages.workflow.attempts import NodeAttempts
from geneva_drive.web.dashboard.pages.workflow.batch import BatchView
from geneva_drive.web.dashboard.shell.status_line import is_held_by_hand
from geneva_drive.web.dashboard.shell.words import number, plural


@dataclass(frozen=True, slots=True)
class Headline:
    """A short sentence, and the whole sentence of `why()` if that says more."""

    sentence: str
    details: str | None = None


def headline_of(
    drive: Drive,
    workflow: WorkflowHandle[Any],
    why: str,
    *,
    failure: NodeAttempts | None,
    batches: Sequence[BatchView],
    possible: Sequence[Consequence],
    reader: str,
) -> Headline:
    """Return the first sentence of the page; the error itself is in a box below it."""
    if workflow.needs is Need.PERSON:
        asked = waiting_sentence(drive, workflow.id, reader)
        return Headline(why) if asked is None else Headline(asked, why)
    if workflow.state is not WorkflowState.PAUSED or workflow.paused_at is None:
        return Headline(why)
    since = f"Paused since {moment_words(workflow.paused_at)}"
    if is_held_by_hand(workflow):
        return Headline(f"{since}{_by_hand(workflow)} It goes on when an operator resumes it.", why)
    if failure is None:
        return _of_batch(since, why, batches)
    return Headline(f"{since} because {_failed(failure)}. {_way_on(failure, possible)}", why)


def _of_batch(since: str, why: str, batches: Sequence[BatchView]) -> Headline:
    """Return how a batch stands whose workers failed; `why()` lists their errors."""
    failed = next((one.progress for one in batches if one.progress.failed), None)
    if failed is None:
        return Headline(why)
    count = f"{number(failed.failed)} of the {plural(failed.total, 'worker')} of `{failed.node}`"
    return Headline(f"{since} because {count} failed. It goes on when an operator resumes it.", why)


def _by_hand(workflow: WorkflowHandle[Any]) -> str:
    pauses = [one for one in workflow.audit_entries if one.command == "pause"]
    by = f" by {pauses[-1].actor}" if pauses and pauses[-1].actor else ""
    reason = workflow.paused_reason
    return f"{by}: “{reason}”" if reason else f"{by}."


def _failed(failure: NodeAttempts) -> str:
    latest, *earlier = failure.attempts
    times = f" {latest.number} times" if latest.number > 1 else ""
    # A policy reattempted the previous attempt, but not this one.
    ran_out = bool(earlier) and earlier[0].outcome == Outcome.REATTEMPTED_BY_EXCEPTION
    return f"`{failure.name}` failed{times}" + (" and its reattempts ran out" if ran_out else "")


def _way_on(failure: NodeAttempts, possible: Sequence[Consequence]) -> str:
    if any(one.command == "skip" for one in possible):
        return f"It goes on when an operator resumes or skips `{failure.name}`."
    return "It goes on when an operator resumes it."
