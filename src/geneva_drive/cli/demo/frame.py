"""A snapshot as tables and lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo.changes import News
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot
from geneva_drive.cli.output import loops
from geneva_drive.states import ACTIVE_STEP_STATES

_STATE_STYLES = {
    gd.WorkflowState.READY: "cyan",
    gd.WorkflowState.PERFORMING: "bold yellow",
    gd.WorkflowState.PAUSED: "bold red",
    gd.WorkflowState.FINISHED: "green",
    gd.WorkflowState.CANCELED: "dim",
}
_DONE, _SKIPPED, _RUNNING, _FAILED, _TO_COME = range(5)
_MARKS = ("●", "↷", "◉", "✗", "○")
_ASCII_MARKS = ("#", "-", "*", "x", ".")
_MARK_STYLES = ("green", "dim", "bold yellow", "bold red", "dim")
_WIDE = 100
_HIGH = 30
_FEWEST_LOG_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that is on the screen at one moment."""

    title: str
    text: str
    snapshot: Snapshot
    crew: Sequence[WorkerProcess]
    log: Sequence[News]
    started_at: datetime


def frame(console: Console, scene: Scene) -> RenderableType:
    """Fill the terminal: what is happening, to whom, by whom, and what has happened."""
    gap = [Text()] if console.height >= _HIGH else []
    ascii_only = console.options.ascii_only
    above = Group(
        _masthead(scene.snapshot, scene.started_at), _headline(console, scene.title, scene.text)
    )
    below = Group(
        *gap,
        *graph_grid(scene.snapshot, ascii_only=ascii_only),
        *(fan_out_line(scene.snapshot) or loop_line(scene.snapshot, scene.crew)),
        worker_line(scene.snapshot, scene.crew),
        *gap,
    )
    # One line less than there are: writing into the last one would scroll some terminals.
    room = console.height - _height(console, above) - _height(console, below) - 1
    table = workflow_table(scene.snapshot, ascii_only=ascii_only, room=room - _FEWEST_LOG_LINES)
    newest = scene.log[-max(1, room - _height(console, table)) :]
    log = (log_line(news, scene.started_at) for news in newest)
    return Group(above, table, below, *log)


def _height(console: Console, part: RenderableType) -> int:
    return len(console.render_lines(part, pad=False))


def _masthead(snapshot: Snapshot, started_at: datetime) -> RenderableType:
    elapsed = (snapshot.at - started_at).total_seconds()
    line = Table.grid(expand=True)
    line.add_column()
    line.add_column(justify="right")
    line.add_row(
        Text.assemble((" GenevaDrive demo ", "bold reverse"), "  one SQLite file"),
        Text(f"a day lasts {snapshot.day.total_seconds():.1f} s here   {elapsed:4.1f} s "),
    )
    return line


def _headline(console: Console, title: str, text: str) -> RenderableType:
    inside = Text(text)
    # Always of the same height, so that the table beneath does not jump.
    height = 2 if console.width >= _WIDE else 3
    lines = len(inside.wrap(console, console.width - 4))
    inside.append("\n" * max(0, height - lines))
    return Panel(inside, title=Text(title, "bold"), title_align="left", border_style="cyan")


def workflow_table(snapshot: Snapshot, *, ascii_only: bool, room: int) -> Table:
    """List the workflows; if there are more than fit, those that ended first are left out."""
    table = Table(box=None, expand=True, padding=(0, 1), header_style="dim")
    for name in ("workflow", "hero", "state", "steps"):
        table.add_column(name, no_wrap=True)
    table.add_column("attempts", justify="right", no_wrap=True)
    table.add_column("now", no_wrap=True, ratio=1, overflow="ellipsis")
    left_out = _left_out(snapshot.workflows, room - 1)
    if left_out:
        table.add_row("...", f"{len(left_out)} ended", style="dim")
    for workflow in snapshot.workflows:
        if workflow.id in left_out:
            continue
        table.add_row(
            workflow.type,
            workflow.hero_name,
            state_text(workflow),
            step_marks(workflow, ascii_only=ascii_only),
            attempts_text(workflow),
            Text(doing(workflow, snapshot)),
        )
    return table


def _left_out(workflows: Sequence[WorkflowSnapshot], room: int) -> frozenset[Any]:
    if len(workflows) <= room:
        return frozenset()
    ended = sorted((one.finished_at, one.id) for one in workflows if one.finished_at)
    # The line that says so takes room as well.
    return frozenset(key for _, key in ended[: len(workflows) - room + 1])


def state_text(workflow: WorkflowSnapshot) -> Text:
    return Text(workflow.state, _STATE_STYLES[workflow.state])


def attempts_text(workflow: WorkflowSnapshot) -> Text:
    """Count the attempts at the step that took the most of them."""
    most = max((e.attempt_number for e in workflow.executions), default=0)
    return Text(str(most), "bold yellow" if most > 1 else "dim")


def step_marks(workflow: WorkflowSnapshot, *, ascii_only: bool) -> Text:
    """Draw a mark for each node, and one for all of a crowd."""
    crowd, by_name = workflow.crowd, workflow.attempts_by_name()
    line = Text()
    for step_name in workflow.step_names:
        if step_name not in crowd:
            line.append(mark(by_name[step_name], ascii_only=ascii_only))
    if crowd:
        many = _standing_together([by_name[name] for name in crowd])
        line = Text.assemble(_mark(many, ascii_only=ascii_only), line)
    return line


def mark(attempts: Sequence[gd.StepExecution], *, ascii_only: bool) -> Text:
    return _mark(_standing(attempts), ascii_only=ascii_only)


def _mark(standing: int, *, ascii_only: bool) -> Text:
    marks = _ASCII_MARKS if ascii_only else _MARKS
    return Text(marks[standing], _MARK_STYLES[standing])


def _standing_together(crowd: Sequence[Sequence[gd.StepExecution]]) -> int:
    standings = {_standing(attempts) for attempts in crowd}
    return _RUNNING if len(standings) > 1 else standings.pop()


def _standing(attempts: Sequence[gd.StepExecution]) -> int:
    if not attempts:
        return _TO_COME
    match attempts[-1].state:
        case gd.StepState.COMPLETED:
            return _DONE
        case gd.StepState.SKIPPED:
            return _SKIPPED
        case gd.StepState.IN_PROGRESS | gd.StepState.WAITING:
            return _RUNNING
        case gd.StepState.FAILED:
            return _FAILED
        case _:
            return _TO_COME


def doing(workflow: WorkflowSnapshot, snapshot: Snapshot) -> str:
    """Say in a few words what a workflow is at."""
    if workflow.finished_at is not None:
        return f"took {_seconds(workflow.finished_at, workflow.created_at)}"
    if workflow.crowd:
        return nodes_words(workflow)
    active = [e for e in workflow.executions if e.state in ACTIVE_STEP_STATES]
    if len(active) > 1:
        return ", ".join(e.step_name for e in active)
    if not workflow.executions:
        return ""
    latest = (active or workflow.executions)[-1]
    match latest.state:
        case gd.StepState.IN_PROGRESS:
            return f"{latest.step_name} on worker {snapshot.label_of(latest)}"
        case gd.StepState.WAITING:
            return f"{latest.step_name} waits for its workflow"
        case gd.StepState.FAILED:
            return latest.error_message or ""
        case gd.StepState.SCHEDULED if latest.attempt_number > 1:
            return f"{latest.step_name} again in {_seconds(latest.scheduled_for, snapshot.at)}"
        case gd.StepState.SCHEDULED if latest.scheduled_for > snapshot.at:
            days = (latest.scheduled_for - snapshot.at) / snapshot.day
            return f"{latest.step_name} in {days:.1f} days"
        case _:
            return latest.step_name


def graph_grid(snapshot: Snapshot, *, ascii_only: bool) -> Iterator[RenderableType]:
    """Draw graphs under way, level by level, with what runs at the same time side by side."""
    for workflow in snapshot.workflows:
        if workflow.finished_at is not None or not workflow.is_parallel or workflow.crowd:
            continue
        by_name = workflow.attempts_by_name()
        levels = workflow.graph.levels
        grid = Table.grid(padding=(0, 1))
        for _ in levels:
            grid.add_column(no_wrap=True)
        for row in zip_longest(*levels):
            grid.add_row(*(_cell(name, by_name, ascii_only=ascii_only) for name in row))
        yield Padding(grid, (0, 0, 0, 1))


def _cell(
    name: str | None, by_name: Mapping[str, Sequence[gd.StepExecution]], *, ascii_only: bool
) -> Text:
    if name is None:
        return Text()
    attempts = by_name[name]
    times = f" x{len(attempts)}" if len(attempts) > 1 else ""
    return Text.assemble(mark(attempts, ascii_only=ascii_only), f" {name}{times}")


def fan_out_line(snapshot: Snapshot) -> list[RenderableType]:
    """Draw how many nodes of the latest fan-out are done."""
    workflow = snapshot.fan_out
    if workflow is None:
        return []
    fraction = len(workflow.done_names()) / len(workflow.step_names)
    return [_bar_line(workflow.type, fraction, nodes_words(workflow), "green")]


def nodes_words(workflow: WorkflowSnapshot) -> str:
    return f"{len(workflow.done_names()):,} of {len(workflow.step_names):,} nodes"


def loop_line(snapshot: Snapshot, crew: Sequence[WorkerProcess]) -> Iterator[RenderableType]:
    """Draw how far the loop has come, which stands still while nobody runs it."""
    loop = snapshot.loop
    if loop is None:
        return
    holder = snapshot.label_of(loop)
    is_lost = any(worker.label == holder and worker.was_killed for worker in crew)
    style = "bold red" if is_lost and loop.finished_at is None else "green"
    fraction = (loop.progress.fraction if loop.progress else None) or 0.0
    yield _bar_line(loop.step_name, fraction, loop_words(loop), style)


def _bar_line(name: str, fraction: float, words: str, style: str) -> RenderableType:
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(no_wrap=True)
    line.add_column(ratio=1)
    line.add_column(no_wrap=True)
    bar = ProgressBar(
        total=1.0, completed=fraction, complete_style=style, finished_style=style, width=None
    )
    line.add_row(f" {name}", bar, Text(f"{words} ", style))
    return line


def loop_words(loop: gd.StepExecution) -> str:
    progress = loop.progress
    assert progress is not None, "a loop has progress"
    return loops.items(progress)


def worker_line(snapshot: Snapshot, crew: Sequence[WorkerProcess]) -> Text:
    line = Text(" workers", no_wrap=True, overflow="ellipsis")
    for worker in crew:
        line.append(f"   {worker.label} ", "bold")
        if not worker.was_killed:
            line.append(f"(pid {worker.pid}) ")
        line.append(_worker_state(worker, snapshot))
    return line


def _worker_state(worker: WorkerProcess, snapshot: Snapshot) -> Text:
    if worker.was_killed:
        ends_at = snapshot.leases.get(worker.label)
        lease = "" if ends_at is None else f", lease ends in {_seconds(ends_at, snapshot.at)}"
        return Text(f"killed{lease}", "bold red")
    count = sum(snapshot.label_of(execution) == worker.label for execution in snapshot.running)
    return Text(f"runs {count}", "yellow") if count else Text("idle", "dim")


def log_line(news: News, started_at: datetime) -> Text:
    elapsed = (news.at - started_at).total_seconds()
    return Text.assemble(
        (f"{elapsed:5.1f} s  ", "dim"), (news.text, news.style), no_wrap=True, overflow="ellipsis"
    )


def _seconds(until: datetime, since: datetime) -> str:
    return f"{max(0.0, (until - since).total_seconds()):.1f} s"
