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

_DUE = (StepState.SCHEDULED, StepState.PENDING, StepState.SUSPENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortionOutcome:
    """The outcome of a portion; `last` is None if no workflow is left."""

    last: Key | None
    applied: list[Applied]
    refusals: list[str]
    gone: int

    @property
    def size(self) -> int:
        return len(self.applied) + len(self.refusals) + self.gone

    @property
    def due_nodes(self) -> dict[Key, tuple[str, ...]]:
        """The nodes that the command made due, by workflow."""
        return {one.workflow.id: _due_nodes_of(one) for one in self.applied}


def _due_nodes_of(applied: Applied) -> tuple[str, ...]:
    planned = [new.node_id for new in applied.change.schedule if new.state in _DUE]
    moved = [one.record.node_id for one in applied.change.executions if one.state in _DUE]
    return tuple(dict.fromkeys([*planned, *moved]))


def update_statistics(drive: Drive) -> None:
    """Update the statistics of the database's query planner.

    A plan for few ready workflows would make housekeeping and claims read all of them.
    """

    def analyze(connection: Connection) -> None:
        drive.store.workflows.analyze(connection)
        drive.store.executions.analyze(connection)

    drive.store.write(analyze)


def run_portion(drive: Drive, plan: BulkPlan, after: Key | None, size: int) -> PortionOutcome:
    """Run the command on up to `size` workflows: lock them in order, check them again, then write.

    It joins the caller's transaction, which also saves the cursor.
    """
    environment = drive.environment
    outcome = drive.store.write(
        lambda connection: _run_portion(connection, drive, plan, after, size)
    )
    if outcome.applied:
        drive.store.database.after_commit(lambda: announce_command(environment, outcome.applied))
    return outcome


def _run_portion(
    connection: Connection, drive: Drive, plan: BulkPlan, after: Key | None, size: int
) -> PortionOutcome:
    if plan.until is None:
        return PortionOutcome(last=None, applied=[], refusals=[], gone=0)
    selection = Selection(connection, drive, plan.command, plan.where, plan.until)
    portion = selection.portion(after, size)
    if not portion.ids:
        return PortionOutcome(last=portion.last, applied=[], refusals=[], gone=0)
    outcome = _execute(connection, drive, plan, selection, portion)
    return PortionOutcome(
        last=portion.last,
        applied=outcome.applied,
        refusals=[_words(one) for one in outcome.refused.values()],
        gone=len(portion.ids) - len(outcome.applied) - len(outcome.refused),
    )


def _words(refusal: GenevaDriveError) -> str:
    if isinstance(refusal, UnknownWorkflowClass):
        # No quotes: quoted values are removed where reasons are counted.
        return (
            f"The worker that ran the bulk has not imported the class {refusal.type_name}. Import "
            f"its module in the app of every worker, and start the bulk again."
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
