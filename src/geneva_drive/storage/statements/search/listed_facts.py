"""Queries for the facts that a list shows beside workflows: one statement for each whole page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, and_, or_, select

from geneva_drive.storage.schema.execution_conditions import is_done_execution
from geneva_drive.storage.schema.records import AuditRecord, ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.attempts import insertion_order
from geneva_drive.storage.statements.search.overviews import CANCELING, REJECTING

Result = tuple[str | None, str | None]  # typed JSON, and the share of the attempt


class ListedFacts:
    """Facts about a page of workflows, by the id of the workflow or execution."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._executions = tables.step_executions

    def results(
        self, connection: Connection, workflows: Iterable[WorkflowRecord]
    ) -> dict[Key, Result]:
        """Return the result of the last done step of each finished workflow."""
        by_step: dict[str, list[Key]] = {}
        for one in workflows:
            if one.previous_step_name is not None:
                by_step.setdefault(one.previous_step_name, []).append(one.id)
        if not by_step:
            return {}
        c = self._executions.c
        query = (
            select(c.workflow_id, c.result, c.share)
            .where(
                or_(
                    *(
                        and_(c.step_name == step, c.workflow_id.in_(ids))
                        for step, ids in by_step.items()
                    )
                ),
                is_done_execution(self._tables),
                # Of the partitions of a step, only one that called `finish` has a result.
                c.share.is_(None) | c.result.is_not(None),
            )
            .order_by(*insertion_order(self._tables))
        )
        # The latest comes last.
        return {row[0]: (row[1], row[2]) for row in connection.execute(query)}

    def attempts_before(
        self, connection: Connection, executions: Sequence[ExecutionRecord]
    ) -> dict[Key, ExecutionRecord]:
        """Return the attempt before each execution at the same node."""
        if not executions:
            return {}
        c = self._executions.c
        asked = {(one.workflow_id, one.node_id): one.id for one in executions}
        each = (
            and_(
                c.workflow_id == one.workflow_id,
                c.node_id == one.node_id,
                c.attempt_number == one.attempt_number - 1,
            )
            for one in executions
        )
        rows = connection.execute(select(self._executions).where(or_(*each))).mappings()
        found = [ExecutionRecord.of(row) for row in rows]
        return {asked[one.workflow_id, one.node_id]: one for one in found}

    def cancel_commands(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> dict[Key, AuditRecord]:
        """Return the last `cancel` command on each workflow, if there is one."""
        if not workflow_ids:
            return {}
        c = self._tables.audit_entries.c
        query = (
            select(c.workflow_id, c.command, c.actor, c.reason, c.at, c.approval_id)
            .where(c.workflow_id.in_(workflow_ids), c.command == "cancel")
            .order_by(c.at, c.id)
        )
        return {
            row["workflow_id"]: AuditRecord(
                command=row["command"],
                actor=row["actor"],
                reason=row["reason"],
                at=row["at"],
                approval_id=row["approval_id"],
            )
            for row in connection.execute(query).mappings()
        }

    def canceling(
        self, connection: Connection, workflows: Sequence[WorkflowRecord]
    ) -> dict[Key, ExecutionRecord]:
        """Return the execution that canceled each workflow, if one did."""
        if not workflows:
            return {}
        c = self._executions.c
        ends = {one.id: one.canceled_at for one in workflows}
        wanted = c.outcome.in_((*CANCELING, *REJECTING))
        query = select(self._executions).where(c.workflow_id.in_(list(ends)), wanted)
        found: dict[Key, ExecutionRecord] = {}
        rows = [ExecutionRecord.of(row) for row in connection.execute(query).mappings()]
        # Other active executions ended together with it, with the same outcome or by flow control.
        for one in sorted(rows, key=_rank, reverse=True):
            # A rejection canceled the workflow only if both ended at the same moment; after other
            # rejections the workflow continued.
            is_rejection = one.outcome in REJECTING
            if not is_rejection or one.finished_at == ends[one.workflow_id]:
                found[one.workflow_id] = one
        return found

    def parents(self, connection: Connection, execution_ids: Sequence[Key]) -> dict[Key, Key]:
        """Return the workflow of each execution that started a child."""
        if not execution_ids:
            return {}
        c = self._executions.c
        query = select(c.id, c.workflow_id).where(c.id.in_(execution_ids))
        return {row[0]: row[1] for row in connection.execute(query)}

    def templates(self, connection: Connection, workflow_ids: Sequence[Key]) -> dict[Key, str]:
        """Return the names of the templates that built dynamic workflows."""
        if not workflow_ids:
            return {}
        c = self._tables.graphs.c
        query = select(c.workflow_id, c.template).where(
            c.workflow_id.in_(workflow_ids), c.template.is_not(None)
        )
        return {row[0]: row[1] for row in connection.execute(query)}


def _rank(execution: ExecutionRecord) -> tuple[bool, bool, bool, Key]:
    """Return the sort key of the statement for one workflow: the cause comes first."""
    return (
        execution.error_class is None,
        execution.outcome not in REJECTING,
        execution.started_at is None,
        execution.id,
    )
