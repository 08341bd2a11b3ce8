"""A run: rounds of trials, with a display of where it stands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import machine, places, systems
from benchmarks.measures import Figures
from benchmarks.results import Failure, Results, Sample
from benchmarks.trials import Trial, Turns, Wish, plan


def run(wish: Wish, rounds: int, console: Console, folder: Path) -> Results:
    """Do every trial in every round; a system that fails does not end the run.

    What was found is written after each trial, so that a run which is cut off leaves it behind.
    """
    results = Results(scale=wish.scale.name, started_at=datetime.now(UTC).isoformat())
    trials = _possible(plan(wish), results, console)
    results.facts = machine.facts({trial.service for turns in trials for trial in turns})
    results.facts["sizes"] = {
        name: getattr(wish.scale, name) for name in wish.scale.__dataclass_fields__
    }
    results.facts["rounds"] = rounds
    results.facts["enqueuers"] = wish.enqueuers
    with _progress(console) as progress:
        task = progress.add_task("", total=rounds * len(trials))
        for number in range(1, rounds + 1):
            for turns in trials:
                about = f"round {number}: {_words(turns)}"
                progress.update(task, description=about)
                began = time.monotonic()
                _try(turns, number, results, console)
                results.seconds[about] = round(time.monotonic() - began, 1)
                results.write(folder)
                progress.advance(task)
    return results


def _try(turns: Turns, number: int, results: Results, console: Console) -> None:
    """Let trials give their figures, one each in turn; one that fails does not end the others."""
    with ExitStack() as stack:
        going = [(trial, stack.enter_context(closing(trial.run()))) for trial in turns]
        while going:
            going = [
                (trial, figures)
                for trial, figures in going
                if _goes_on(trial, figures, number, results, console)
            ]


def _goes_on(
    trial: Trial, figures: Figures, number: int, results: Results, console: Console
) -> bool:
    try:
        for measure, value in figures:
            results.samples.append(Sample(number, trial.system, measure, value))
            return True
    except Exception as error:  # noqa: BLE001 - whatever ails one system, the others go on
        message = f"{type(error).__name__}: {error}"
        failure = Failure(number, trial.system, trial.workloads, message)
        results.failures.append(failure)
        console.print(
            f"FAILED: {trial.system}, {trial.title}: {message}", style="red", markup=False
        )
    return False


def _words(turns: Turns) -> str:
    return f"{' and '.join(trial.system for trial in turns)}, {turns[0].title}"


def _possible(plan: Sequence[Turns], results: Results, console: Console) -> list[Turns]:
    """Leave out what needs a service that does not answer, and say so."""
    trials = [trial for turns in plan for trial in turns]
    reasons = {
        trial.service: places.why_missing(trial.service)
        for trial in trials
        if trial.service != "sqlite"
    }
    peers = {system.name for system in systems.FANNING if not system.is_ours}
    for trial in trials:
        reason = reasons.get(trial.service)
        if reason is None and trial.system in peers and not systems.PEERS_PYTHON.exists():
            reason = "the peers are not installed: make bench does it"
        if reason is not None:
            results.left_out[trial.system] = reason
    for system, reason in results.left_out.items():
        console.print(f"LEFT OUT: {system}: {reason}", style="bold yellow", markup=False)
    possible = [
        tuple(trial for trial in turns if trial.system not in results.left_out) for turns in plan
    ]
    return [turns for turns in possible if turns]


def _progress(console: Console) -> Progress:
    return Progress(
        MofNCompleteColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    )
