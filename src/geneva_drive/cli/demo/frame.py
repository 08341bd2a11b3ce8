"""The demo's screen: the chapter, the workflows, progress bars and the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot
from geneva_drive.cli.live import parts
from geneva_drive.cli.live.levels import levels_of
from geneva_drive.cli.output import loops
from geneva_drive.cli.output.console import state_text
from geneva_drive.states import ACTIVE_STEP_STATES

_MARKS = {
    gd.StepState.COMPLETED: ("●", "green"),
    gd.StepState.SKIPPED: ("↷", "dim"),
    gd.StepState.IN_PROGRESS: ("◉", "bold yellow"),
    gd.StepState.WAITING: ("◉", "bold yellow"),
    gd.StepState.FAILED: ("✗", "bold red"),
}
_NOT_STARTED = ("○", "dim")
_MOST_LEVELS = 4
_FEWEST_LOG_LINES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that is drawn at one moment."""

    title: str
    text: str
    snapshot: Snapshot
    workers: Sequence[WorkerProcess]


def draw(console: Console, scene: Scene) -> RenderableType:
    """Draw the lower part of the terminal; the log scrolls by above it."""
    chapter = Panel(
        scene.text, title=Text(scene.title, "bold"), title_align="left", border_style="cyan"
    )
    below = Group(*progress_bars(console, scene), worker_line(scene))
    room = console.height - parts.height(console, chapter, below) - _FEWEST_LOG_LINES
    return Group(chapter, workflow_table(scene.snapshot, room - 1), below)


def workflow_table(snapshot: Snapshot, room: int) -> Table:
    """List the workflows; if they do not fit into `room`, leave out the ones that ended first."""
    table = Table(box=None, expand=True, header_style="dim")
    for name in ("workflow", "hero", "state", "steps", "attempts"):
        table.add_column(name, no_wrap=True)
    table.add_column("now", no_wrap=True, overflow="ellipsis", ratio=1)
    left_out = _left_out(snapshot.workflows, room)
    if left_out:
        table.add_row("...", f"{len(left_out)} ended", style="dim")
    for workflow in snapshot.workflows:
        if workflow.id not in left_out:
            attempts = max((e.attempt_number for e in workflow.executions), default=0)
            table.add_row(
                workflow.type,
                workflow.hero_name,
                state_text(workflow.state),
                step_marks(workflow),
                Text(str(attempts), "bold yellow" if attempts > 1 else "dim"),
                doing(workflow, snapshot),
            )
    return table


def _left_out(workflows: Sequence[WorkflowSnapshot], room: int) -> frozenset[Any]:
    if len(workflows) <= room:
        return frozenset()
    ended = sorted((one.finished_at, one.id) for one in workflows if one.finished_at)
    # One more, because the line that counts them takes a line as well.
    return frozenset(key for _, key in ended[: len(workflows) - room + 1])


def step_marks(workflow: WorkflowSnapshot) -> Text:
    """Return a mark for each step, and a single one for all nodes of a fan-out."""
    nodes, line = workflow.view().nodes, Text()
    for level in workflow.graph.levels:
        states = [nodes[name].state for name in level]
        if not workflow.fan_out_names.isdisjoint(level):
            states = states[:1] if len(set(states)) == 1 else [gd.StepState.IN_PROGRESS]
        for state in states:
            line.append(*_MARKS.get(state or gd.StepState.PENDING, _NOT_STARTED))
    return line


def doing(workflow: WorkflowSnapshot, snapshot: Snapshot) -> str:
    """Return a few words about the step that runs, or runs next."""
    if workflow.finished_at is not None:
        recovered = workflow.count(gd.Outcome.RECOVERED)
        after = f", {recovered} recovered" if recovered else ""
        return f"in {_seconds(workflow.created_at, workflow.finished_at)}{after}"
    if workflow.fan_out_names:
        return f"{len(workflow.done_names):,} of {len(workflow.step_names):,} nodes"
    active = [e for e in workflow.executions if e.state in ACTIVE_STEP_STATES]
    if len(active) > 1:
        return ", ".join(e.step_name for e in active)
    latest = next(iter(active or workflow.executions[-1:]), None)
    return "" if latest is None else _doing(latest, snapshot)


def _doing(latest: gd.StepExecution, snapshot: Snapshot) -> str:
    name, starts_at = latest.step_name, latest.scheduled_for
    match latest.state:
        case gd.StepState.IN_PROGRESS:
            return f"{name} on worker {snapshot.label_of(latest)}"
        case gd.StepState.WAITING:
            return f"{name} waits for its workflow"
        case gd.StepState.FAILED:
            return latest.error_message or ""
        case gd.StepState.SCHEDULED if latest.attempt_number > 1:
            return f"{name} again in {_seconds(snapshot.at, starts_at)}"
        case gd.StepState.SCHEDULED if starts_at > snapshot.at:
            return f"{name} in {(starts_at - snapshot.at) / snapshot.day:.1f} days"
        case _:
            return name


def progress_bars(console: Console, scene: Scene) -> Iterator[RenderableType]:
    """Yield the levels of running graphs, and the progress of the loop, red if it is lost."""
    for workflow in scene.snapshot.workflows:
        if workflow.is_parallel and workflow.finished_at is None:
            yield from parts.level_bars(console, levels_of(workflow.view()), _MOST_LEVELS)
    loop = scene.snapshot.loop
    if loop is not None and loop.progress is not None and not loop.completed_at:
        killed = {worker.label for worker in scene.workers if worker.was_killed}
        style = "bold red" if scene.snapshot.label_of(loop) in killed else "green"
        words, fraction = loops.items(loop.progress), loop.progress.fraction
        yield from parts.loop_bar(console, loop.step_name, words, fraction, style)


def worker_line(scene: Scene) -> Text:
    line = Text("workers", no_wrap=True, overflow="ellipsis")
    for worker in scene.workers:
        line.append(f"   {worker.label} ", "bold")
        line.append(*_worker_words(worker, scene.snapshot))
    return line


def _worker_words(worker: WorkerProcess, snapshot: Snapshot) -> tuple[str, str]:
    if worker.was_killed:
        ends_at = snapshot.leases.get(worker.label)
        lease = f", lease {_seconds(snapshot.at, ends_at)}" if ends_at else ""
        return f"killed{lease}", "bold red"
    count = len(snapshot.running_on(worker.label))
    return f"(pid {worker.pid}) {f'runs {count}' if count else 'idle'}", "yellow" if count else ""


def _seconds(since: datetime, until: datetime) -> str:
    return f"{max(0.0, (until - since).total_seconds()):.1f} s"
