"""Start a command on many workflows: `drive.bulk(...)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.drive import audit_text
from geneva_drive.drive.bulk.bulk_command import CONTINUING, BulkCommand
from geneva_drive.drive.bulk.bulk_run import BulkRun
from geneva_drive.drive.bulk.plan import BulkPlan
from geneva_drive.drive.bulk.selection import Selection
from geneva_drive.drive.bulk.where import Where
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import InvalidInput
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.audit import Act

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_SAMPLE = 10
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """The exact number of workflows that a bulk would change, and the first of them."""

    count: int
    sample: list[WorkflowHandle[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOrder:
    """The arguments of `drive.bulk`, checked."""

    command: BulkCommand
    where: Where
    actor: str | None
    reason: str | None
    first: int | None
    stop_after: int | None

    @classmethod
    def of(
        cls,
        command: object,
        where: Mapping[str, Any],
        *,
        actor: str | None,
        reason: str | None,
        first: int | None = None,
        stop_after: int | None = None,
    ) -> BulkOrder:
        chosen = BulkCommand(checks.choice("bulk(command=...)", command, tuple(BulkCommand)))
        for name, value in (("first", first), ("stop_after", stop_after)):
            if value is None:
                continue
            checks.whole_number(f"bulk({name}=...)", value, at_least=1, at_most=_MOST)
            if chosen not in CONTINUING:
                raise InvalidInput(
                    f"bulk({name}=...) waits for the outcome of a step, and {chosen} runs none. "
                    f"Leave it out."
                )
        return cls(
            command=chosen,
            where=Where.of(where),
            actor=audit_text.actor("bulk", actor),
            reason=audit_text.reason("bulk", reason),
            first=first,
            stop_after=stop_after,
        )


class BulkLimits(TypedDict, total=False):
    """The keywords of `drive.bulk` that make it wait for the outcome of workflows."""

    first: int | None
    stop_after: int | None


class BulkCommands:
    """`drive.bulk(...)`, which runs one command on many workflows.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> drive.bulk("resume", {"paused_reason": "strike"}, dry_run=True).count
    0
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    @overload
    def __call__(
        self,
        command: str,
        where: Mapping[str, Any],
        actor: str | None = None,
        reason: str | None = None,
        dry_run: Literal[False] = False,
        **limits: Unpack[BulkLimits],
    ) -> WorkflowHandle[Any]: ...
    @overload
    def __call__(
        self,
        command: str,
        where: Mapping[str, Any],
        actor: str | None = None,
        reason: str | None = None,
        *,
        dry_run: Literal[True],
        **limits: Unpack[BulkLimits],
    ) -> BulkPreview: ...
    def __call__(
        self,
        command: str,
        where: Mapping[str, Any],
        actor: str | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        **limits: Unpack[BulkLimits],
    ) -> Any:
        """Run a command on all workflows that match; a worker does it, in a workflow of its own.

        `where` has the filters of a list, or those of a group of failures (`group.where`). With
        `dry_run`, return how many match, and the first of them. `first=1` starts with one workflow,
        and goes on once that one has passed its failed step; `stop_after=n` stops once n workflows
        have failed again. Each workflow gets the command once, with an audit entry, even if workers
        die meanwhile.
        """
        order = BulkOrder.of(command, where, actor=actor, reason=reason, **limits)
        is_preview = checks.flag("bulk(dry_run=...)", dry_run)
        return preview(self._drive, order) if is_preview else start(self._drive, order)


def preview(drive: Drive, order: BulkOrder) -> BulkPreview:
    """Count the workflows exactly, and return the first of them. Nothing is changed."""

    def read(connection: Connection) -> tuple[int, list[Any]]:
        until = drive.store.workflows.last_id(connection)
        if until is None:
            return 0, []
        selection = Selection(connection, drive, order.command, order.where, until)
        ids = _first_ids(selection)
        found = drive.store.workflows.get_many(connection, ids)
        return selection.count(), [found[key] for key in ids if key in found]

    count, records = drive.store.read(read)
    return BulkPreview(count, [drive.open_handle(record) for record in records])


def _first_ids(selection: Selection) -> list[Key]:
    ids: list[Key] = []
    after: Key | None = None
    while len(ids) < _SAMPLE:
        portion = selection.portion(after, 1_000)
        ids += portion.ids
        after = portion.last
        if after is None:
            break
    return ids[:_SAMPLE]


def start(drive: Drive, order: BulkOrder) -> WorkflowHandle[BulkRun]:
    """Start the workflow that runs the command."""
    total, until = drive.store.read(lambda connection: _measured(connection, drive, order))
    plan = BulkPlan(
        command=order.command,
        where=order.where,
        actor=order.actor,
        reason=order.reason,
        first=order.first,
        stop_after=order.stop_after,
        total=total,
        until=until,
    )
    bulks = drive.workflows(BulkRun)

    def write(connection: Connection) -> Key:
        key: Key = bulks.create(context=plan.dump(), actor=order.actor, session=connection).id
        act = Act(command="bulk", actor=order.actor, reason=order.reason, workflow_id=key)
        drive.store.audit_entries.append_act(connection, act, drive.clock.now())
        return key

    started = bulks.find(drive.store.write(write))
    drive.wake_workers()
    return started


def _measured(connection: Connection, drive: Drive, order: BulkOrder) -> tuple[int, Key | None]:
    until = drive.store.workflows.last_id(connection)
    if until is None:
        return 0, None
    return Selection(connection, drive, order.command, order.where, until).count(), until
