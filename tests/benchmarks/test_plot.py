from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.results import Results, Sample

FACTS = {"rounds": 1, "processor_count": 2, "python": "3.11"}


def drawn(folder: Path, *measures: str) -> list[str]:
    # Only `make bench` installs the plotting library, and only it draws. Importing it takes a tenth
    # of the time in which a test process collects all tests, so this waits until it is needed.
    plot = pytest.importorskip("benchmarks.plot")
    results = Results(
        scale="quick",
        started_at="2030-01-02T03:04:05+00:00",
        facts=FACTS,
        samples=[Sample(1, "geneva-postgresql", measure, 1.5) for measure in measures],
    )
    return [path.name for path in plot.draw(results, folder / "picture")]


# Every warning is an error here, those of the plotting library included.
@pytest.mark.parametrize(
    "measures",
    [("W7.thousand",), ("W1.one", "W3.p50"), ("W1.one", "W2.step", "W3.p50", "W7.thousand")],
    ids=["one panel", "two panels", "all panels"],
)
def test_the_picture_shows_what_was_measured(tmp_path: Path, measures: tuple[str, ...]) -> None:
    assert drawn(tmp_path, *measures) == ["picture.png", "picture.svg"]


def test_there_is_no_picture_of_what_it_does_not_show(tmp_path: Path) -> None:
    assert drawn(tmp_path, "W6.checkpoints") == []
