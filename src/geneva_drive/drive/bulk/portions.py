"""Run a bulk's command on its next workflows, in the transaction of its step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.drive.bulk.bulk_command import decision_of
from geneva_drive.drive.bulk.plan import BulkPlan
from geneva_drive.drive.bulk.selection import Portion, Selection
from geneva_drive.engine.commands.command_set import SetOutcome, execute_set
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.execution.group_commit import announce_command
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.errors import GenevaDriveError, UnknownWorkflowClass
from geneva_drive.states import StepState
from geneva_drive.storage.schema.records import Key

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_GOING = (StepState.SCHEDULED, StepState.PENDING, StepState.SUSPENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPortion:
    """The outcome of a portion; `last` is None if no workflow is left."""

    last: Key | None
    applied: list[Applied]
    refusals: list[str]
    gone: int

    @property
    def size(self) -> int:
        return len(self.applied) + len(self.refusals) + self.gone

    @property
    def going(self) -> dict[Key, tuple[str, ...]]:
        """The nodes that the command set going, by workflow."""
        return {one.workflow.id: _going(one) for one in self.applied}


def _going(applied: Applied) -> tuple[str, ...]:
    planned = [new.node_id for new in applied.change.schedule if new.state in _GOING]
    moved = [one.record.node_id for one in applied.change.executions if one.state in _GOING]
    return tuple(dict.fromkeys([*planned, *moved]))


def update_statistics(drive: Drive) -> None:
    """Update the statistics by which the database plans its queries.

    Where it expects few ready workflows, housekeeping and claims would read all of them.
    """

    def analyze(connection: Connection) -> None:
        drive.store.workflows.analyze(connection)
        drive.store.executions.analyze(connection)

    drive.store.write(analyze)


def give(drive: Drive, plan: BulkPlan, after: Key | None, size: int) -> GivenPortion:
    """Run the command on up to `size` workflows: lock them in order, look again, then write.

    It joins the transaction of the caller, who commits it together with its cursor.
    """
    environment = drive.environment
    given = drive.store.write(lambda connection: _give(connection, drive, plan, after, size))
    if given.applied:
        drive.store.database.after_commit(lambda: announce_command(environment, given.applied))
    return given


def _give(
    connection: Connection, drive: Drive, plan: BulkPlan, after: Key | None, size: int
) -> GivenPortion:
    if plan.until is None:
        return GivenPortion(last=None, applied=[], refusals=[], gone=0)
    selection = Selection(connection, drive, plan.command, plan.where, plan.until)
    portion = selection.portion(after, size)
    if not portion.ids:
        return GivenPortion(last=portion.last, applied=[], refusals=[], gone=0)
    outcome = _execute(connection, drive, plan, selection, portion)
    return GivenPortion(
        last=portion.last,
        applied=outcome.applied,
        refusals=[_words(one) for one in outcome.refused.values()],
        gone=len(portion.ids) - len(outcome.applied) - len(outcome.refused),
    )


def _words(refusal: GenevaDriveError) -> str:
    if isinstance(refusal, UnknownWorkflowClass):
        # Without quotes: values in quotes are left out where reasons are counted.
        return (
            f"The worker that ran the bulk has not imported the class {refusal.type_name}. Let "
            f"workers that have it run the bulk."
        )
    return str(refusal)


def _execute(
    connection: Connection, drive: Drive, plan: BulkPlan, selection: Selection, portion: Portion
) -> SetOutcome:
    store = drive.store
    locked = store.workflows.lock(connection, portion.ids)
    still = selection.still(portion.ids)
    return execute_set(
        connection,
        store,
        {key: record for key, record in locked.items() if key in still},
        decision_of(
            plan.command, step=plan.where.search.step, actor=plan.actor, reason=plan.reason
        ),
        audit=AuditEntry(command=plan.command.value, actor=plan.actor, reason=plan.reason),
        now=drive.clock.now(),
        read_back=drive.environment.events.wanted,
    )
