"""Whose turn it is in a lane of which one workflow fills the head."""

from __future__ import annotations

import random
from collections.abc import Sequence

from geneva_drive.engine.claimed import Claimed

_MANY = 16  # executions of one workflow, claimed one after the other


Lane = tuple[str, str]  # a type on a queue


class Turns:
    """Notices that all that is claimed of a lane is of one workflow: a large fan-out, say.

    Others of the lane would wait until the last of them is done. So they get every other turn.
    """

    def __init__(self) -> None:
        self._in_a_row: dict[Lane, tuple[Claimed, int]] = {}  # the last one, and how many alike
        self._is_others = False

    def note(self, claimed: Sequence[Claimed]) -> None:
        """Note what was claimed in the order of lanes; where that was nothing, nobody waits."""
        if not claimed:
            self._in_a_row.clear()
        for one in claimed:
            last, count = self._in_a_row.get(_lane(one), (one, 0))
            is_same = last.workflow.id == one.workflow.id
            self._in_a_row[_lane(one)] = (one, count + 1 if is_same else 1)

    def crowding(self) -> Claimed | None:
        """Give one of the very many whose turn it is not; None where it is anybody's."""
        crowds = [last for last, count in self._in_a_row.values() if count >= _MANY]
        if not crowds:
            return None
        self._is_others = not self._is_others
        return random.choice(crowds) if self._is_others else None

    def note_alone(self, crowding: Claimed) -> None:
        """Note that nobody waits behind the very many: they are counted anew."""
        self._in_a_row.pop(_lane(crowding), None)


def _lane(claimed: Claimed) -> Lane:
    return claimed.execution.type, claimed.execution.queue
