"""When a lane's head is one workflow's, every other turn is for others."""

from __future__ import annotations

import pytest

from geneva_drive.worker.claims.fairness import Turns
from tests.worker.claims import make_claimed as of


@pytest.fixture
def turns() -> Turns:
    return Turns()


def test_sixteen_of_one_workflow_in_a_row_give_every_other_turn_away(turns: Turns) -> None:
    turns.note([of(1)] * 10)
    assert turns.crowding() is None

    turns.note([of(1)] * 6)

    given = [turns.crowding() for _ in range(4)]
    assert [one.workflow.id if one else None for one in given] == [1, None, 1, None]


def test_one_of_another_workflow_in_between_begins_the_count_anew(turns: Turns) -> None:
    turns.note([*[of(1)] * 15, of(2), *[of(1)] * 15])

    assert turns.crowding() is None


def test_where_nothing_was_left_to_claim_nobody_is_looked_for(turns: Turns) -> None:
    turns.note([of(1)] * 16)
    turns.note([])

    assert turns.crowding() is None


def test_what_is_claimed_of_other_lanes_in_between_changes_nothing(turns: Turns) -> None:
    turns.note([of(1), of(2, type_name="U")] * 16)

    crowding = turns.crowding()
    assert crowding is not None
    assert crowding.workflow.type in ("T", "U")


def test_where_nobody_waits_behind_the_very_many_they_are_counted_anew(turns: Turns) -> None:
    turns.note([of(1)] * 16)
    crowding = turns.crowding()
    assert crowding is not None

    turns.note_alone(crowding)

    assert (turns.crowding(), turns.crowding()) == (None, None)
