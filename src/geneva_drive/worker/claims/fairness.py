"""Fairness in a lane: a workflow with very many executions must not keep all others waiting."""

from __future__ import annotations

import random
from collections.abc import Sequence

from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.identity import Identity

_MANY = 16  # executions of one workflow, claimed one after another
_MAX_NEWEST = 32


Lane = tuple[str, str]  # the executions of one type on one queue


class Turns:
    """Notices that one workflow fills the head of a lane, as a large fan-out does.

    Other workflows would wait until the last of its executions is done, so every other turn is
    theirs.
    """

    def __init__(self) -> None:
        # Per lane: the execution claimed last, and how many of its workflow came in a row.
        self._in_a_row: dict[Lane, tuple[Claimed, int]] = {}
        self._is_others = False

    def note(self, claimed: Sequence[Claimed]) -> None:
        """Count claims, in the order of their lanes; if there are none, no workflow waits."""
        if not claimed:
            self._in_a_row.clear()
        for one in claimed:
            last, count = self._in_a_row.get(_lane(one), (one, 0))
            is_same = last.workflow.id == one.workflow.id
            self._in_a_row[_lane(one)] = (one, count + 1 if is_same else 1)

    def crowding(self) -> Claimed | None:
        """Return an execution of a workflow that fills its lane, every other time; else None."""
        crowds = [last for last, count in self._in_a_row.values() if count >= _MANY]
        if not crowds:
            return None
        self._is_others = not self._is_others
        return random.choice(crowds) if self._is_others else None

    def note_alone(self, crowding: Claimed) -> None:
        """Start counting again: no other workflow waits in this lane."""
        self._in_a_row.pop(_lane(crowding), None)


def find_behind(environment: Environment, identity: Identity, crowding: Claimed) -> Key | None:
    """Return a due execution of another workflow, in a lane that `crowding`'s workflow fills.

    Such an execution was added later, so it is among the newest that are due. If several workflows
    are found, one is chosen at random: a second workflow with many executions must not win each
    time.
    """
    store, execution = environment.store, crowding.execution
    newest = store.read_at_once(
        lambda connection: store.executions.newest_due(
            connection,
            execution.type,
            None if identity.queues is None else execution.queue,
            execution.priority,
            _MAX_NEWEST,
        )
    )
    # From the newest to the oldest: the dictionary keeps the oldest of each workflow.
    others = {workflow: key for key, workflow in newest if workflow != execution.workflow_id}
    if not others or _is_outranked(environment, identity, execution.priority):
        return None
    return random.choice(list(others.values()))


def _is_outranked(environment: Environment, identity: Identity, priority: int) -> bool:
    """True if an execution of a higher priority is due that this worker serves."""
    store, types = environment.store, identity.served_types()
    top = store.read(
        lambda connection: store.executions.top_priority(
            connection, types, identity.served_queues()
        )
    )
    return top is not None and top > priority


def _lane(claimed: Claimed) -> Lane:
    return claimed.execution.type, claimed.execution.queue
