"""Documents on one Drive: `drive.definitions`."""

from __future__ import annotations

import builtins
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive import checks
from geneva_drive.definition import registry
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.drive import audit_text
from geneva_drive.engine.documents.definition_lookup import StoredText
from geneva_drive.engine.schedules import registration
from geneva_drive.errors import (
    DefinitionNotFound,
    Fault,
    InvalidStateError,
)
from geneva_drive.storage.schema.documents.definition_record import DefinitionRecord
from geneva_drive.storage.statements.audit import Act

if TYPE_CHECKING:
    from geneva_drive.declarative.document import Document
    from geneva_drive.drive.drive import Drive

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedDefinition:
    """One version of a document."""

    name: str
    version: str
    title: str
    document: Mapping[str, Any] = field(repr=False)  # in its normal form
    enabled: bool
    current: bool  # new workflows get it
    created_at: datetime
    deployed_by: str | None
    created: bool = False  # this call of deploy stored it
    warnings: tuple[Fault, ...] = ()  # actions and loaders that this process does not know


class Definitions:
    """The documents of a Drive, in all their versions.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> deployed = drive.definitions.deploy({
    ...     "workflow_id": "greeting", "version": "1", "name": "Greeting",
    ...     "steps": [{"id": "pass", "type": "action", "action": "allow"}],
    ... })
    >>> drive.start("greeting").definition_version
    '1'
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    def deploy(
        self, document: str | bytes | Mapping[str, Any], actor: str | None = None
    ) -> DeployedDefinition:
        """Store a document, as JSON text or as data; new workflows of its name get this version.

        Deploying the same document again changes nothing. Raises a `StepConfigurationError` whose
        `faults` list everything that is wrong, and an `InvalidStateError` if this version was
        deployed with other content. Running workflows keep their version.
        """
        from geneva_drive.declarative import validator
        from geneva_drive.declarative.actions.execution import unregistered

        deployed_by = audit_text.actor("deploy", actor)
        parsed = validator.parse(document)
        _check_names(parsed)
        stored = StoredText.of(parsed)
        is_new = self._store(parsed, stored, _act("deploy", parsed.workflow_id, deployed_by))
        self._drive.environment.triggered_documents.refresh(self._drive.store)
        warnings = tuple(unregistered(parsed))
        for warning in warnings:
            logger.warning("Document %r: %s: %s", parsed.workflow_id, warning.path, warning.message)
        store = self._drive.store
        record = store.read(
            lambda c: store.definitions.version(c, parsed.workflow_id, parsed.version)
        )
        assert record is not None, "it was just stored"
        return _public(record, is_current=True, created=is_new, warnings=warnings)

    def get(self, name: str, version: str | None = None) -> DeployedDefinition:
        """Return a version of a document, by default the current one, or raise `NotFound`."""
        checks.text("get(name)", name)
        store = self._drive.store

        def read(connection: Connection) -> tuple[DefinitionRecord | None, bool]:
            current = store.definitions.current(connection, name)
            if version is None or current is None:
                return current, True
            found = store.definitions.version(connection, name, str(version))
            return found, found == current

        found, is_current = store.read(read)
        if found is None:
            raise DefinitionNotFound(name, version)
        return _public(found, is_current=is_current)

    def list(self) -> builtins.list[DeployedDefinition]:
        """Return the current version of each document, sorted by name."""
        store = self._drive.store
        return [_public(one, is_current=True) for one in store.read(store.definitions.all)]

    def versions(self, name: str) -> builtins.list[DeployedDefinition]:
        """Return all versions of a document, oldest first, or raise `NotFound`."""
        store = self._drive.store
        found = store.read(lambda connection: store.definitions.versions(connection, name))
        if not found:
            raise DefinitionNotFound(name)
        latest = max(found, key=lambda one: (one.current_since, one.id))
        return [_public(one, is_current=one is latest) for one in found]

    def enable(
        self, name: str, actor: str | None = None, reason: str | None = None
    ) -> DeployedDefinition:
        """Enable a document, so that workflows of it can start again."""
        return self._set(name, _act("enable", name, actor, reason), is_enabled=True)

    def disable(
        self, name: str, actor: str | None = None, reason: str | None = None
    ) -> DeployedDefinition:
        """Refuse to start workflows of this document; running ones continue."""
        return self._set(name, _act("disable", name, actor, reason), is_enabled=False)

    def _set(self, name: str, act: Act, *, is_enabled: bool) -> DeployedDefinition:
        store, now = self._drive.store, self._drive.clock.now()

        def write(connection: Connection) -> DefinitionRecord:
            if store.definitions.set_enabled(connection, name, is_enabled=is_enabled):
                store.audit_entries.append_act(connection, act, now)
            changed = store.definitions.current(connection, name)
            if changed is None:
                raise DefinitionNotFound(name)
            registration.register_document(connection, store, changed, now)
            return changed

        changed = store.write(write)
        self._drive.environment.triggered_documents.refresh(store)
        return _public(changed, is_current=True)

    def _store(self, parsed: Document, stored: StoredText, act: Act) -> bool:
        """Store a version; False if the database has the same one."""
        store, now = self._drive.store, self._drive.clock.now()

        def write(connection: Connection) -> bool:
            known = store.definitions.version(connection, parsed.workflow_id, parsed.version)
            if known is not None:
                return self._deploy_again(connection, known, stored, act, now)
            current = store.definitions.current(connection, parsed.workflow_id)
            trigger = parsed.trigger
            values = {
                "name": parsed.workflow_id,
                "version": parsed.version,
                "signature": stored.signature,
                "content_hash": stored.content_hash,
                "document": stored.text,
                "title": parsed.name,
                "trigger_event": trigger.event if trigger else None,
                "is_scheduled": trigger is not None and trigger.type == "schedule",
                "current_since": now,
                "is_enabled": current is None or current.is_enabled,
                "created_at": now,
                "deployed_by": act.actor,
            }
            store.definitions.insert(connection, values)
            store.audit_entries.append_act(connection, act, now)
            self._register(connection, parsed.workflow_id, now)
            return True

        try:
            return store.write(write)
        except IntegrityError:
            return store.write(write)  # another process has just deployed this version

    def _deploy_again(
        self,
        connection: Connection,
        known: DefinitionRecord,
        stored: StoredText,
        act: Act,
        now: datetime,
    ) -> bool:
        if known.content_hash != stored.content_hash:
            raise InvalidStateError(
                f"Version {known.version} of {known.name!r} is deployed with another content, and "
                f"versions do not change. Give this document a new version."
            )
        store = self._drive.store
        current = store.definitions.current(connection, known.name)
        if current != known:
            store.definitions.make_current(connection, known.name, known.version, now)
            store.audit_entries.append_act(connection, act, now)
            self._register(connection, known.name, now)
        return False

    def _register(self, connection: Connection, name: str, now: datetime) -> None:
        store = self._drive.store
        current = store.definitions.current(connection, name)
        assert current is not None, "it was just stored"
        registration.register_document(connection, store, current, now)


def _act(verb: str, name: str, actor: str | None, reason: str | None = None) -> Act:
    return Act(
        command=f"{verb}_definition",
        actor=audit_text.actor(verb, actor),
        reason=audit_text.reason(verb, reason),
        subject=name,
    )


def _public(
    record: DefinitionRecord,
    *,
    is_current: bool,
    created: bool = False,
    warnings: tuple[Fault, ...] = (),
) -> DeployedDefinition:
    return DeployedDefinition(
        name=record.name,
        version=record.version,
        title=record.title,
        document=json.loads(record.document),
        enabled=record.is_enabled,
        current=is_current,
        created_at=record.created_at,
        deployed_by=record.deployed_by,
        created=created,
        warnings=warnings,
    )


def _check_names(parsed: Document) -> None:
    """Raise if a class has this name, or if the name is too long with that of a nested step."""
    from geneva_drive.declarative.document import Parent
    from geneva_drive.declarative.runtime.compiler import branch_type
    from geneva_drive.declarative.validator import refusal

    name = parsed.workflow_id
    if registry.definition_for(name) is not None:
        fault = Fault("$.workflow_id", f"a workflow class of type {name!r} is imported here")
        raise refusal(name, [fault])
    longest = max(
        (
            branch_type(parsed, inner.id)
            for step in parsed.all_steps()
            if isinstance(step, Parent)
            for inner in step.steps
        ),
        key=len,
        default="",
    )
    if len(longest) > MAX_NAME_LENGTH:
        message = f"is too long with its nested steps: {longest!r} has {len(longest)} characters"
        raise refusal(name, [Fault("$.workflow_id", message)])
