"""The workflow that runs a command on many workflows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.reserved_types import BULK_TYPE
from geneva_drive.definition.nodes.resumable_step import resumable_step
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.bulk import follow_up
from geneva_drive.drive.bulk.bulk_cursor import BulkCursor
from geneva_drive.drive.bulk.plan import BulkPlan
from geneva_drive.drive.bulk.portions import PortionOutcome, run_portion, update_statistics
from geneva_drive.iteration.iterable_step import IterableStep, run_of
from geneva_drive.settings import OWN_QUEUE
from geneva_drive.storage.schema import keys

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from geneva_drive.drive.drive import Drive

_PORTION = 1_000
_MILESTONE = 5_000  # changed workflows; after so many, the planner's statistics mislead
_LARGEST_ROUND = 250  # the cursor holds all workflows of a round
_SHORTEST_WAIT = timedelta(milliseconds=250)
_LONGEST_WAIT = timedelta(seconds=5)


class BulkRun(Workflow[Any, Any]):
    """Runs its command on one portion of workflows per transaction, which also saves its cursor."""

    type_name = BULK_TYPE
    queue = OWN_QUEUE

    @resumable_step(transaction=True, keep_result=True)
    def give_command(self, it: IterableStep, session: Session) -> dict[str, Any]:  # noqa: ARG002 - all writes of this thread join its transaction
        drive = self.handle.drive
        bulk = _Bulk(drive, BulkPlan.load(self.context, drive.store.key_type), it)
        return bulk.run()


class _Bulk:
    """One run of the step, which continues from its cursor."""

    def __init__(self, drive: Drive, plan: BulkPlan, it: IterableStep) -> None:
        self._drive = drive
        self._plan = plan
        self._run = run_of(it)
        self._counts = BulkCursor.load(it.cursor)
        it.progress(plan.total)

    def run(self) -> dict[str, Any]:
        stopped = None
        while stopped is None:
            if self._counts.watched:
                self._check_watched()
                stopped = self._why_stop()
                if stopped is not None:
                    break
            if not self._run_next_portion():
                break
        self._counts = self._counts.end(self._plan.total, stopped)
        return self._counts.result(self._plan.total)

    def _run_next_portion(self) -> bool:
        """Run the command on the next portion, and commit it; False if none was left."""
        size, is_round = self._next_size()
        outcome = run_portion(self._drive, self._plan, self._key(self._counts.after), size)
        is_last = outcome.last is None
        counts = self._counts.add(
            after=str(self._plan.until if outcome.last is None else outcome.last),
            applied=len(outcome.applied),
            refusals=outcome.refusals,
            gone=outcome.gone,
        )
        if self._is_trying:
            counts = counts.add_first(str(one.workflow.id) for one in outcome.applied)
        if is_round:
            counts = replace(counts, watched=_watched(outcome), round=counts.round + 1, looks=0)
        if _is_milestone(self._counts.applied, counts.applied):
            update_statistics(self._drive)
        self._counts = counts
        self._run.set(counts.dump(), count=outcome.size)
        return not is_last or bool(counts.watched)

    def _next_size(self) -> tuple[int, bool]:
        """Return the size of the next portion, and whether to wait for its outcome."""
        plan, counts = self._plan, self._counts
        if plan.first is not None and self._is_trying:
            return min(plan.first - counts.applied, _LARGEST_ROUND), True
        if plan.stop_after is None:
            return _PORTION, False
        # Each round is twice as large as the one before: a fault that all workflows share stops the
        # bulk early.
        return min(plan.stop_after * 2 ** min(counts.round, 20), _LARGEST_ROUND), True

    @property
    def _is_trying(self) -> bool:
        """True until the workflows are set going that are tried before the rest."""
        return self._plan.first is not None and self._counts.applied < self._plan.first

    def _check_watched(self) -> None:
        """Count the workflows that failed again; suspend the step while some are still running."""
        counts = self._counts
        found = follow_up.check(
            self._drive, {self._key(key): nodes for key, nodes in counts.watched.items()}
        )
        undecided = {str(key) for key in found.undecided}
        counts = replace(
            counts.add_failed(str(key) for key in found.failed),
            watched={key: nodes for key, nodes in counts.watched.items() if key in undecided},
            looks=counts.looks + 1,
        )
        self._counts = counts
        if counts.watched and self._why_stop() is None:
            wait = min(_SHORTEST_WAIT * 2 ** min(counts.looks - 1, 10), _LONGEST_WAIT)
            self._run.skip_to(counts.dump(), wait, count=0)

    def _why_stop(self) -> str | None:
        plan, counts = self._plan, self._counts
        ids = ", ".join(counts.failed_ids)
        if plan.stop_after is not None and counts.failed_again >= plan.stop_after:
            return f"{counts.failed_again} failed again: {ids}. The rest was left as it was."
        if plan.first is not None and counts.applied <= plan.first and counts.failed_again:
            return (
                f"Of the first {counts.applied}, {counts.failed_again} failed again: {ids}. "
                f"The rest was left as it was."
            )
        return None

    def _key(self, text: str | None) -> Any:
        return None if text is None else keys.parse(self._drive.store.key_type, text)


def _is_milestone(before: int, after: int) -> bool:
    """True when the number passes `_MILESTONE`, and each time it has doubled since."""
    return (
        after >= _MILESTONE
        and (before // _MILESTONE).bit_length() < (after // _MILESTONE).bit_length()
    )


def _watched(outcome: PortionOutcome) -> dict[str, tuple[str, ...]]:
    return {str(key): nodes for key, nodes in outcome.due_nodes.items() if nodes}
