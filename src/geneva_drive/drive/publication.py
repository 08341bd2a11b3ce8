"""Publishing: an event is stored, and delivered once it is committed."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError

from geneva_drive import checks
from geneva_drive.definition.waits import event_values
from geneva_drive.definition.waits.event import Event
from geneva_drive.display import shown
from geneva_drive.drive import audit_text, joined_transaction
from geneva_drive.drive.joined_transaction import JoinedTransaction
from geneva_drive.durations import Duration
from geneva_drive.engine import crash_points
from geneva_drive.engine.waits.events import callbacks
from geneva_drive.engine.waits.events.event_delivery import deliver_event
from geneva_drive.engine.waits.events.event_store import deliver_stored, store_event
from geneva_drive.engine.waits.events.event_wait import callback_key
from geneva_drive.engine.waits.events.heard_events import public
from geneva_drive.errors import InvalidInput, NotFound, StorageError
from geneva_drive.masked_fields import mask_text
from geneva_drive.serialization import typed_json
from geneva_drive.storage.dialects.event_insert import ReleasedWait
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.event_records import EVENT_COLUMNS, EventRecord
from geneva_drive.storage.statements.audit import Act
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

logger = logging.getLogger(__name__)

DEFAULT_TTL = timedelta(days=7)
_MAX_NEAR_MISSES = 100
# As typed JSON stores it; quotes in the user's own text are escaped.
_NAIVE_MOMENT = re.compile(r'\{"\$type":"datetime","value":\[?"(\d{4}-\d\d-\d\dT[\d:.]+)"')


class PublishOptions(TypedDict, total=False):
    """The keywords of `publish` beside the session."""

    id: str | None
    source: str
    key: object
    ttl: Duration
    actor: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardBy:
    """The workflows that an event started, continued or missed, by id."""

    started: list[Any]
    continued: list[Any]
    near_misses: list[Any]  # they wait for its type with another key
    refused: dict[str, str]  # why classes did not start a workflow, by type


@dataclass(frozen=True, kw_only=True)
class PublishedEvent(Event):
    """A stored event; `started` and `continued` have its effects so far."""

    duplicate: bool = False  # its source has published this id before
    started: tuple[Any, ...] = ()
    continued: tuple[Any, ...] = ()
    _drive: Drive = field(repr=False, compare=False)

    @property
    def stored_payload(self) -> str:
        """The payload as typed JSON for display: masked fields are hidden."""
        masked = self._drive.settings.masked_fields
        return mask_text(typed_json.dump(self.payload), masked) or "null"

    def heard_by(self) -> HeardBy:
        """Return the effects of the event so far."""
        store = self._drive.store
        patterns = event_values.patterns_of(self.type)

        def query(connection: Connection) -> HeardBy:
            starts = store.events.starts_of(connection, self.number)
            waits = store.event_waits
            return HeardBy(
                started=[one.workflow_id for one in starts if one.workflow_id is not None],
                continued=waits.continued_by(connection, self.number),
                near_misses=waits.near_misses(
                    connection, patterns, self.key or "", _MAX_NEAR_MISSES
                ),
                refused={one.type: one.error for one in starts if one.error is not None},
            )

        return store.read(query)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to store, as columns."""

    source: str
    event_id: str
    type: str
    event_key: str
    payload: str
    published_at: datetime
    expires_at: datetime | None
    workflow_id: Key | None = None  # of a callback

    def record(self, key: Key) -> EventRecord:
        return EventRecord(key, *(getattr(self, name) for name in EVENT_COLUMNS[1:]))

    def values(self) -> dict[str, Any]:
        columns = {name: getattr(self, name) for name in self.__slots__}
        return {**columns, "undelivered_at": self.published_at}


def checked(
    drive: Drive, type: str, payload: Any, *, id: str | None, source: str, key: Any, ttl: Duration
) -> NewEvent:
    """Return the event that `publish` was given, or raise `InvalidInput`."""
    longest = event_values.MAX_LENGTH
    span = checks.duration("publish(ttl=...)", ttl)
    now = drive.clock.now()
    return NewEvent(
        source=checks.text("publish(source=...)", source, longest=longest),
        event_id=(
            uuid.uuid4().hex if id is None else checks.text("publish(id=...)", id, longest=longest)
        ),
        type=event_values.event_type("The type of an event", type),
        event_key="" if key is None else event_values.key("publish(key=...)", key),
        payload=_stored_payload(drive, payload),
        published_at=now,
        expires_at=now + span,
    )


def act_of(actor: object, reason: object) -> Act | None:
    """Return the audit entry of a publication; None without an actor."""
    person, why = audit_text.actor("publish", actor), audit_text.reason("publish", reason)
    return None if person is None else Act(command="publish", actor=person, reason=why)


def _stored_payload(drive: Drive, payload: object) -> str:
    limit = drive.settings.max_payload_size
    text = typed_json.dump_within(payload, limit, what="The payload", setting="max_payload_size")
    naive = _NAIVE_MOMENT.search(text)
    if naive is not None:
        raise InvalidInput(
            f"The payload holds the moment {naive[1]} without a time zone, which another program "
            f"would read as another moment. Give it one, such as tzinfo=UTC."
        )
    return text


def publish(
    drive: Drive, new: NewEvent, joined: JoinedTransaction | None, act: Act | None = None
) -> PublishedEvent:
    """Store an event, in the caller's transaction if there is one, and deliver it after the commit.

    `act` is the audit entry stored with it: who published it, and why.
    """
    database = drive.store.database
    if joined is not None:
        return _publish_joined(drive, new, joined, act)
    if database.is_joined or act is not None:
        record, is_duplicate = database.write(lambda c: _store(c, drive, new, act))
        if not is_duplicate and not database.is_joined:
            crash_points.reached("stored")
            return _delivered(drive, record)
        if not is_duplicate:
            database.after_commit(lambda: _deliver_later(drive, record))
        return published(drive, record, is_duplicate=is_duplicate)
    try:
        stored = store_event(drive.environment, new.values())
    except IntegrityError:
        stored = None
    if stored is None:
        return published(drive, _former(drive, new), is_duplicate=True)
    crash_points.reached("stored")
    return _delivered(drive, new.record(stored.key), stored.released)


def _delivered(
    drive: Drive, record: EventRecord, released: ReleasedWait | None = None
) -> PublishedEvent:
    continued = _without_storage_errors(lambda: deliver_stored(drive.environment, record, released))
    return replace(published(drive, record), continued=tuple(continued))


def _publish_joined(
    drive: Drive, new: NewEvent, joined: JoinedTransaction, act: Act | None
) -> PublishedEvent:
    database = drive.store.database
    connection = joined_transaction.connection_of(joined, database.engine)
    database.dialect.ensure_transaction(connection)
    with database.translating():
        record, is_duplicate = _store(connection, drive, new, act)
    answer = published(drive, record, is_duplicate=is_duplicate)
    if is_duplicate:
        return answer
    session = joined_transaction.session_of(joined)
    if database.is_joined_to(connection):
        database.after_commit(lambda: _deliver_later(drive, record))
    elif session is not None:
        joined_transaction.after_commit(
            session,
            lambda: _deliver_later(drive, record),
            on_a_thread=connection.dialect.is_async,
        )
    # A plain connection has no commit hook, so housekeeping delivers the event.
    return answer


def _store(
    connection: Connection, drive: Drive, new: NewEvent, act: Act | None
) -> tuple[EventRecord, bool]:
    """Insert an event in the caller's transaction, which stays usable after a conflict."""
    events, entries = drive.store.events, drive.store.audit_entries
    try:
        with connection.begin_nested():
            record = new.record(events.insert(connection, new.values()))
            if act is not None:
                done = replace(act, subject=str(record.id))
                entries.append_act(connection, done, new.published_at)
            return record, False
    except IntegrityError:
        # Under REPEATABLE READ the caller's snapshot does not show the conflicting row.
        found = events.find(connection, new.source, new.event_id)
        return found or _former(drive, new), True


def _former(drive: Drive, new: NewEvent) -> EventRecord:
    """Return the event that was published under the same source and id."""
    store = drive.store
    with store.database.engine.connect() as apart:
        found = store.events.find(apart, new.source, new.event_id)
    # It may have been removed since the conflict.
    return found or new.record(None)


def _deliver_later(drive: Drive, record: EventRecord) -> None:
    """Deliver an event after a commit, unless the savepoint that stored it was rolled back."""
    store = drive.store

    def deliver() -> list[Key]:
        kept = store.read(lambda connection: store.events.get(connection, record.id))
        return [] if kept is None else deliver_event(drive.environment, record)

    _without_storage_errors(deliver)


def _without_storage_errors(deliver: Callable[[], list[Key]]) -> list[Key]:
    """Deliver a stored event; an error would only make the caller publish it again."""
    try:
        return deliver()
    except (StorageError, DBAPIError) as error:
        logger.warning("An event is stored, and housekeeping will deliver it: %s", error)
        return []


def published(drive: Drive, record: EventRecord, *, is_duplicate: bool = False) -> PublishedEvent:
    """Return a stored event as `publish` returns it."""
    return PublishedEvent(**public(record).stored(), duplicate=is_duplicate, _drive=drive)


def latest(drive: Drive, type: str | None, key: object, limit: int) -> list[PublishedEvent]:
    """Return the latest events that are still stored, newest first."""
    checks.whole_number("published(limit=...)", limit, at_least=1, at_most=checks.LARGEST_NUMBER)
    wanted_type = None if type is None else checks.text("published(type=...)", type)
    wanted_key = None if key is None else event_values.key("published(key=...)", key)
    store = drive.store
    found = store.read(
        lambda connection: store.events.page(
            connection, limit=limit, type=wanted_type, key=wanted_key
        )
    )
    return [published(drive, record) for record in found]


def require(drive: Drive, number: object) -> PublishedEvent:
    """Return a stored event by its number."""
    store = drive.store
    missing = NotFound(f"There is no event {shown(number)}, or it was removed after its ttl.")
    try:
        key = keys.parse(store.key_type, number)
    except InvalidInput:
        raise missing from None
    record = store.read(lambda connection: store.events.get(connection, key))
    if record is None:
        raise missing
    return published(drive, record)


def receive_callback(drive: Drive, token: object, payload: Any) -> PublishedEvent:
    """Store the payload of a callback; a second call has no effect."""
    text = checks.text("The token of a callback", token)
    environment, store = drive.environment, drive.store
    found, refusal = callbacks.find(environment, text)
    event_id = str(found.id)
    if refusal is not None:
        former = store.read(lambda c: store.events.find(c, callbacks.SOURCE, event_id))
        if former is None:
            raise refusal
        return published(drive, former, is_duplicate=True)
    new = NewEvent(
        source=callbacks.SOURCE,
        event_id=event_id,
        type=CALLBACK_TYPE,
        event_key=callback_key(found.workflow_id, found.step_name),
        payload=_stored_payload(drive, payload),
        published_at=drive.clock.now(),
        expires_at=None,
        workflow_id=found.workflow_id,
    )
    return publish(drive, new, None)
