"""The tables, with every invariant that a database can hold by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    UniqueConstraint,
    event,
    false,
    text,
    true,
)
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    STORED_WORKFLOW_STATES,
    Outcome,
    Request,
    StepState,
)
from geneva_drive.storage.keys import KeyType, new_uuid
from geneva_drive.storage.types import Moment, big_integer_key, long_text, name_type, uuid_key

# Every table is written for all databases, except where MySQL has no partial index: there a
# generated column is NULL for the rows that the index should leave out.
MYSQL_NAMES = ("mysql", "mariadb")

# A step's own key is made of two names.
LIMIT_KEY_LENGTH = 400

# On PostgreSQL. Rows of the queue are rewritten as they move on: room on the page keeps the rewrite
# beside the original, and early vacuuming keeps the queue's index short.
_HOT_TABLE = DDL(  # type: ignore[no-untyped-call]  # SQLAlchemy's own
    "ALTER TABLE %(fullname)s SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, "
    "autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02)"
).execute_if(dialect="postgresql")


class Tables:
    """The tables of one Drive, under its prefix and with its kind of key."""

    def __init__(self, *, prefix: str, key_type: KeyType, dialect_name: str) -> None:
        self.prefix = prefix
        self.key_type = key_type
        self.has_partial_indexes = dialect_name not in MYSQL_NAMES
        self.metadata = MetaData()
        self.workflows = self._workflows()
        self.step_executions = self._step_executions()
        self.checkpoints = self._checkpoints()
        self.audit_entries = self._audit_entries()
        self.dead_letters = self._dead_letters()
        self.workers = self._workers()
        self.limits = self._limits()
        self.limit_slots = self._limit_slots()

    def quoted(self, table: Table) -> str:
        """Write a name into a statement for PostgreSQL or SQLite: a prefix may be in capitals."""
        return f'"{table.name}"'

    def keyed(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Give rows to be inserted their keys, where it is not the database that makes them."""
        if self.key_type is KeyType.UUID:
            return [{"id": new_uuid(), **row} for row in rows]
        return [dict(row) for row in rows]

    def _table(self, name: str, *items: SchemaItem, **options: Any) -> Table:
        return Table(
            self.prefix + name,
            self.metadata,
            *items,
            **options,
            mysql_engine="InnoDB",
            mysql_charset="utf8mb4",
            mariadb_engine="InnoDB",
            mariadb_charset="utf8mb4",
        )

    def _key(self) -> Column[Any]:
        if self.key_type is KeyType.UUID:
            return Column("id", uuid_key(), primary_key=True)
        return Column("id", big_integer_key(), primary_key=True, autoincrement=True)

    def _workflow_reference(self) -> Column[Any]:
        kind = uuid_key() if self.key_type is KeyType.UUID else big_integer_key()
        target = ForeignKey(
            f"{self.prefix}workflows.id",
            ondelete="CASCADE",
        )
        return Column("workflow_id", kind, target, nullable=False)

    def _check_in(self, table: str, column: str, values: Iterable[str]) -> CheckConstraint:
        listed = ", ".join(f"'{value}'" for value in sorted(values))
        return CheckConstraint(
            f"{column} IN ({listed})", name=f"{self.prefix}{table}_{column}_known"
        )

    def _unique_where(self, name: str, *columns: str, marker: str, where: str) -> list[SchemaItem]:
        """Make columns unique among the rows for which `where` holds."""
        full_name = f"{self.prefix}{name}"
        if self.has_partial_indexes:
            condition = text(where)
            return [
                Index(
                    full_name,
                    *columns,
                    unique=True,
                    postgresql_where=condition,
                    sqlite_where=condition,
                )
            ]
        holds = f"CASE WHEN {where} THEN 1 END"
        marked: Column[int] = Column(marker, SmallInteger, Computed(holds, persisted=True))
        # Falling, so that a row's unmarked predecessors come after it: whoever inserts where a
        # marked one has just been, locks what comes next. That must not be another's row.
        return [marked, Index(full_name, *columns, marked.desc(), unique=True)]

    def _index_where(self, name: str, *columns: Any, where: ColumnElement[bool]) -> Index:
        """Index the rows for which `where` holds; MySQL indexes all rows."""
        full_name = f"{self.prefix}{name}"
        if not self.has_partial_indexes:
            return Index(full_name, *columns)
        # An expression, not text: SQLite uses the index only for a query with the same words, and
        # both are then written by SQLAlchemy.
        return Index(full_name, *columns, postgresql_where=where, sqlite_where=where)

    def _workflows(self) -> Table:
        ended = ", ".join(f"'{state}'" for state in sorted(ENDED_WORKFLOW_STATES))
        table = self._table(
            "workflows",
            self._key(),
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
            self._check_in("workflows", "state", STORED_WORKFLOW_STATES),
            self._check_in("workflows", "requested", Request),
            CheckConstraint(
                "(hero_type IS NULL) = (hero_id IS NULL)", name=f"{self.prefix}workflows_hero_whole"
            ),
            UniqueConstraint(
                "type", "idempotency_key", name=f"{self.prefix}workflows_idempotency_key"
            ),
            *self._unique_where(
                "workflows_one_ongoing",
                "type",
                "hero_type",
                "hero_id",
                marker="ongoing",
                where=f"state NOT IN ({ended}) AND NOT allow_multiple",
            ),
            Index(f"{self.prefix}workflows_hero", "hero_type", "hero_id"),
            Index(f"{self.prefix}workflows_state", "state", "type", "id"),
            # Or the id of a pruned workflow could be given to a new one.
            sqlite_autoincrement=True,
        )
        c = table.c
        self._index_where("workflows_finished", c.finished_at, where=c.finished_at.is_not(None))
        self._index_where("workflows_canceled", c.canceled_at, where=c.canceled_at.is_not(None))
        return table

    def _step_executions(self) -> Table:
        active = ", ".join(f"'{state}'" for state in sorted(ACTIVE_STEP_STATES))
        table = self._table(
            "step_executions",
            self._key(),
            self._workflow_reference(),
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
            self._check_in("step_executions", "state", StepState),
            self._check_in("step_executions", "outcome", Outcome),
            self._check_in("step_executions", "stop", Request),
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
            *self._unique_where(
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
            self._index_where(f"step_executions_{name}", *columns, where=c.claimable == true())
        self._index_where("step_executions_timer", c.wakes_at, where=c.wakes_at.is_not(None))
        # Where all rows are indexed, the token comes first: what is over has none.
        held = [c.worker_id] if self.has_partial_indexes else [c.claim_token, c.worker_id]
        self._index_where("step_executions_held", *held, where=c.claim_token.is_not(None))
        self._index_where(
            "step_executions_parked",
            c.limit_key,
            c.priority.desc(),
            c.id,
            where=c.limit_key.is_not(None),
        )

    def _checkpoints(self) -> Table:
        """Where resumable steps stood when something happened to them; only ever appended to."""
        kind = uuid_key() if self.key_type is KeyType.UUID else big_integer_key()
        return self._table(
            "checkpoints",
            self._key(),
            self._workflow_reference(),
            Column("execution_id", kind, nullable=False),
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
        return self._table(
            "audit_entries",
            self._key(),
            self._workflow_reference(),
            Column("command", name_type(40), nullable=False),
            Column("actor", name_type(255)),
            Column("reason", long_text()),
            Column("at", Moment, nullable=False),
            Index(f"{self.prefix}audit_entries_workflow", "workflow_id", "at"),
        )

    def _dead_letters(self) -> Table:
        return self._table(
            "dead_letters",
            self._key(),
            self._workflow_reference(),
            Column("step_name", name_type()),
            Column("reason", name_type(40), nullable=False),
            Column("state", name_type(20), nullable=False),
            Column("snapshot", long_text()),
            Column("created_at", Moment, nullable=False),
            Column("resolved_at", Moment),
            Column("resolved_by", name_type(255)),
            Column("notes", long_text()),
            self._check_in("dead_letters", "state", ("pending", "resolved")),
            *self._unique_where(
                "dead_letters_one_pending",
                "workflow_id",
                marker="pending",
                where="state = 'pending'",
            ),
            # Deleting a workflow looks for what refers to it.
            Index(f"{self.prefix}dead_letters_workflow", "workflow_id"),
        )

    def _workers(self) -> Table:
        return self._table(
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
        table = self._table(
            "limits",
            Column("limit_key", name_type(LIMIT_KEY_LENGTH), primary_key=True),
            Column("concurrency", Integer),
            Column("rate", name_type(40)),
            Column("last_number", BigInteger, nullable=False),
            Column("used_at", Moment),
            Column("wakes_at", Moment),
        )
        wakes_at = table.c.wakes_at
        self._index_where("limits_timer", wakes_at, where=wakes_at.is_not(None))
        return table

    def _limit_slots(self) -> Table:
        key_type = uuid_key() if self.key_type is KeyType.UUID else big_integer_key()
        of_limit = ForeignKey(f"{self.prefix}limits.limit_key", ondelete="CASCADE")
        table = self._table(
            "limit_slots",
            Column("limit_key", name_type(LIMIT_KEY_LENGTH), of_limit, primary_key=True),
            Column("number", BigInteger, primary_key=True, autoincrement=False),
            Column("execution_id", key_type, nullable=False),
            Column("claim_token", name_type(32)),
            Column("started_at", Moment, nullable=False),
        )
        token = table.c.claim_token
        self._index_where("limit_slots_held", table.c.limit_key, token, where=token.is_not(None))
        return table
