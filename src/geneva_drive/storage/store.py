"""A migrated database with its tables and the statements on each of them."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import Connection, column, delete, inspect, select, table

from geneva_drive.errors import NotCreated, NotMigrated, TooNew
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema import keys, revisions
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.access.api_keys import ApiKeys
from geneva_drive.storage.statements.access.roles import Roles
from geneva_drive.storage.statements.activity import Activity
from geneva_drive.storage.statements.attempts import Attempts
from geneva_drive.storage.statements.audit import AuditEntries
from geneva_drive.storage.statements.dead_letters import DeadLetters
from geneva_drive.storage.statements.documents.definitions import Definitions
from geneva_drive.storage.statements.executions import Executions
from geneva_drive.storage.statements.expansions import Expansions
from geneva_drive.storage.statements.graphs import Graphs
from geneva_drive.storage.statements.limits import Limits
from geneva_drive.storage.statements.loops.checkpoint_writer import CheckpointWriter
from geneva_drive.storage.statements.loops.checkpoints import Checkpoints
from geneva_drive.storage.statements.parked_executions import ParkedExecutions
from geneva_drive.storage.statements.requirements import Requirements
from geneva_drive.storage.statements.results import Results
from geneva_drive.storage.statements.search.ended_counts import EndedCounts
from geneva_drive.storage.statements.search.failures import Failures
from geneva_drive.storage.statements.search.families import Families
from geneva_drive.storage.statements.search.front_page import FrontPage
from geneva_drive.storage.statements.search.listed_facts import ListedFacts
from geneva_drive.storage.statements.search.overviews import Overviews
from geneva_drive.storage.statements.search.pages import Pages
from geneva_drive.storage.statements.search.timelines import Timelines
from geneva_drive.storage.statements.search.workflow_search import WorkflowSearch
from geneva_drive.storage.statements.stale_executions import StaleExecutions
from geneva_drive.storage.statements.timers.next_wakes import NextWakes
from geneva_drive.storage.statements.timers.schedule_runs import ScheduleRuns
from geneva_drive.storage.statements.timers.schedules import Schedules
from geneva_drive.storage.statements.waits.approval_people import ApprovalPeople
from geneva_drive.storage.statements.waits.approvals import Approvals
from geneva_drive.storage.statements.waits.callbacks import Callbacks
from geneva_drive.storage.statements.waits.event_waits import EventWaits
from geneva_drive.storage.statements.waits.events import Events
from geneva_drive.storage.statements.waits.resume_requests import ResumeRequests
from geneva_drive.storage.statements.workers import Workers
from geneva_drive.storage.statements.workflows import Workflows


class Store:
    """Everything that a Drive stores: one object with statements per table or question."""

    def __init__(self, database: Database, tables: Tables) -> None:
        self.database = database
        self.tables = tables
        self.workflows = Workflows(tables, database.dialect)
        self.workflow_search = WorkflowSearch(tables, database.dialect)
        self.executions = Executions(tables, database.dialect)
        self.attempts = Attempts(tables, database.dialect)
        self.graphs = Graphs(tables, database.dialect)
        self.expansions = Expansions(tables)
        self.results = Results(tables)
        self.failures = Failures(tables, database.dialect)
        self.families = Families(tables)
        self.overviews = Overviews(tables, database.dialect)
        self.listed_facts = ListedFacts(tables)
        self.ended_counts = EndedCounts(tables)
        self.pages = Pages(tables)
        self.requirements = Requirements(tables, database.dialect)
        self.checkpoints = Checkpoints(tables)
        self.checkpoint_writer = CheckpointWriter(database, tables, self.checkpoints)
        self.audit_entries = AuditEntries(tables, database.dialect)
        self.dead_letters = DeadLetters(tables)
        self.stale_executions = StaleExecutions(tables, self.dead_letters)
        self.workers = Workers(tables, database.dialect)
        self.approvals = Approvals(tables)
        self.approval_people = ApprovalPeople(tables)
        self.resume_requests = ResumeRequests(tables, database.dialect)
        self.schedules = Schedules(tables, database.dialect)
        self.schedule_runs = ScheduleRuns(tables)
        self.next_wakes = NextWakes(tables, self.schedules)
        self.events = Events(tables, database.dialect)
        self.event_waits = EventWaits(tables, database.dialect)
        self.callbacks = Callbacks(tables)
        self.api_keys = ApiKeys(tables)
        self.roles = Roles(tables)
        self.activity = Activity(tables)
        self.front_page = FrontPage(tables)
        self.timelines = Timelines(tables)
        self.definitions = Definitions(tables)
        self.limits = Limits(tables, database.dialect)
        self.parked_executions = ParkedExecutions(tables, database.dialect)
        self.write = database.write
        self.write_at_once = database.write_at_once
        self.write_group = database.write_group
        self.read = database.read
        self.read_at_once = database.read_at_once
        self.reading = database.reading
        self.transaction = database.transaction

    def empty(self, connection: Connection) -> None:
        """Delete every row, children first; for tests."""
        for each in reversed(self.tables.metadata.sorted_tables):
            connection.execute(delete(each))

    @property
    def key_type(self) -> KeyType:
        return self.tables.key_type


def open_store(database: Database, prefix: str) -> Store:
    """Return the Store; raise if the tables do not have the revision of this code."""
    if database.is_absent:
        raise NotCreated(database.url)
    with database.reading() as connection:
        revision = read_revision(connection, prefix)
        if revision is None or (revision in revisions.REVISIONS and revision != revisions.HEAD):
            raise NotMigrated(database.url)
        if revision != revisions.HEAD:
            raise TooNew(database.url, revision)
        return Store(database, read_tables(connection, prefix, database.dialect))


def read_revision(connection: Connection, prefix: str) -> str | None:
    name = revisions.version_table(prefix)
    if not inspect(connection).has_table(name):
        return None
    revision: str | None = connection.scalar(
        select(table(name, column("version_num")).c.version_num)
    )
    return revision


def read_tables(connection: Connection, prefix: str, dialect: Dialect) -> Tables:
    columns = inspect(connection).get_columns(f"{prefix}workflows")
    key = next(column for column in columns if column["name"] == "id")
    key_type = KeyType.UUID if keys.is_uuid(key["type"]) else KeyType.BIGINT
    return _tables_for(prefix, key_type, dialect.has_partial_indexes)


@lru_cache(maxsize=16)
def _tables_for(prefix: str, key_type: KeyType, has_partial_indexes: bool) -> Tables:
    """Return the tables; they are cached, because statements are cached by their tables."""
    return Tables(prefix=prefix, key_type=key_type, has_partial_indexes=has_partial_indexes)
