"""The trace of a simulated document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.output.console import make_table, plain

if TYPE_CHECKING:
    from geneva_drive.declarative.document import Document
    from geneva_drive.declarative.simulation.trace import Trace, Visit

_STYLES = {
    "allowed": "green",
    "approved": "green",
    "passed": "green",
    "executed": "green",
    "true": "cyan",
    "false": "cyan",
    "blocked": "red",
    "rejected": "red",
    "expired": "magenta",
    "timed_out": "magenta",
    "not_passed": "red",
    "failed": "bold red",
    "waiting": "bold yellow",
    "finished": "green",
}


def print_trace(console: Console, document: Document, trace: Trace) -> None:
    """Print the steps of a trace, those inside another step indented, and how it ended."""
    table = make_table("Step", "Type", "Ending", "")
    for column in table.columns[:3]:
        column.no_wrap = True
    depths = _depths(document)
    for visit in trace.visits:
        _add_row(table, visit, depths[visit.step_id])
    console.print()
    console.print(table)
    console.print()
    console.print(_end(document, trace), soft_wrap=True)


def _add_row(table: Table, visit: Visit, depth: int) -> None:
    name = visit.step_id + "".join(f"[{index}]" for index in visit.items)
    ending = "waiting" if visit.ending is None else str(visit.ending)
    words = "\n".join([*visit.details, *([visit.reason] if visit.reason else [])])
    table.add_row(
        plain("  " * depth + name), visit.type, Text(ending, _STYLES[ending]), plain(words)
    )


def _end(document: Document, trace: Trace) -> RenderableType:
    words = Text()
    words.append(str(trace.state), _STYLES[trace.state])
    if trace.result is not None:
        words.append(f", {trace.result}", _STYLES[trace.result])
    if trace.reason is not None:
        words.append(": ")
        words.append(plain(trace.reason))
    for way in _ways_on(document, trace):
        words.append("\n")
        words.append(f"Continue with {way}", "dim")
    return words


def _ways_on(document: Document, trace: Trace) -> Iterator[str]:
    """Yield the options that would answer what the trace waits for."""
    from geneva_drive.declarative.simulation.case import SimulatedDecision
    from geneva_drive.declarative.simulation.simulation import possible_decisions
    from geneva_drive.declarative.steps import WaitStep

    for visit in trace.visits:
        step = document.step(visit.step_id)
        if visit.ending is not None or visit.type in ("parallel", "foreach"):
            continue
        words = [str(one) for one in possible_decisions(step) if one is not SimulatedDecision.FAIL]
        decisions = [f"--decide {step.id}={', or '.join(words)}"] if words else []
        events = [f"--event {step.event}=JSON"] if isinstance(step, WaitStep) else []
        yield ", or ".join([*events, *decisions])


def _depths(document: Document) -> dict[str, int]:
    depths: dict[str, int] = {}
    for step_id, (_, _, parent) in document.places.items():
        depths[step_id] = 0 if parent is None else depths[parent.id] + 1
    return depths


def trace_body(trace: Trace) -> dict[str, Any]:
    """Return the trace as JSON."""
    return {
        "state": str(trace.state),
        "result": None if trace.result is None else str(trace.result),
        "reason": trace.reason,
        "context": trace.context,
        "steps": [_visit_body(visit) for visit in trace.visits],
    }


def _visit_body(visit: Visit) -> dict[str, Any]:
    return {
        "id": visit.step_id,
        "type": visit.type,
        "ending": None if visit.ending is None else str(visit.ending),
        "reason": visit.reason,
        "details": list(visit.details),
        "items": list(visit.items),
    }
