"""An `it` that is kept after the end of its step raises at every use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError
from geneva_drive.testing import run_iterations, speedrun
from tests.heroes import User
from tests.looping import importing, importing_in_transactions, places

USES: dict[str, Callable[[gd.IterableStep], object]] = {
    "set": lambda it: it.set(9),
    "advance": lambda it: it.advance(),
    "checkpoint": lambda it: it.checkpoint(),
    "skip_to": lambda it: it.skip_to(9),
    "throttle": lambda it: it.throttle(lambda: True, timedelta(1)),
    "iterate_over_records": lambda it: it.iterate_over_records(select(User)),
}
OVER = (
    "Step 'rows' is over, and nothing more of its loop can be saved. Use `it` only within the "
    "body, and wait there for the threads and tasks it starts."
)


@pytest.mark.parametrize("use", USES)
def test_whatever_would_move_it_is_refused(geneva: gd.Drive, use: str) -> None:
    kept: list[Any] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        kept.append(it)
        it.set(1)

    workflow = speedrun(importing(body))

    with pytest.raises(InvalidStateError) as refusal:
        USES[use](kept[0])

    assert str(refusal.value) == OVER
    assert (kept[0].name, kept[0].cursor) == ("rows", 1)
    assert places(workflow) == [("completed", None, None, 1)]


def test_a_loop_of_it_that_was_kept_is_refused_at_its_next_item(geneva: gd.Drive) -> None:
    kept: list[Any] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        kept.append(it.iterate_over(range(4)))
        next(kept[0])

    speedrun(importing(body))

    with pytest.raises(InvalidStateError) as refusal:
        next(kept[0])

    assert str(refusal.value) == OVER


def test_it_is_of_no_use_between_two_runs_either(geneva: gd.Drive) -> None:
    kept: list[Any] = []

    def body(self: Any, it: gd.IterableStep, session: Any) -> None:
        kept.append(it)
        for _ in it.iterate_over(range(4)):
            ...

    workflow = importing_in_transactions(body)
    run_iterations(workflow, "rows", count=2)

    with pytest.raises(InvalidStateError) as refusal:
        kept[0].advance()

    assert str(refusal.value) == OVER
    assert speedrun(workflow).state == "finished"
