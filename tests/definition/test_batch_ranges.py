"""`gd.Batches` divides work; what cannot be divided is refused when the body makes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.batches import CsvSource, RecordSource
from geneva_drive.errors import InvalidInput


def bounds(batches: gd.Batches) -> list[tuple[Any, Any]]:
    return [(part.start, part.end) for part in batches.parts]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        (
            gd.Batches.split(total=10_000, batch_size=2_000),
            [(0, 2000), (2000, 4000), (4000, 6000), (6000, 8000), (8000, 10_000)],
        ),
        (gd.Batches.split(total=5, batch_size=2), [(0, 2), (2, 4), (4, 5)]),
        (gd.Batches.split(5, 10), [(0, 5)]),
        (gd.Batches.split(10, 1, max_batches=3), [(0, 4), (4, 8), (8, 10)]),
        (gd.Batches.split(10, 5, max_batches=3), [(0, 5), (5, 10)]),
        (gd.Batches.workers(total=10, n=3), [(0, 3), (3, 6), (6, 10)]),
        (gd.Batches.workers(2, 5), [(0, 1), (1, 2)]),
    ],
    ids=["even", "a rest", "one", "larger", "few enough", "three workers", "few items"],
)
def test_a_total_is_divided_into_ranges(
    batches: gd.Batches, expected: list[tuple[int, int]]
) -> None:
    assert bounds(batches) == expected
    assert (batches.reason, batches.source, batches.batch_size) == (None, None, None)


def test_ranges_are_taken_in_every_form() -> None:
    batches = gd.Batches.ranges(
        [
            gd.BatchRange(10, 20),
            (0, 10),
            ["a", "m", {"region": "north"}],
            {"start": date(2026, 1, 1), "end": None, "metadata": 7},
        ]
    )

    assert batches.parts == (
        gd.BatchRange(10, 20),
        gd.BatchRange(0, 10),
        gd.BatchRange("a", "m", {"region": "north"}),
        gd.BatchRange(date(2026, 1, 1), None, 7),
    )


@pytest.mark.parametrize(
    ("batches", "reason"),
    [
        (gd.Batches.none("empty file"), "empty file"),
        (gd.Batches.none(), None),
        (gd.Batches.split(0, 100), "There is nothing to split: the total is 0."),
        (gd.Batches.workers(0, 4), "There is nothing to split: the total is 0."),
        (gd.Batches.ranges([]), "There are no ranges."),
    ],
    ids=["with a reason", "without", "split", "workers", "ranges"],
)
def test_there_may_be_nothing_to_do(batches: gd.Batches, reason: str | None) -> None:
    assert (batches.parts, batches.reason) == ((), reason)


def test_a_source_is_divided_by_the_engine() -> None:
    query = object()

    over = gd.Batches.over(query, batch_size=500)
    csv = gd.Batches.csv(Path("rows.csv"), batch_size=100, encoding="latin-1", delimiter=";")

    assert (over.source, over.batch_size) == (RecordSource(query, "id"), 500)
    assert csv.source == CsvSource("rows.csv", "latin-1", {"delimiter": ";"})
    assert csv.batch_size == 100


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a batch size of nothing": (
        lambda: gd.Batches.split(10, 0),
        "Batches.split(): batch_size must be at least 1, got 0.",
    ),
    "records in batches of nothing": (
        lambda: gd.Batches.over(None, batch_size=0),
        "Batches.over(): batch_size must be at least 1, got 0.",
    ),
    "rows in batches of nothing": (
        lambda: gd.Batches.csv("rows.csv", batch_size=-1),
        "Batches.csv(): batch_size must be at least 1, got -1.",
    ),
    "a negative total": (
        lambda: gd.Batches.split(-1, 5),
        "Batches.split(): total must be at least 0, got -1.",
    ),
    "no workers": (
        lambda: gd.Batches.workers(10, 0),
        "Batches.workers(): n must be at least 1, got 0.",
    ),
    "too many workers": (
        lambda: gd.Batches.workers(10, 100_001),
        "Batches.workers(): n must be at most 100000, got 100001.",
    ),
    "too many batches": (
        lambda: gd.Batches.split(1_000_000, 1),
        "Batches.split() makes 1,000,000 ranges of 1,000,000 items; the most is 100,000. Pass a "
        "larger batch_size, or max_batches.",
    ),
    "too many ranges": (
        lambda: gd.Batches.ranges([(number, number + 1) for number in range(100_001)]),
        "Batches.ranges() got 100,001 ranges; the most is 100,000. Make larger ranges.",
    ),
    "ranges that overlap": (
        lambda: gd.Batches.ranges([(10, 20), (0, 11)]),
        "The ranges 0 to 11 and 10 to 20 overlap, so items would be done twice. The end of a range "
        "is not part of it: begin the next one there.",
    ),
    "a range within another": (
        lambda: gd.Batches.ranges([(0, 100), (5, 10)]),
        "The ranges 0 to 100 and 5 to 10 overlap, so items would be done twice. The end of a range "
        "is not part of it: begin the next one there.",
    ),
    "a reversed range": (
        lambda: gd.BatchRange(20, 10),
        "The range 20 to 10 is reversed. Its end, which is not part of it, must be greater than "
        "its start.",
    ),
    "an empty range": (
        lambda: gd.Batches.ranges([(7, 7)]),
        "The range 7 to 7 is empty. Its end, which is not part of it, must be greater than its "
        "start.",
    ),
    "one text": (
        lambda: gd.Batches.ranges("ab"),
        "Batches.ranges() takes a list of ranges, got 'ab'.",
    ),
    "a range that is none": (
        lambda: gd.Batches.ranges([(1,)]),
        "Batches.ranges() got (1,), which is not a range. Pass a gd.BatchRange, (start, end), "
        "(start, end, metadata), or a dict with start, end and metadata.",
    ),
    "a dict without an end": (
        lambda: gd.Batches.ranges([{"start": 1, "stop": 2}]),
        "Batches.ranges() got {'start': 1, 'stop': 2}, which is not a range. Pass a gd.BatchRange, "
        "(start, end), (start, end, metadata), or a dict with start, end and metadata.",
    ),
    "a reason that is no text": (
        lambda: gd.Batches.none(7),  # type: ignore[arg-type]  # as a user may
        "Batches.none(): reason must be text, got 7.",
    ),
    "a file that is no path": (
        lambda: gd.Batches.csv(7, batch_size=1),  # type: ignore[arg-type]  # as a user may
        "Batches.csv() takes the path of a file, got 7.",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_divided_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: gd.BatchRange(object(), 3), "The start of a range is of type object"),
        (lambda: gd.BatchRange(3, object()), "The end of a range is of type object"),
        (
            lambda: gd.BatchRange(0, 3, metadata={"of": object()}),
            "The metadata of the range 0 to 3['of'] is of type object",
        ),
    ],
    ids=["start", "end", "metadata"],
)
def test_a_range_that_cannot_be_stored_is_refused(make: Callable[[], object], what: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored as JSON") as caught:
        make()

    assert str(caught.value).startswith(what)
