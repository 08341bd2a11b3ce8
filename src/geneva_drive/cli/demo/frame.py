"""The demo's screen: the chapter with its code, the workflows, progress bars and the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo.code_listing import Code, lines_of, listing
from geneva_drive.cli.demo.marks import legend, mark_of
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot
from geneva_drive.cli.live import parts
from geneva_drive.cli.output import loops
from geneva_drive.cli.output.console import state_text
from geneva_drive.cli.output.names import name_of
from geneva_drive.states import ACTIVE_STEP_STATES

_BAR_WIDTH = 40
_LOG_SHARE = 8  # one line in eight, at least, is left to the log


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the story: its title, its text, and the code that runs meanwhile."""

    title: str = ""
    text: str = ""
    code: Code | None = None

    @property
    def workflow_type(self) -> str | None:
        return self.code.__name__ if self.code else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that is drawn at one moment."""

    chapter: Chapter
    snapshot: Snapshot
    workers: Sequence[WorkerProcess]


def draw(console: Console, scene: Scene) -> RenderableType:
    """Draw the lower part of the terminal; the log scrolls by above it."""
    chapter, workflows = scene.chapter, scene.snapshot.workflows
    below = Group(*progress_bars(console, scene), worker_line(scene), legend())
    taken = parts.height(console, _panel(chapter), below)
    room = console.height - console.height // _LOG_SHARE - taken - 1
    own = scene.snapshot.of_type(chapter.workflow_type)
    code_length = len(lines_of(chapter.code)) if chapter.code else 0
    rows = min(len(workflows), room, max(len(own) + 1, room - code_length))
    code = listing(chapter.code, own, room - rows) if chapter.code else None
    table = workflow_table(scene.snapshot, rows, chapter.workflow_type)
    return Group(_panel(chapter, code), table, below)


def _panel(chapter: Chapter, code: Text | None = None) -> Panel:
    content = Group(Text(chapter.text, "italic"), *([code] if code else []))
    title = Text(chapter.title, "bold")
    return Panel(content, title=title, title_align="left", border_style="cyan")


def workflow_table(snapshot: Snapshot, room: int, workflow_type: str | None = None) -> Table:
    """List the workflows; if `room` is small, those of a type and the latest of the others."""
    table = Table(box=None, expand=True, header_style="dim")
    for name in ("id", "workflow", "state", "steps", "attempts"):
        table.add_column(name, no_wrap=True)
    table.add_column("now", no_wrap=True, overflow="ellipsis", ratio=1)
    left_out = _left_out(snapshot.workflows, room, workflow_type)
    if left_out:
        table.add_row("", f"... {len(left_out)} more", style="dim")
    for workflow in snapshot.workflows:
        if workflow.id not in left_out:
            attempts = max((e.attempt_number for e in workflow.executions), default=0)
            table.add_row(
                str(workflow.id),
                workflow.title,
                state_text(workflow.state),
                step_marks(workflow),
                Text(str(attempts), "bold yellow" if attempts > 1 else "dim"),
                doing(workflow, snapshot),
            )
    return table


def _left_out(
    workflows: Sequence[WorkflowSnapshot], room: int, workflow_type: str | None
) -> frozenset[Any]:
    if len(workflows) <= room:
        return frozenset()
    by_interest = sorted(workflows, key=lambda one: (one.type == workflow_type, one.created_at))
    # One more, for the line that counts them.
    return frozenset(one.id for one in by_interest[: len(workflows) - room + 1])


def step_marks(workflow: WorkflowSnapshot) -> Text:
    """Return a mark for each step, and a single one for all nodes of a fan-out."""
    known, line = workflow.states(), Text()
    for level in workflow.graph.levels:
        groups = [known.get(name, [None]) for name in level]
        is_fan_out = not workflow.fan_out_names.isdisjoint(level)
        for together in [list(chain(*groups))] if is_fan_out else groups:
            line.append(mark_of(together).text)
    return line


def doing(workflow: WorkflowSnapshot, snapshot: Snapshot) -> str:
    """Return a few words about the step that runs, or runs next."""
    if workflow.finished_at is not None:
        recovered = workflow.count(gd.Outcome.RECOVERED)
        after = f", {recovered} recovered" if recovered else ""
        return f"in {_seconds(workflow.created_at, workflow.finished_at)}{after}"
    if workflow.fan_out_names:
        return f"{len(workflow.done_names):,} of {len(workflow.step_names):,} nodes"
    request = workflow.request
    if request is not None and request.expires_at is not None:
        return f"{request.role}, {_days(snapshot, request.expires_at)} left"
    wait = workflow.event_wait
    if wait is not None:
        left = f", {_days(snapshot, wait.expires_at)} left" if wait.expires_at else ""
        return f"{' or '.join(wait.patterns)} {wait.awaited_key}".rstrip() + left
    active = [e for e in workflow.executions if e.state in ACTIVE_STEP_STATES]
    if len(active) > 1:
        return ", ".join(name_of(e) for e in active)
    failed = [e for e in workflow.workers if e.state is gd.StepState.FAILED]
    latest = next(iter(active or failed or workflow.executions[-1:]), None)
    return "" if latest is None else _doing(latest, snapshot)


def _doing(latest: gd.StepExecution, snapshot: Snapshot) -> str:
    name, starts_at = name_of(latest), latest.scheduled_for
    match latest.state:
        case gd.StepState.IN_PROGRESS:
            return f"{name} on worker {snapshot.label_of(latest)}"
        case gd.StepState.FAILED:
            return latest.error_message or ""
        case gd.StepState.SCHEDULED if latest.attempt_number > 1:
            return f"{name} again in {_seconds(snapshot.at, starts_at)}"
        case gd.StepState.SCHEDULED if starts_at > snapshot.at:
            return f"{name} in {_days(snapshot, starts_at)}"
        case _:
            return name


def progress_bars(console: Console, scene: Scene) -> Iterator[RenderableType]:
    """Yield the progress of a fan-out, of a batch, and of the loop, red if it is lost."""
    for workflow in scene.snapshot.workflows:
        if workflow.workers and workflow.finished_at is None:
            yield batch_bars(scene, workflow.workers)
        if workflow.fan_out_names and workflow.finished_at is None:
            done = len(workflow.done_names) / len(workflow.step_names)
            yield from parts.loop_bar(console, workflow.type, doing(workflow, scene.snapshot), done)
    loop = scene.snapshot.loop
    if loop is not None and loop.progress is not None and not loop.completed_at:
        words, fraction = loops.items(loop.progress), loop.progress.fraction
        yield from parts.loop_bar(console, loop.step_name, words, fraction, _style(loop, scene))


def batch_bars(scene: Scene, workers: Sequence[gd.StepExecution]) -> Table:
    """Draw a line with a bar for each worker of a batch."""
    table = Table.grid(padding=(0, 2))
    for worker in workers:
        progress, style = worker.progress, _style(worker, scene)
        if progress and progress.total and worker.completed_at:
            progress = replace(progress, done=progress.total)  # its last rows save no checkpoint
        done = (progress.fraction or 0.0) if progress else 0.0
        bar = ProgressBar(total=1.0, completed=done, width=_BAR_WIDTH, complete_style=style)
        where = f"worker {scene.snapshot.label_of(worker)}" if worker.worker_id else ""
        state = Text(worker.state, style if worker.state is gd.StepState.FAILED else "")
        items = loops.items(progress) if progress else ""
        table.add_row(Text(worker.node_id, "bold"), bar, items, state, where)
    return table


def _style(loop: gd.StepExecution, scene: Scene) -> str:
    """Return the style of a loop's bar: red if it has failed, or if its worker is dead."""
    killed = {worker.label for worker in scene.workers if worker.was_killed}
    is_lost = loop.state is gd.StepState.IN_PROGRESS and scene.snapshot.label_of(loop) in killed
    return "bold red" if is_lost or loop.state is gd.StepState.FAILED else "green"


def worker_line(scene: Scene) -> Text:
    line, leases = Text("workers", no_wrap=True, overflow="ellipsis"), scene.snapshot.leases
    gone = [one.label for one in scene.workers if one.was_killed and one.label not in leases]
    if gone:
        line.append(f"   {' '.join(gone)} killed", "red")
    for worker in scene.workers:
        if worker.label not in gone:
            line.append(f"   {worker.label} ", "bold")
            line.append(*_worker_words(worker, scene.snapshot))
    return line


def _worker_words(worker: WorkerProcess, snapshot: Snapshot) -> tuple[str, str]:
    if worker.was_killed:
        return f"killed, lease {_seconds(snapshot.at, snapshot.leases[worker.label])}", "bold red"
    count = len(snapshot.running_on(worker.label))
    return f"(pid {worker.pid}) {f'runs {count}' if count else 'idle'}", "yellow" if count else ""


def _days(snapshot: Snapshot, until: datetime) -> str:
    return f"{max(0.0, (until - snapshot.at) / snapshot.day):.1f} days"


def _seconds(since: datetime, until: datetime) -> str:
    return f"{max(0.0, (until - since).total_seconds()):.1f} s"
