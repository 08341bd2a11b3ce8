"""What really happened, at the end of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo import frame, promises
from geneva_drive.cli.demo.snapshot import Effects, Kill, Snapshot, WorkflowSnapshot


def report(console: Console, snapshot: Snapshot, effects: Effects, kills: Sequence[Kill]) -> bool:
    """Print the table and the sums; say whether they are what was promised."""
    console.print()
    console.print(_table(snapshot))
    console.print()
    step_faults = promises.step_faults(snapshot.workflows)
    _print(console, _summary(snapshot, kills, "no" if step_faults else "yes"), "bold")
    _print(console, _imported(snapshot, effects), "bold")
    order_faults = promises.order_faults(snapshot, effects)
    _print(console, _fan_out(snapshot, effects), "bold")
    _print(console, _graphs(snapshot, "no" if order_faults else "yes"), "bold")
    _print(console, _effects(snapshot, effects))
    faults = [
        *step_faults,
        *(fault for kill in kills for fault in promises.kill_faults(snapshot, kill)),
        *order_faults,
        *promises.effect_faults(snapshot, effects),
    ]
    for fault in faults:
        _print(console, f"Wrong: {fault}", "bold red")
    return not faults


def print_next(console: Console) -> None:
    console.print()
    _print(console, f"The code that you saw at work: {Path(__file__).with_name('workflows.py')}")
    _print(console, "How to write your own: README.md. All commands: geneva --help")


def _table(snapshot: Snapshot) -> Table:
    table = Table(
        title="What happened, read from the database",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
    )
    for name in ("workflow", "hero", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("executions", "attempts", "recoveries", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for workflow in snapshot.workflows:
        table.add_row(*_row(workflow))
    return table


def _row(workflow: WorkflowSnapshot) -> Sequence[str | Text]:
    recoveries = workflow.count(gd.Outcome.RECOVERED)
    ended_at = workflow.finished_at
    return (
        workflow.type,
        workflow.hero_name,
        frame.state_text(workflow),
        str(len(workflow.executions)),
        frame.attempts_text(workflow),
        Text(str(recoveries) if recoveries else "", "magenta"),
        f"{(ended_at - workflow.created_at).total_seconds():.1f} s" if ended_at else "",
    )


def _summary(snapshot: Snapshot, kills: Sequence[Kill], answer: str) -> str:
    finished = sum(w.state is gd.WorkflowState.FINISHED for w in snapshot.workflows)
    held = frozenset[Any]().union(*(kill.held_ids for kill in kills))
    recovered = promises.recovered_ids(snapshot) & held
    return (
        f"{finished} workflows finished, {len(snapshot.executions)} step executions recorded, "
        f"{len(recovered)} recovered after kill -9, "
        f"every completed step recorded exactly once: {answer}"
    )


def _imported(snapshot: Snapshot, effects: Effects) -> str:
    losses = sum(w.count(gd.Outcome.RECOVERED) for w in snapshot.of_type("Import"))
    answer = "no" if promises.import_faults(effects) else "yes"
    return (
        f"{effects.row_count:,} catalogue rows, {effects.article_count:,} articles made of them, "
        f"{losses} workers killed on the way, each row imported exactly once: {answer}"
    )


def _fan_out(snapshot: Snapshot, effects: Effects) -> str:
    crowds = [workflow for workflow in snapshot.workflows if workflow.crowd]
    booked = sum(len(w.crowd & w.done_names()) for w in crowds)
    lost = sum(w.count(gd.Outcome.RECOVERED) for w in crowds)
    faults = [*promises.step_faults(crowds), *promises.booking_faults(effects)]
    return (
        f"{booked:,} nodes of a fan-out done, {lost} recovered after a kill half way, "
        f"each done exactly once, and counted once: {'no' if faults else 'yes'}"
    )


def _graphs(snapshot: Snapshot, answer: str) -> str:
    graphs = [workflow for workflow in snapshot.workflows if workflow.is_parallel]
    count = sum(len(workflow.step_names) for workflow in graphs)
    done = sum(len(workflow.done_names()) for workflow in graphs)
    return (
        f"{count:,} nodes in {len(graphs)} graphs, {done:,} done, each after those that it "
        f"depends on, verify_ancestry() empty: {answer}"
    )


def _effects(snapshot: Snapshot, effects: Effects) -> str:
    orders = sum("charge_card" in workflow.step_names for workflow in snapshot.workflows)
    return (
        f"{orders} orders, {sum(effects.charges.values())} charges; "
        f"{promises.emails_due(snapshot)} e-mails due, {sum(effects.emails.values())} sent"
    )


def _print(console: Console, line: str, style: str = "") -> None:
    # Whoever reads the output by machine finds each fact on one line.
    console.print(Text(line, style), soft_wrap=not console.is_terminal)
