"""`batch`, as the body of a worker sees it, without a database."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.batch import BatchPart
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.iteration.pace import Pace
from geneva_drive.iteration.progress import Stopwatch


def batch_at(
    cursor: Any = None, done: int = 0, results: Any = None, start: int = 0, end: int = 1000
) -> gd.Batch:
    """Return a batch of a worker that has a checkpoint at `cursor`, if it is not None."""
    state = LoopState(cursor=cursor, has_cursor=cursor is not None, completed=done)
    pace = Pace(checkpoint_every=200, max_iterations=None, max_runtime=None, should_stop=bool)
    part = BatchPart(
        id="007",
        start=start,
        end=end,
        metadata={"region": "north"},
        size=end - start,
        checkpoint_interval=200,
        own_items=lambda position: iter(()),
    )
    backend: Any = None
    return gd.Batch(LoopRun("process", state, backend, pace, Stopwatch(None)), part, results)


def test_without_a_checkpoint_a_batch_begins_at_its_start() -> None:
    batch = batch_at(start=500)

    assert (batch.id, batch.start, batch.end, batch.position) == ("007", 500, 1000, 500)
    assert (batch.checkpoint_interval, batch.metadata) == (200, {"region": "north"})
    assert (batch.has_checkpoint, batch.items_processed) == (False, 0)
    assert batch.accumulated_results is None


def test_zero_is_a_cursor() -> None:
    batch = batch_at(0, 3, {"sum": 1}, start=-5)

    assert (batch.has_checkpoint, batch.position, batch.items_processed) == (True, 0, 3)
    assert batch.accumulated_results == {"sum": 1}
    assert repr(batch) == "<Batch 007 at 0>"


def test_a_yield_holds_what_it_was_given() -> None:
    made = batch_at(200, 200).checkpoint_yield(400, 400, {"sum": 9})

    assert made == gd.CheckpointYield(400, 400, {"sum": 9})
    assert batch_at(200, 200).checkpoint_yield(400, 200).accumulated_results is None
    assert batch_at(200, 200).checkpoint_yield(200, 300).items_processed == 300


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"items_processed": 300}, "needs a cursor"),
        ({"cursor": None, "items_processed": 300}, "needs a cursor"),
        ({"cursor": 300}, "items_processed must be a whole number, got None"),
        ({"cursor": 300, "items_processed": 1.5}, "must be a whole number, got 1.5"),
        ({"cursor": 300, "items_processed": True}, "must be a whole number, got True"),
        ({"cursor": 300, "items_processed": -1}, "must be at least 200, got -1"),
        ({"cursor": 300, "items_processed": 199}, "must be at least 200, got 199"),
        ({"cursor": 200, "items_processed": 200}, "would never end"),
    ],
)
def test_a_yield_without_its_fields_or_without_progress_is_refused(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput, match=r"checkpoint_yield\(\) of batch 007.*" + words):
        batch_at(200, 200).checkpoint_yield(**given)


def test_a_yield_at_the_start_of_the_range_is_no_progress() -> None:
    with pytest.raises(InvalidInput, match="would never end"):
        batch_at(start=500).checkpoint_yield(500, 0)


def test_items_that_raise_are_stopped_at_or_skipped() -> None:
    with pytest.raises(InvalidInput) as refused:
        batch_at().items([], on_error="retry")  # type: ignore[arg-type]
    assert "items(on_error=...)" in str(refused.value)


def test_no_sequence_has_a_negative_index() -> None:
    with pytest.raises(InvalidInput) as refused:
        batch_at(start=-5).items([1, 2])
    assert str(refused.value) == (
        "Batch 007 covers -5 to 1000, and no sequence has a negative index. Call items() without "
        "an iterable to loop over the numbers."
    )
