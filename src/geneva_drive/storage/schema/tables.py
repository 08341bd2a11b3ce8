"""The tables of a Drive, with every invariant that a database can enforce."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    Index,
    Integer,
    SmallInteger,
    Table,
    UniqueConstraint,
    false,
    text,
)

from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    STORED_WORKFLOW_STATES,
    DeadLetterState,
    Request,
)
from geneva_drive.storage.schema.access import access_tables
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.counters.activity_tables import activity, activity_marks
from geneva_drive.storage.schema.documents.definition_table import definitions
from geneva_drive.storage.schema.execution_table import FAILED_ERROR, step_executions
from geneva_drive.storage.schema.expansion_table import expansions
from geneva_drive.storage.schema.graph_tables import graph_joins, graph_nodes, graphs
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.limit_tables import limit_slots, limits
from geneva_drive.storage.schema.schedule_tables import schedule_runs, schedules
from geneva_drive.storage.schema.table_builder import TableBuilder
from geneva_drive.storage.schema.waits import event_tables
from geneva_drive.storage.schema.waits.approval_tables import (
    approval_links,
    approval_people,
    approvals,
    resume_requests,
)


class Tables(TableBuilder):
    """The tables of one Drive, under its prefix and with its type of key."""

    def __init__(self, *, prefix: str, key_type: KeyType, has_partial_indexes: bool) -> None:
        super().__init__(prefix=prefix, key_type=key_type, has_partial_indexes=has_partial_indexes)
        self.workflows_by_state = Index(f"{prefix}workflows_state", "state", "type", "id")
        self.workflows = self._workflows()
        self.step_executions = step_executions(self)
        # None on MySQL, which has no such index.
        self.failures_by_error = next(
            (i for i in self.step_executions.indexes if i.name == f"{prefix}{FAILED_ERROR}"), None
        )
        self.checkpoints = self._checkpoints()
        self.audit_entries = self._audit_entries()
        self.dead_letters = self._dead_letters()
        self.workers = self._workers()
        self.limits = limits(self)
        self.limit_slots = limit_slots(self)
        self.graphs = graphs(self)
        self.graph_nodes = graph_nodes(self)
        self.graph_joins = graph_joins(self)
        self.approvals = approvals(self)
        self.approval_people = approval_people(self)
        self.approval_links = approval_links(self)
        self.resume_requests = resume_requests(self)
        self.expansions = expansions(self)
        self.schedules = schedules(self)
        self.schedule_runs = schedule_runs(self)
        self.events = event_tables.events(self)
        self.event_waits = event_tables.event_waits(self)
        self.event_listeners = event_tables.event_listeners(self)
        self.event_receipts = event_tables.event_receipts(self)
        self.event_starts = event_tables.event_starts(self)
        self.callbacks = event_tables.callbacks(self)
        self.api_keys = access_tables.api_keys(self)
        self.roles = access_tables.roles(self)
        self.activity = activity(self)
        self.activity_marks = activity_marks(self)
        self.definitions = definitions(self)

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
            self.workflows_by_state,
            Index(f"{self.prefix}workflows_created", "created_at", "id"),
            # The node of another workflow that started this one.
            Column("parent_execution_id", self.key_kind()),
            Column("is_detached", Boolean, nullable=False, server_default=false()),
            Column("has_graph", Boolean, nullable=False, server_default=false()),
            Column("started_by", name_type(255)),
            # How many of its executions wait for a person or an event.
            Column("open_waits", Integer, nullable=False, server_default=text("0")),
            *self._waiting_marker(),
            Column("definition_version", name_type(100)),  # of its document
            Column("definition_signature", name_type(16)),
            Column("result", name_type(20)),
            Column("result_reason", long_text()),
            Column("expires_at", Moment),
            # Without AUTOINCREMENT, a new workflow could get the id of a pruned one.
            sqlite_autoincrement=True,
        )
        c = table.c
        self.index_where("workflows_finished", c.finished_at, where=c.finished_at.is_not(None))
        self.index_where("workflows_canceled", c.canceled_at, where=c.canceled_at.is_not(None))
        parent = c.parent_execution_id
        self.index_where("workflows_parent", parent, where=parent.is_not(None))
        self.index_where("workflows_expiry", c.expires_at, where=c.expires_at.is_not(None))
        waiting: list[Any] = [] if self.has_partial_indexes else [c.waits]
        self.workflows_by_waits = self.index_where(
            "workflows_waits", *waiting, c.type, c.id, where=c.open_waits > 0
        )
        return table

    def _waiting_marker(self) -> list[Column[Any]]:
        """Return a column by which MySQL, without partial indexes, finds workflows that wait."""
        if self.has_partial_indexes:
            return []
        marks = "CASE WHEN open_waits > 0 THEN 1 END"
        return [Column("waits", SmallInteger, Computed(marks, persisted=True))]

    def _checkpoints(self) -> Table:
        """The cursors at which loops were interrupted, skipped an item or ended; never changed."""
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
            # Deleting a workflow looks up what refers to it.
            Index(f"{self.prefix}checkpoints_workflow", "workflow_id"),
        )

    def _audit_entries(self) -> Table:
        return self.table(
            "audit_entries",
            self.key(),
            self.workflow_reference(nullable=True),  # None: an act on the thing in `subject`
            Column("command", name_type(40), nullable=False),
            Column("actor", name_type(255)),
            Column("reason", long_text()),
            Column("at", Moment, nullable=False),
            Index(f"{self.prefix}audit_entries_workflow", "workflow_id", "at"),
            Column("approval_id", self.key_kind()),  # the request that it is about
            Column("subject", name_type()),  # the type of a schedule, the number of an event
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
            self.check_in("dead_letters", "state", DeadLetterState),
            *self.unique_where(
                "dead_letters_one_pending",
                "workflow_id",
                marker="pending",
                where="state = 'pending'",
            ),
            # Deleting a workflow looks up what refers to it.
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
            Column("trouble", long_text()),  # the database trouble that it is waiting out
            Column("lease_seconds", Float),  # how long it may be silent; None: the reader's lease
        )
