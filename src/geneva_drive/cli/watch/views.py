"""The forms of output of `geneva watch`: a redrawn terminal, plain lines, and JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from geneva_drive.cli.live.screen import Screen, is_redrawable
from geneva_drive.cli.output import loops
from geneva_drive.cli.output.approval_words import for_whom, state_words, title_line
from geneva_drive.cli.output.batches import words
from geneva_drive.cli.output.console import moment, plain, state_text
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.watch import frame
from geneva_drive.cli.watch.observer import WatchedBatch, WatchedStep, WatchedWorkflow
from geneva_drive.drive.elapsed import took
from geneva_drive.drive.views.execution_bodies import batch_body, execution_body, progress_body
from geneva_drive.states import StepState

_BETWEEN_PROGRESS_LINES = timedelta(seconds=5)
_BETWEEN_PROGRESS_BODIES = timedelta(seconds=1)
# Fields that do not count as a change; in a large graph, some of them differ each time.
_PASSING = frozenset({"why", "progress", "levels", "batches"})
_PASSING_OF_DYNAMIC = _PASSING | {"next_step_name", "updated_at"}


@dataclass(slots=True)
class Interval:
    """The shortest time between two lines of one kind."""

    span: timedelta
    due_at: datetime | None = None  # None: at once

    def is_due(self, now: datetime) -> bool:
        return self.due_at is None or now >= self.due_at

    def restart(self, now: datetime) -> None:
        self.due_at = now + self.span


class PlainView:
    """Prints a line for each change, and the progress of loops and levels every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_first = True
        self._requested: object = None
        self._known: dict[str, object] = {}
        self._standings: dict[object, str] = {}  # of approvals
        self._awaited: dict[object, str] = {}  # of waits for events
        self._done: list[int] = []
        self._levels: dict[int, int] = {}
        self._loop_interval = Interval(_BETWEEN_PROGRESS_LINES)
        self._level_interval = Interval(_BETWEEN_PROGRESS_LINES)
        self._batch_interval = Interval(_BETWEEN_PROGRESS_LINES)
        self._batches: dict[str, tuple[int, ...]] = {}

    def show(self, watched: WatchedWorkflow) -> None:
        requested = watched.workflow.requested
        if self._is_first:
            self._loop_interval.restart(watched.at)
            self._level_interval.restart(watched.at)
            self._batch_interval.restart(watched.at)
        if self._is_first or requested != self._requested:
            self._print(watched, headline(watched.workflow))
        if self._is_first and not watched.is_last:
            self._print(watched, plain(watched.why))
        # A dynamic workflow has too many nodes for a line each; its levels are printed instead.
        for step in watched.steps if watched.workflow.type is not None else ():
            self._show_step(watched, step)
        for batch in watched.batches:
            for worker in batch.workers:
                if not batch.is_large or worker.execution.state is StepState.FAILED:
                    self._show_step(watched, worker)
        self._show_approvals(watched)
        self._show_event_waits(watched)
        self._show_batches(watched)
        self._show_progress(watched)
        self._show_levels(watched)
        if watched.is_last:
            self._show_end(watched)
        self._is_first, self._requested = False, requested

    def _show_step(self, watched: WatchedWorkflow, step: WatchedStep) -> None:
        execution = step.execution
        standing = execution.id, execution.state
        if self._known.get(execution.node_id) == standing:
            return
        self._known[execution.node_id] = standing
        line = plain(f"{execution.node_id}, attempt {execution.attempt_number}: ")
        line.append(state_text(execution.state, execution.outcome))
        if execution.finished_at is not None and execution.started_at is not None:
            line.append(f", took {took(execution, watched.at)}")
        if step.progress is not None and execution.state is not StepState.IN_PROGRESS:
            line.append(f", {loops.words_alone(execution, step.progress)}")
        self._print(watched, line)

    def _show_approvals(self, watched: WatchedWorkflow) -> None:
        """Print the requests that are new, were escalated or have another vote."""
        for view in watched.approvals:
            standing = f"{state_words(view)}, for {for_whom(view)}"
            if self._standings.get(view.approval.id) != standing:
                self._standings[view.approval.id] = standing
                name = f"approval {view.approval.id} ({title_line(view.approval)})"
                self._print(watched, plain(f"{name}: {standing}"))

    def _show_event_waits(self, watched: WatchedWorkflow) -> None:
        """Print the waits for events that are new, or have heard one more."""
        for view in watched.event_waits:
            if self._awaited.get(view.wait.id) != view.words:
                self._awaited[view.wait.id] = view.words
                self._print(watched, plain(f"{view.wait.step_name} waits for {view.words}"))

    def _show_progress(self, watched: WatchedWorkflow) -> None:
        running = [loop for loop in watched.loops if loop.is_running]
        done = [loop.progress.done for loop in running]
        if done == self._done or not self._loop_interval.is_due(watched.at):
            return
        self._loop_interval.restart(watched.at)
        self._done = done
        for loop in running:
            self._print(watched, plain(f"{loop.step_name}: {loops.words(loop.progress)}"))

    def _show_batches(self, watched: WatchedWorkflow) -> None:
        """Print the batches that have progressed, if they are over or the interval has passed."""
        is_due = self._batch_interval.is_due(watched.at) or watched.is_last
        for batch in (each.progress for each in watched.batches):
            counts = batch.done, batch.failed, batch.items_done
            if self._batches.get(batch.node) != counts and (is_due or batch.is_over):
                self._batches[batch.node] = counts
                self._print(watched, plain(f"{batch.name}: {words(batch)}"))
        if is_due:
            self._batch_interval.restart(watched.at)

    def _show_levels(self, watched: WatchedWorkflow) -> None:
        """Print the levels that have progressed, if they are done or the interval has passed."""
        is_due = self._level_interval.is_due(watched.at) or watched.is_last
        for level in watched.levels:
            printed = self._levels.get(level.number, 0)
            if level.done != printed and (is_due or level.is_done):
                self._levels[level.number] = level.done
                self._print(watched, plain(f"{level.label} {level.figures}"))
        if is_due:
            self._level_interval.restart(watched.at)

    def _show_end(self, watched: WatchedWorkflow) -> None:
        if not self._is_first:
            self._print(watched, headline(watched.workflow))
        self._print(watched, plain(watched.why))

    def _print(self, watched: WatchedWorkflow, line: Text) -> None:
        at = Text(f"{moment(watched.at)} UTC  ", "dim")
        self._console.print(Text.assemble(at, line), soft_wrap=True)


class JsonView:
    """Prints the workflow as one line of JSON whenever it has changed."""

    def __init__(self) -> None:
        self._known: object = None
        self._done: object = None
        self._interval = Interval(_BETWEEN_PROGRESS_BODIES)

    def show(self, watched: WatchedWorkflow) -> None:
        body = _body(watched)
        is_dynamic = watched.workflow.type is None
        passing = _PASSING_OF_DYNAMIC if is_dynamic else _PASSING
        known = [body[name] for name in body if name not in passing]
        if not is_dynamic:
            known += [(step.execution.id, step.execution.state) for step in watched.steps]
        known += [_ends(batch) for batch in watched.batches]
        done = [loop.progress.done for loop in watched.loops] + [
            each.done for each in watched.levels
        ]
        done += [batch.progress.items_done for batch in watched.batches]
        is_due = self._interval.is_due(watched.at)
        if known == self._known and (done == self._done or not is_due):
            return
        self._known, self._done = known, done
        self._interval.restart(watched.at)
        click.echo(json.dumps(body))


def _body(watched: WatchedWorkflow) -> dict[str, Any]:
    # The steps of a chain run one after another, so there is at most one loop.
    progress = next((loop.progress for loop in watched.loops), None)
    body = {**execution_body(watched.workflow, watched.why), "progress": progress_body(progress)}
    if watched.levels:
        body["levels"] = [
            {"level": each.number, "names": each.names, "done": each.done, "total": each.total}
            for each in watched.levels
        ]
    if watched.event_waits:
        body["event_waits"] = [view.body for view in watched.event_waits]
    if watched.batches:
        body["batches"] = [batch_body(batch.progress) for batch in watched.batches]
    return body


def _ends(batch: WatchedBatch) -> tuple[object, ...]:
    """Return what counts as a change; if there are many workers, a single one does not."""
    progress = batch.progress
    done = None if batch.is_large else progress.done
    return progress.node, done, progress.failed, progress.is_over


View = Screen[WatchedWorkflow] | PlainView | JsonView


def for_console(console: Console) -> Screen[WatchedWorkflow] | PlainView:
    return Screen(console, frame.frame) if is_redrawable(console) else PlainView(console)
