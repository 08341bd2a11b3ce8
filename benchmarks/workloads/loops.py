"""W6: what a loop of a resumable step costs, beside what the database takes for the same."""

from __future__ import annotations

from statistics import median

from benchmarks.measures import Figures
from benchmarks.scale import Scale
from benchmarks.workloads import loop_app as app

NEAR = 10  # the record after which the early one of two loops goes on
_WARM_UP = 100


def measure(database: str, scale: Scale) -> Figures:
    """Give rates of checkpoints, items and records, and the cost of resuming.

    What has a floor comes first, in the floor's order: they take turns.
    """
    checkpoints = scale.checkpoints_on(database)
    with app.at_work(database) as drive:
        app.run(drive, app.EachItem, items=_WARM_UP)
        for _ in range(scale.turns):
            yield "W6.checkpoints", checkpoints / app.run(drive, app.EachItem, items=checkpoints)
        app.load(drive, scale.loop_rows)
        for name, loop in (
            ("W6.records", app.EachHundredRecords),
            ("W6.entities", app.EachHundredEntities),
        ):
            app.run(drive, loop, items=_WARM_UP)
            for _ in range(scale.turns):
                yield name, scale.loop_records / app.run(drive, loop, items=scale.loop_records)
        seconds = app.run(drive, app.EachHundred, items=scale.loop_items)
        yield "W6.sequence", scale.loop_items / seconds
        late = scale.loop_rows * 9 // 10
        pairs = [
            (app.run(drive, app.Resumed, after=NEAR), app.run(drive, app.Resumed, after=late))
            for _ in range(scale.resumptions + 1)
        ][1:]  # the first is a warm-up
        yield "W6.resume_near", median(near for near, _ in pairs) * 1_000
        yield "W6.resume_far", median(far for _, far in pairs) * 1_000


def growth(items: int) -> float:
    """Give the MiB that a process grows by over a long loop, which is the same on any database."""
    with app.at_work("sqlite") as drive:
        return app.run(drive, app.ManyItems, items=items) / 2**20
