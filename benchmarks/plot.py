"""The picture of a run: throughput, the two latencies, and the fan."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.results import Medians, Results
from benchmarks.table import figure

mpl.use("Agg")

LABELS = {
    "geneva-postgresql": "GenevaDrive, PostgreSQL",
    "geneva-sqlite": "GenevaDrive, SQLite",
    "geneva-mariadb": "GenevaDrive, MariaDB",
    "absurd": "Absurd",
    "dbos": "DBOS",
    "dbos-steps": "DBOS, steps of one workflow",
    "procrastinate": "Procrastinate",
    "celery-redis": "Celery, Redis *",
    "celery-rabbitmq": "Celery, RabbitMQ *",
    "floor-postgresql": "bare PostgreSQL",
}
PANELS = (
    (
        "W1.one",
        "Throughput: 10-step workflows, one worker process",
        "steps per second, more is better",
    ),
    ("W2.step", "One workflow of 100 steps", "milliseconds per step, less is better"),
    ("W3.p50", "Start to first step on an idle worker", "milliseconds, median, less is better"),
    ("W7.thousand", "Fan-out and fan-in: 1 → 1,000 → 1 nodes", "seconds, less is better"),
)
OURS, PEER, FLOOR = "#1f6f8b", "#b8bfc6", "#e3c770"


def draw(results: Results, stem: Path) -> list[Path]:
    """Write the picture as PNG and SVG, of what was measured; nothing if it shows none of that."""
    medians = results.medians()
    counts = {measure: sum((measure, name) in medians for name in LABELS) for measure, *_ in PANELS}
    shown = [panel for panel in PANELS if counts[panel[0]]]
    if not shown:
        return []
    heights = [counts[measure] for measure, *_ in shown]
    figure_, panels = pyplot.subplots(
        len(shown),
        figsize=(9, 0.4 + 0.75 * len(shown) + 0.34 * sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    for axes, (measure, title, unit) in zip(panels[:, 0], shown, strict=True):
        _bars(axes, measure, medians)
        axes.set_title(title, loc="left", fontsize=12, fontweight="bold")
        axes.set_xlabel(unit, fontsize=9, color="#555555")
    figure_.supxlabel(_caption(results), fontsize=8, color="#555555", x=0.01, ha="left")
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    for path in paths:
        figure_.savefig(path, dpi=160)
    pyplot.close(figure_)
    return paths


def _bars(axes: Axes, measure: str, medians: Medians) -> None:
    found = [
        (label, medians[measure, name], _colour(name))
        for name, label in LABELS.items()
        if (measure, name) in medians
    ]
    labels, values, colours = zip(*reversed(found), strict=True)
    bars = axes.barh(labels, values, color=colours, height=0.68)
    axes.bar_label(bars, labels=[figure(value) for value in values], padding=4, fontsize=9)
    axes.margins(x=0.12, y=0.02)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.tick_params(axis="x", labelsize=8, colors="#555555")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.grid(axis="x", color="#eeeeee")
    axes.set_axisbelow(True)


def _colour(name: str) -> str:
    if name.startswith("floor-"):
        return FLOOR
    return OURS if name.startswith("geneva-") else PEER


def _caption(results: Results) -> str:
    server = results.facts.get("servers", {}).get("postgresql", {})
    version = server.get("server_version", "?").split(" ")[0]
    return (
        f"Medians of {results.facts['rounds']} round(s), {results.started_at[:10]}, "
        f"{results.facts['processor_count']} cores, Python {results.facts['python']}, "
        f"PostgreSQL {version} (fsync {server.get('fsync', '?')}, "
        f"synchronous_commit {server.get('synchronous_commit', '?')}).\n"
        "* Celery records no step in a database; its broker holds the messages of a chain."
    )
