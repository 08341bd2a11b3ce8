"""The table at the end of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks import measures, targets
from benchmarks.measures import Measure
from benchmarks.results import Medians, Results
from benchmarks.systems import FANNING, FLOORS, NOT_DURABLE

ORDER = [
    *(system.name for system in FANNING if system.is_ours),
    *(system.name for system in FANNING if not system.is_ours),
    "sqlalchemy",
    *FLOORS,
]
PEER_IS_BETTER = "PEER IS BETTER"
BUSY_LOAD = 0.5


def figure(value: float) -> str:
    """Three significant digits are what such a measurement can carry."""
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def render(results: Results) -> RenderableType:
    medians = results.medians()
    heading = (
        f"Medians of {results.facts.get('rounds', '?')} round(s), {results.scale}: figure, "
        f"how many times better {targets.OURS} is, remark"
    )
    return Group(heading, _busy(results), *_figures(results, medians), _verdicts(results, medians))


def _busy(results: Results) -> Text:
    """Warn where other work ran beside the run: its figures are then too low."""
    load = results.facts.get("load_average_before", 0.0)
    if load <= BUSY_LOAD:
        return Text()
    return Text(
        f"OTHER WORK RAN ON THIS MACHINE (load average {load:.1f} before the run): "
        "figures and ratios are not to be trusted.",
        style="bold yellow",
    )


def rows(measure: Measure, medians: Medians) -> Iterator[tuple[str, str, str, str]]:
    """Give system, figure, how ours on PostgreSQL compares, and a remark, best known first."""
    ours = medians.get((measure.id, targets.OURS))
    for system in ORDER:
        value = medians.get((measure.id, system))
        if value is None:
            continue
        is_peer = not system.startswith(("geneva-", "floor-", "sqlalchemy"))
        advantage = ""
        if ours is not None and system != targets.OURS:
            advantage = f"{measure.advantage(ours, value):.2f} times"
        yield system, figure(value), advantage, _remark(measure, system, value, ours, is_peer)


def _remark(measure: Measure, system: str, value: float, ours: float | None, is_peer: bool) -> str:
    remarks = []
    if is_peer and ours is not None and measure.is_better(value, ours):
        remarks.append(PEER_IS_BETTER)
    if system in NOT_DURABLE and measure.workload in ("W1", "W2", "W3", "W7", "W8"):
        remarks.append("no step recorded in a database")
    if system == "procrastinate" and measure.workload in ("W1", "W2"):
        remarks.append("a job per step")
    if system == "procrastinate" and measure.workload == "W7":
        remarks.append("a join made by hand")
    if system == "dbos-steps":
        remarks.append("steps of one workflow, in one process")
    return ", ".join(remarks)


def _figures(results: Results, medians: Medians) -> Iterator[Table]:
    for measure in measures.ALL:
        found = list(rows(measure, medians))
        if not found:
            continue
        table = _section(f"{measure.workload}  {measure.title}, {measure.unit}")
        for system, value, advantage, remark in found:
            is_worse = remark.startswith(PEER_IS_BETTER)
            style = "bold" if system.startswith("geneva-") else "red" if is_worse else ""
            table.add_row(system, value, advantage, remark, style=style)
        yield table
    if results.failures:
        table = _section("Failed")
        for failure in results.failures:
            what = f"{', '.join(failure.workloads)}, round {failure.round}"
            table.add_row(failure.system, what, "", Text(failure.message[:500]), style="red")
        yield table


def _section(title: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False, pad_edge=False
    )
    table.add_column(width=18)
    table.add_column(width=12, justify="right")
    table.add_column(width=12, justify="right")
    table.add_column()
    return table


def _verdicts(results: Results, medians: Medians) -> Table:
    measured = {measures.BY_ID[measure].workload for measure, _ in medians}
    table = Table(title="Targets")
    for heading in ("Target", "Needed", "Measured", ""):
        table.add_column(heading, justify="right" if heading in ("Needed", "Measured") else "left")
    for target in targets.ALL:
        if target.workload not in measured:
            continue
        value = target.value(medians)
        if value is None:
            table.add_row(f"{target.workload} {target.text}", target.needed, "—", "not measured")
            continue
        is_met = target.is_met_by(value)
        table.add_row(
            f"{target.workload} {target.text}",
            target.needed,
            figure(value),
            "met" if is_met else "MISSED",
            style="green" if is_met else "yellow",
        )
    for system, reason in results.left_out.items():
        table.add_row(f"{system} was left out", "", "", reason, style="yellow")
    return table
