"""How far a resumable step has come, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from geneva_drive.cli.output import loops
from geneva_drive.iteration.progress import IterationProgress


def _progress(done: int, total: int | None, seconds: float) -> IterationProgress:
    return IterationProgress(done=done, total=total, elapsed=timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        pytest.param(
            _progress(41_200, 100_000, 13.29),
            "41,200 of 100,000 items, 3,100/s, 19 s left",
            id="all-is-known",
        ),
        pytest.param(_progress(41_200, None, 10), "41,200 items, 4,120/s", id="no-total"),
        pytest.param(_progress(1, None, 0), "1 item", id="no-time-yet"),
        pytest.param(
            _progress(3, 1000, 2), "3 of 1,000 items, 1.5/s, 11m 5s left", id="slow-and-long"
        ),
        pytest.param(_progress(10, 10, 2), "10 of 10 items, 5.0/s", id="done"),
        pytest.param(
            replace(_progress(4, 10, 2), is_over=True), "4 of 10 items, 2.0/s", id="left-early"
        ),
        pytest.param(
            replace(_progress(22, 60, 2), is_rewound=True),
            "22 items since the rewind, 11/s",
            id="rewound",
        ),
    ],
)
def test_progress_is_worded_with_what_is_known_of_it(
    progress: IterationProgress, words: str
) -> None:
    assert loops.words(progress) == words


def test_partitions_are_added_up_and_run_side_by_side() -> None:
    both = loops.together([_progress(10, 50, 2), _progress(20, 50, 3)])

    assert both == _progress(30, 50, 3)


def test_the_total_of_a_step_is_what_any_of_its_partitions_was_told() -> None:
    both = loops.together([_progress(10, 50, 2), _progress(20, None, 3)])

    assert both == _progress(30, 50, 3)


def test_partitions_are_rewound_together_and_over_when_all_of_them_are() -> None:
    one, other = _progress(10, 50, 2), _progress(20, 50, 3)

    rewound = loops.together([one, replace(other, is_rewound=True, is_over=True)])
    over = loops.together([replace(one, is_over=True), replace(other, is_over=True)])

    assert (rewound.is_rewound, rewound.is_over) == (True, False)
    assert (over.is_rewound, over.is_over) == (False, True)
