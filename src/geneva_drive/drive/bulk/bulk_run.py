"""The workflow that gives a command to many workflows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.reserved_types import BULK_TYPE
from geneva_drive.definition.nodes.resumable_step import resumable_step
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.bulk.bulk_cursor import BulkCursor
from geneva_drive.drive.bulk.follow_up import look
from geneva_drive.drive.bulk.plan import BulkPlan
from geneva_drive.drive.bulk.portions import GivenPortion, give, update_statistics
from geneva_drive.iteration.iterable_step import IterableStep, run_of
from geneva_drive.settings import OWN_QUEUE
from geneva_drive.storage.schema import keys

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from geneva_drive.drive.drive import Drive

_PORTION = 1_000
_MILESTONE = 5_000  # workflows changed, from which on statistics are misleading
_LARGEST_ROUND = 250  # all of a round stand in the cursor
_SHORTEST_WAIT = timedelta(milliseconds=250)
_LONGEST_WAIT = timedelta(seconds=5)


class BulkRun(Workflow[Any, Any]):
    """Runs its command on a portion of workflows per transaction, with its own cursor."""

    type_name = BULK_TYPE
    queue = OWN_QUEUE

    @resumable_step(transaction=True, keep_result=True)
    def give_command(self, it: IterableStep, session: Session) -> dict[str, Any]:  # noqa: ARG002 - all writes of this thread join its transaction
        drive = self.handle.drive
        bulk = _Bulk(drive, BulkPlan.load(self.context, drive.store.key_type), it)
        return bulk.run()


class _Bulk:
    """One run of the step: it continues from its cursor."""

    def __init__(self, drive: Drive, plan: BulkPlan, it: IterableStep) -> None:
        self._drive = drive
        self._plan = plan
        self._run = run_of(it)
        self._tally = BulkCursor.load(it.cursor)
        it.progress(plan.total)

    def run(self) -> dict[str, Any]:
        stopped = None
        while stopped is None:
            if self._tally.watched:
                self._look_after_round()
                stopped = self._why_stop()
                if stopped is not None:
                    break
            if not self._give_next():
                break
        self._tally = self._tally.end(self._plan.total, stopped)
        return self._tally.result(self._plan.total)

    def _give_next(self) -> bool:
        """Run the command on the next portion, and commit it; False if none was left."""
        size, is_round = self._next_size()
        given = give(self._drive, self._plan, self._key(self._tally.after), size)
        is_last = given.last is None
        tally = self._tally.add(
            after=str(self._plan.until if given.last is None else given.last),
            applied=len(given.applied),
            refusals=given.refusals,
            gone=given.gone,
        )
        if self._is_trying:
            tally = tally.add_first(str(one.workflow.id) for one in given.applied)
        if is_round:
            tally = replace(tally, watched=_watched(given), round=tally.round + 1, looks=0)
        if _is_milestone(self._tally.applied, tally.applied):
            update_statistics(self._drive)
        self._tally = tally
        self._run.set(tally.dump(), count=given.size)
        return not is_last or bool(tally.watched)

    def _next_size(self) -> tuple[int, bool]:
        """Return how many workflows are next, and whether their outcome is waited for."""
        plan, tally = self._plan, self._tally
        if plan.first is not None and self._is_trying:
            return min(plan.first - tally.applied, _LARGEST_ROUND), True
        if plan.stop_after is None:
            return _PORTION, False
        # Few first, and twice as many after each round: a fault that all have stops the bulk
        # before many of them have met it.
        return min(plan.stop_after * 2 ** min(tally.round, 20), _LARGEST_ROUND), True

    @property
    def _is_trying(self) -> bool:
        """True while the workflows are given that are tried before the rest."""
        return self._plan.first is not None and self._tally.applied < self._plan.first

    def _look_after_round(self) -> None:
        """Count those that failed again; suspend the step while some are not that far."""
        tally = self._tally
        found = look(self._drive, {self._key(key): nodes for key, nodes in tally.watched.items()})
        undecided = {str(key) for key in found.undecided}
        tally = replace(
            tally.add_failed(str(key) for key in found.failed),
            watched={key: nodes for key, nodes in tally.watched.items() if key in undecided},
            looks=tally.looks + 1,
        )
        self._tally = tally
        if tally.watched and self._why_stop() is None:
            wait = min(_SHORTEST_WAIT * 2 ** min(tally.looks - 1, 10), _LONGEST_WAIT)
            self._run.skip_to(tally.dump(), wait, count=0)

    def _why_stop(self) -> str | None:
        plan, tally = self._plan, self._tally
        ids = ", ".join(tally.failed_ids)
        if plan.stop_after is not None and tally.failed_again >= plan.stop_after:
            return f"{tally.failed_again} failed again: {ids}. The rest was left as it was."
        if plan.first is not None and tally.applied <= plan.first and tally.failed_again:
            return (
                f"Of the first {tally.applied}, {tally.failed_again} failed again: {ids}. "
                f"The rest was left as it was."
            )
        return None

    def _key(self, text: str | None) -> Any:
        return None if text is None else keys.parse(self._drive.store.key_type, text)


def _is_milestone(before: int, after: int) -> bool:
    """True each time the number has doubled, from the first one on."""
    return (
        after >= _MILESTONE
        and (before // _MILESTONE).bit_length() < (after // _MILESTONE).bit_length()
    )


def _watched(given: GivenPortion) -> dict[str, tuple[str, ...]]:
    return {str(key): nodes for key, nodes in given.going.items() if nodes}
