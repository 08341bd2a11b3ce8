"""Workflows that need an operator: `drive.dead_letters`."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from geneva_drive import checks
from geneva_drive.drive import audit_text
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.engine.commands import dead_letters
from geneva_drive.engine.execution.group_commit import announce_command
from geneva_drive.errors import DeadLetterNotFound, InvalidInput, WorkflowNotFound
from geneva_drive.states import DeadLetterReason, DeadLetterState
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import DeadLetterRecord, Key

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


class DeadLetterStats(TypedDict):
    """The number of entries; `by_reason` counts the pending ones."""

    pending: int
    resolved: int
    by_reason: Mapping[DeadLetterReason, int]


class DeadLetters:
    """The dead letters of a Drive: at most one pending entry for each workflow.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> class Shipment(gd.Workflow):
    ...     @gd.step
    ...     def pack(self): ...
    >>> entry = drive.dead_letters.add(Shipment.create(), actor="ann", notes="Wrong address")
    >>> drive.dead_letters.list()[-1].reason
    <DeadLetterReason.MANUAL: 'manual'>
    >>> drive.dead_letters.resolve(entry.id, actor="ann", notes="Corrected").state
    <DeadLetterState.RESOLVED: 'resolved'>
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    def list(
        self, state: str | None = "pending", limit: int | None = None
    ) -> builtins.list[DeadLetterRecord]:
        """Return the entries in a state, or all: the worst reasons first, then the oldest."""
        wanted = None
        if state is not None:
            choices = tuple(DeadLetterState)
            wanted = DeadLetterState(checks.choice("list(state=...)", state, choices))
        if limit is not None:
            checks.whole_number("list(limit=...)", limit, at_least=0, at_most=checks.LARGEST_NUMBER)
        store = self._drive.store
        return store.read(lambda connection: store.dead_letters.page(connection, wanted, limit))

    def get(self, entry_id: object) -> DeadLetterRecord:
        """Return the entry with this id, or raise `NotFound`."""
        store, key = self._drive.store, self._key(entry_id)
        found = store.read(lambda connection: store.dead_letters.get(connection, key))
        if found is None:
            raise DeadLetterNotFound(entry_id)
        return found

    def add(
        self,
        workflow: WorkflowHandle[Any] | object,
        *,
        actor: str | None = None,
        notes: str | None = None,
        step: object | None = None,
    ) -> DeadLetterRecord:
        """Add an entry for a workflow, with reason `manual`; the workflow itself is not changed."""
        person, text = _audit("add", actor, notes)
        environment = self._drive.environment
        key = workflow.id if isinstance(workflow, WorkflowHandle) else self._workflow_id(workflow)
        return environment.store.write(
            lambda connection: dead_letters.add(
                connection, environment, key, step, actor=person, notes=text
            )
        )

    def retry(
        self, entry_id: object, *, actor: str | None = None, notes: str | None = None
    ) -> DeadLetterRecord:
        """Run the failed step again, or resume the workflow, and resolve the entry.

        All of it is one transaction: if the workflow cannot continue, the entry stays pending.
        """
        person, text = _audit("retry", actor, notes)
        environment, key = self._drive.environment, self._key(entry_id)
        store = environment.store
        applied = store.write(
            lambda connection: dead_letters.retry(
                connection, environment, key, actor=person, notes=text
            )
        )
        store.database.after_commit(lambda: announce_command(environment, applied))
        return self.get(key)

    def resolve(
        self, entry_id: object, *, actor: str | None = None, notes: str | None = None
    ) -> DeadLetterRecord:
        """Mark an entry as resolved; its workflow is not changed."""
        person, text = _audit("resolve", actor, notes)
        environment, key = self._drive.environment, self._key(entry_id)
        return environment.store.write(
            lambda connection: dead_letters.resolve(
                connection, environment, key, actor=person, notes=text
            )
        )

    def stats(self) -> DeadLetterStats:
        """Count the entries: pending, resolved, and the pending ones by reason."""
        store = self._drive.store
        counts = store.read(store.dead_letters.counts)
        totals = dict.fromkeys(DeadLetterState, 0)
        for (state, _), count in counts.items():
            totals[state] += count
        return {
            "pending": totals[DeadLetterState.PENDING],
            "resolved": totals[DeadLetterState.RESOLVED],
            "by_reason": {
                reason: counts[DeadLetterState.PENDING, reason]
                for reason in DeadLetterReason
                if (DeadLetterState.PENDING, reason) in counts
            },
        }

    def _key(self, entry_id: object) -> Key:
        try:
            return keys.parse(self._drive.store.key_type, entry_id)
        except InvalidInput as error:
            raise DeadLetterNotFound(entry_id) from error

    def _workflow_id(self, workflow_id: object) -> Key:
        try:
            return keys.parse(self._drive.store.key_type, workflow_id)
        except InvalidInput as error:
            raise WorkflowNotFound(workflow_id) from error


def _audit(command: str, actor: object, notes: object) -> tuple[str, str | None]:
    return audit_text.required_actor(command, actor), audit_text.notes(command, notes)
