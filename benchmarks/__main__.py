"""`python -m benchmarks`: the command line."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from benchmarks import measures, results, table
from benchmarks.processes import ROOT
from benchmarks.run import run
from benchmarks.scale import FULL, QUICK
from benchmarks.trials import Wish

RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "images" / "performance"


def _names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip()) if value else ()


def _workloads(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    found = _names(context, parameter, value)
    for name in found:
        if name not in measures.WORKLOADS:
            known = ", ".join(measures.WORKLOADS)
            raise click.BadParameter(f"there is no workload {name!r}; there are {known}.")
    return found


@click.command()
@click.option("--quick", is_flag=True, help="Less of each workload, one round.")
@click.option("--only", callback=_workloads, metavar="W1,W2", help="Only these workloads.")
@click.option(
    "--systems", callback=_names, metavar="A,B", help="Only these; 'geneva' means all of ours."
)
@click.option("--rounds", type=click.IntRange(min=1), help="How often. [default: 3, quick: 1]")
@click.option(
    "--enqueuers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Threads of the client that start workflows in W1.",
)
@click.option("--far", is_flag=True, help="In W7, peers do 10,000 nodes too.")
@click.option("--plot", is_flag=True, help="Write the picture into docs/images too.")
@click.option(
    "--show",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run nothing; show (and with --plot draw) an earlier results file.",
)
def main(  # noqa: PLR0913, PLR0917 - one for each option
    quick: bool,
    only: tuple[str, ...],
    systems: tuple[str, ...],
    rounds: int | None,
    enqueuers: int,
    far: bool,
    plot: bool,
    show: Path | None,
) -> None:
    """Run the same work on this library and its peers, side by side."""
    console = Console()
    if show is not None:
        found, stem = results.read(show), show.with_suffix("")
    else:
        scale = QUICK if quick else FULL
        if far:
            scale = replace(scale, peer_fans=(*scale.peer_fans, 10_000))
        wish = Wish(scale=scale, workloads=only, systems=systems, enqueuers=enqueuers)
        found = run(wish, rounds or scale.rounds, console, RESULTS)
        path = found.write(RESULTS)
        stem = path.with_suffix("")
        console.print(f"Results: {path.relative_to(ROOT)}")
    console.print(table.render(found))
    _draw(found, [stem, PICTURE] if plot else [stem], console)
    sys.exit(1 if found.failures else 0)


def _draw(found: results.Results, stems: list[Path], console: Console) -> None:
    try:
        from benchmarks import plot
    except ModuleNotFoundError as error:
        console.print(f"No picture: {error}. Run: pip install -r benchmarks/requirements.txt")
        return
    for stem in stems:
        for path in plot.draw(found, stem):
            console.print(f"Picture: {path.resolve().relative_to(ROOT)}")


if __name__ == "__main__":
    main()
