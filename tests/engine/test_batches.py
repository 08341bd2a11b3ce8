"""Loops over batches: each is an item, and a crash repeats a whole one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, run_iterations, speedrun
from tests.looping import importing, places

pytestmark = pytest.mark.databases("sqlite")

ROWS = "letter\na\nb\nc\nd\ne\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "letters.csv"
    file.write_text(ROWS)
    return file


def test_a_csv_file_is_read_in_batches_that_a_crash_does_not_tear(
    geneva: gd.Drive, path: Path
) -> None:
    stored: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for rows in it.iterate_over_csv(path, batch_size=2):
            letters = [row["letter"] for row in rows]
            stored.append("".join(letters))

    workflow = importing(body)
    with crash_after(items=2):
        drain()
    drain()

    assert stored == ["ab", "cd", "cd", "e"]
    assert workflow.reload().state == "finished"


def test_the_cursor_of_a_csv_file_stands_behind_the_whole_batch(
    geneva: gd.Drive, path: Path
) -> None:
    workflow = importing(lambda self, it: list(it.iterate_over_csv(path, batch_size=2)))

    execution = run_iterations(workflow, "rows", count=1)

    assert execution.cursor[0] == ROWS.index("c")
    assert execution.completed_iterations == 1


async def _letters() -> AsyncIterator[str]:
    for letter in "abcde":
        yield letter


async def _csv(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[list[str]]:
    async for rows in it.iterate_over_csv(path, 2):
        yield [row["letter"] for row in rows]


def _sequence(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[list[str]]:
    return it.iterate_over("abcde", batch_size=2)


def _async_iterable(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[list[str]]:
    return it.iterate_over(_letters(), batch_size=2)


def _pairs(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[list[str]]:
    pairs = [(letter, letter) for letter in "abcde" if letter > (it.cursor or "")]
    return it.iterate_over(pairs, with_cursors=True, batch_size=2)


@pytest.mark.parametrize("source", [_csv, _sequence, _async_iterable, _pairs])
def test_every_source_of_an_async_step_goes_on_behind_its_batches(
    geneva: gd.Drive, path: Path, source: Any
) -> None:
    stored: list[list[str]] = []

    class Import(gd.Workflow):
        @gd.resumable_step(max_iterations=1)
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            async for batch in source(it, path):
                stored.append(batch)  # noqa: PERF401 - each as it is done: the loop is interrupted

    workflow = Import.create()
    perform_next_step(workflow)
    assert stored == [["a", "b"]]

    speedrun(workflow)
    assert stored == [["a", "b"], ["c", "d"], ["e"]]
    assert places(workflow) == [("completed", "max_iterations", None, 3)]


def test_each_partition_of_a_sequence_has_batches_of_its_own(geneva: gd.Drive) -> None:
    stored: list[list[str]] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        stored.extend(it.iterate_over("abcdef", batch_size=2))

    importing(body, partitions=2)
    drain()

    assert sorted(stored) == [["a", "b"], ["c"], ["d", "e"], ["f"]]
