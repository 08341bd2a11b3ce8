"""The tables, with every invariant that a database can hold by itself."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    UniqueConstraint,
    bindparam,
    event,
    false,
    text,
    true,
)
from sqlalchemy.sql.elements import BindParameter, ColumnElement

from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    STORED_WORKFLOW_STATES,
    Outcome,
    Request,
    StepState,
)
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.table_builder import TableMaker

# A step's own key is made of two names.
LIMIT_KEY_LENGTH = 400

# On PostgreSQL. Rows of the queue are rewritten as they move on: room on the page keeps the rewrite
# beside the original, and early vacuuming keeps the queue's index short.
_HOT_TABLE = DDL(  # type: ignore[no-untyped-call]  # SQLAlchemy's own
    "ALTER TABLE %(fullname)s SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, "
    "autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02)"
).execute_if(dialect="postgresql")


class Tables(TableMaker):
    """The tables of one Drive, under its prefix and with its kind of key."""

    def __init__(self, *, prefix: str, key_type: KeyType, dialect_name: str) -> None:
        super().__init__(prefix=prefix, key_type=key_type, dialect_name=dialect_name)
        self.workflows = self._workflows()
        self.step_executions = self._step_executions()
        self.checkpoints = self._checkpoints()
        self.audit_entries = self._audit_entries()
        self.dead_letters = self._dead_letters()
        self.workers = self._workers()
        self.limits = self._limits()
        self.limit_slots = self._limit_slots()
        self.graphs = self._graphs()
        self.graph_nodes = self._graph_nodes()
        self.graph_joins = self._graph_joins()

    def is_active(self) -> ColumnElement[bool]:
        """Say of an execution that it is active, in the words of the index of those."""
        c = self.step_executions.c
        if not self.has_partial_indexes:
            return c.active == 1
        # A database does not see through a parameter.
        states: BindParameter[Any] = bindparam(
            "active", sorted(ACTIVE_STEP_STATES), expanding=True, literal_execute=True
        )
        return c.state.in_(states)

    def _workflows(self) -> Table:
        ended = ", ".join(f"'{state}'" for state in sorted(ENDED_WORKFLOW_STATES))
        table = self.table(
            "workflows",
            self.key(),
            Column("type", name_type(), nullable=False),
            Column("state", name_type(20), nullable=False),
            Column("requested", name_type(20)),
            Column("requested_reason", long_text()),
            Column("hero_type", name_type()),
            Column("hero_id", name_type(255)),
            Column("allow_multiple", Boolean, nullable=False, server_default=false()),
            Column("idempotency_key", name_type(255)),
            Column("context", long_text()),
            Column("queue", name_type()),
            Column("priority", Integer),
            Column("next_step_name", name_type()),
            Column("previous_step_name", name_type()),
            Column("paused_reason", long_text()),
            Column("paused_step_name", name_type()),
            Column("created_at", Moment, nullable=False),
            Column("updated_at", Moment, nullable=False),
            Column("started_at", Moment),
            Column("finished_at", Moment),
            Column("canceled_at", Moment),
            Column("paused_at", Moment),
            self.check_in("workflows", "state", STORED_WORKFLOW_STATES),
            self.check_in("workflows", "requested", Request),
            CheckConstraint(
                "(hero_type IS NULL) = (hero_id IS NULL)", name=f"{self.prefix}workflows_hero_whole"
            ),
            UniqueConstraint(
                "type", "idempotency_key", name=f"{self.prefix}workflows_idempotency_key"
            ),
            *self.unique_where(
                "workflows_one_ongoing",
                "type",
                "hero_type",
                "hero_id",
                marker="ongoing",
                where=f"state NOT IN ({ended}) AND NOT allow_multiple",
            ),
            Index(f"{self.prefix}workflows_hero", "hero_type", "hero_id"),
            Index(f"{self.prefix}workflows_state", "state", "type", "id"),
            # What it was started for: a node of another workflow.
            Column("parent_execution_id", self.key_kind()),
            Column("is_detached", Boolean, nullable=False, server_default=false()),
            Column("has_graph", Boolean, nullable=False, server_default=false()),
            # Or the id of a pruned workflow could be given to a new one.
            sqlite_autoincrement=True,
        )
        c = table.c
        self.index_where("workflows_finished", c.finished_at, where=c.finished_at.is_not(None))
        self.index_where("workflows_canceled", c.canceled_at, where=c.canceled_at.is_not(None))
        parent = c.parent_execution_id
        self.index_where("workflows_parent", parent, where=parent.is_not(None))
        return table

    def _step_executions(self) -> Table:
        active = ", ".join(f"'{state}'" for state in sorted(ACTIVE_STEP_STATES))
        table = self.table(
            "step_executions",
            self.key(),
            self.workflow_reference(),
            Column("type", name_type(), nullable=False),
            Column("signature", name_type(16), nullable=False),
            Column("step_name", name_type(), nullable=False),
            Column("node_id", name_type(), nullable=False),
            Column("slot", name_type(), nullable=False),
            Column("attempt_number", Integer, nullable=False),
            Column("state", name_type(20), nullable=False),
            Column("outcome", name_type(40)),
            Column("queue", name_type(), nullable=False),
            Column("priority", Integer, nullable=False),
            Column("claimable", Boolean, nullable=False),
            Column("wakes_at", Moment),
            Column("stop", name_type(20)),
            Column("worker_id", name_type(64)),
            Column("claim_token", name_type(32)),
            Column("failures", long_text()),
            Column("recoveries", Integer, nullable=False),
            Column("scheduled_for", Moment, nullable=False),
            Column("created_at", Moment, nullable=False),
            Column("started_at", Moment),
            Column("finished_at", Moment),
            Column("error_class", name_type(255)),
            Column("error_message", long_text()),
            Column("error_backtrace", long_text()),
            Column("result", long_text()),
            Column("metadata", long_text()),
            self.check_in("step_executions", "state", StepState),
            self.check_in("step_executions", "outcome", Outcome),
            self.check_in("step_executions", "stop", Request),
            CheckConstraint(
                "(state = 'in_progress') = (claim_token IS NOT NULL)",
                name=f"{self.prefix}step_executions_claim_iff_running",
            ),
            CheckConstraint(
                "claim_token IS NULL OR worker_id IS NOT NULL",
                name=f"{self.prefix}step_executions_claim_has_worker",
            ),
            CheckConstraint(
                "NOT claimable OR (state IN ('scheduled', 'suspended') AND stop IS NULL)",
                name=f"{self.prefix}step_executions_claimable_is_free",
            ),
            CheckConstraint(
                "wakes_at IS NULL OR (state IN ('scheduled', 'suspended') AND stop IS NULL "
                "AND NOT claimable)",
                name=f"{self.prefix}step_executions_sleeper_wakes",
            ),
            CheckConstraint(
                "attempt_number >= 1", name=f"{self.prefix}step_executions_attempts_from_one"
            ),
            UniqueConstraint(
                "workflow_id",
                "node_id",
                "attempt_number",
                name=f"{self.prefix}step_executions_attempt",
            ),
            *self.unique_where(
                "step_executions_one_active",
                "workflow_id",
                "slot",
                marker="active",
                where=f"state IN ({active})",
            ),
            Column("limit_key", name_type(LIMIT_KEY_LENGTH)),
            CheckConstraint(
                "limit_key IS NULL OR (state IN ('in_progress', 'scheduled', 'suspended') "
                "AND wakes_at IS NULL)",
                name=f"{self.prefix}step_executions_limit_is_ahead",
            ),
            Column("cursor", long_text()),
            Column("completed_iterations", BigInteger, nullable=False, server_default=text("0")),
            Column("item_errors", BigInteger, nullable=False, server_default=text("0")),
            Column("progress", long_text()),
            Column("share", long_text()),
            Column("ancestry_hash", name_type(64)),
            Column("child_id", self.key_kind()),  # the workflow that it waits for
        )
        self._step_execution_indexes(table)
        event.listen(table, "after_create", _HOT_TABLE)
        return table

    def _step_execution_indexes(self, table: Table) -> None:
        c = table.c
        # By lane, so that what a worker does not serve costs its claims nothing, however much of
        # it waits; with the queue for workers that serve only some.
        for name, lane in (("claim", [c.type]), ("claim_queue", [c.type, c.queue])):
            columns: list[Any] = [*lane, c.priority.desc(), c.id]
            if not self.has_partial_indexes:
                columns.insert(0, c.claimable)
            # Spelled out: SQLAlchemy asks SQLite for "claimable = 1", and that has to stand here.
            self.index_where(f"step_executions_{name}", *columns, where=c.claimable == true())
        self.index_where("step_executions_timer", c.wakes_at, where=c.wakes_at.is_not(None))
        # Where all rows are indexed, the token comes first: what is over has none.
        held = [c.worker_id] if self.has_partial_indexes else [c.claim_token, c.worker_id]
        self.index_where("step_executions_held", *held, where=c.claim_token.is_not(None))
        self.index_where(
            "step_executions_parked",
            c.limit_key,
            c.priority.desc(),
            c.id,
            where=c.limit_key.is_not(None),
        )
        self.index_where("step_executions_child", c.child_id, where=c.child_id.is_not(None))

    def _checkpoints(self) -> Table:
        """Where resumable steps stood when something happened to them; only ever appended to."""
        return self.table(
            "checkpoints",
            self.key(),
            self.workflow_reference(),
            Column("execution_id", self.key_kind(), nullable=False),
            Column("cursor", long_text()),
            Column("completed_iterations", BigInteger, nullable=False),
            Column("reason", name_type(40), nullable=False),
            Column("item", long_text()),
            Column("error_class", name_type(255)),
            Column("error_message", long_text()),
            Column("at", Moment, nullable=False),
            Index(f"{self.prefix}checkpoints_execution", "execution_id", "id"),
            # Deleting a workflow looks for what refers to it.
            Index(f"{self.prefix}checkpoints_workflow", "workflow_id"),
        )

    def _audit_entries(self) -> Table:
        return self.table(
            "audit_entries",
            self.key(),
            self.workflow_reference(),
            Column("command", name_type(40), nullable=False),
            Column("actor", name_type(255)),
            Column("reason", long_text()),
            Column("at", Moment, nullable=False),
            Index(f"{self.prefix}audit_entries_workflow", "workflow_id", "at"),
        )

    def _dead_letters(self) -> Table:
        return self.table(
            "dead_letters",
            self.key(),
            self.workflow_reference(),
            Column("step_name", name_type()),
            Column("reason", name_type(40), nullable=False),
            Column("state", name_type(20), nullable=False),
            Column("snapshot", long_text()),
            Column("created_at", Moment, nullable=False),
            Column("resolved_at", Moment),
            Column("resolved_by", name_type(255)),
            Column("notes", long_text()),
            self.check_in("dead_letters", "state", ("pending", "resolved")),
            *self.unique_where(
                "dead_letters_one_pending",
                "workflow_id",
                marker="pending",
                where="state = 'pending'",
            ),
            # Deleting a workflow looks for what refers to it.
            Index(f"{self.prefix}dead_letters_workflow", "workflow_id"),
        )

    def _workers(self) -> Table:
        return self.table(
            "workers",
            Column("id", name_type(64), primary_key=True),
            Column("name", name_type(255), nullable=False),
            Column("queues", long_text()),
            Column("signatures", long_text(), nullable=False),
            Column("started_at", Moment, nullable=False),
            Column("heartbeat_at", Moment, nullable=False),
            Column("stopped_at", Moment),
        )

    def _limits(self) -> Table:
        table = self.table(
            "limits",
            Column("limit_key", name_type(LIMIT_KEY_LENGTH), primary_key=True),
            Column("concurrency", Integer),
            Column("rate", name_type(40)),
            Column("last_number", BigInteger, nullable=False),
            Column("used_at", Moment),
            Column("wakes_at", Moment),
        )
        wakes_at = table.c.wakes_at
        self.index_where("limits_timer", wakes_at, where=wakes_at.is_not(None))
        return table

    def _limit_slots(self) -> Table:
        of_limit = ForeignKey(f"{self.prefix}limits.limit_key", ondelete="CASCADE")
        table = self.table(
            "limit_slots",
            Column("limit_key", name_type(LIMIT_KEY_LENGTH), of_limit, primary_key=True),
            Column("number", BigInteger, primary_key=True, autoincrement=False),
            Column("execution_id", self.key_kind(), nullable=False),
            Column("claim_token", name_type(32)),
            Column("started_at", Moment, nullable=False),
        )
        token = table.c.claim_token
        self.index_where("limit_slots_held", table.c.limit_key, token, where=token.is_not(None))
        return table

    def _graphs(self) -> Table:
        """Stored graphs, apart from the workflows: a completion never rewrites them."""
        return self.table(
            "graphs",
            self.workflow_reference(primary_key=True, autoincrement=False),
            Column("signature", name_type(64), nullable=False),
            Column("template", name_type()),
            Column("frozen_at", Moment, nullable=False),
            Column("total", Integer, nullable=False),
            Column("remaining", Integer, nullable=False),  # nodes that are not done
            Index(f"{self.prefix}graphs_template", "template", "workflow_id"),
        )

    def _graph_nodes(self) -> Table:
        """The nodes of stored graphs, each with its edges."""
        return self.table(
            "graph_nodes",
            self.workflow_reference(primary_key=True, autoincrement=False),
            Column("node_id", name_type(), primary_key=True),
            Column("position", Integer, nullable=False),
            Column("name", name_type(), nullable=False),
            Column("job", name_type(255)),
            Column("dependency_count", Integer, nullable=False),
            # Last, as they may be long: SQLite reads a row from its beginning.
            Column("args", long_text()),
            Column("depends_on", long_text(), nullable=False),
            Column("dependants", long_text(), nullable=False),
            Column("scheduling", long_text()),
        )

    def _graph_joins(self) -> Table:
        """How much the nodes with several dependencies wait for: apart, as it is written often."""
        return self.table(
            "graph_joins",
            self.workflow_reference(primary_key=True, autoincrement=False),
            Column("node_id", name_type(), primary_key=True),
            Column("unmet", Integer, nullable=False),  # dependencies that are not done
        )
