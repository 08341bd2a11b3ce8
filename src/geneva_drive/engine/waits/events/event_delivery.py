"""Deliver events to waits: each side commits, and then searches for the other side.

`deliver_event` searches for the listeners of a stored event, `look_back` for the events that were
published before a wait began. Both may find the same pair; its receipt is written once, under the
workflow's lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive.definition import registry
from geneva_drive.definition.waits import event_values
from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.telemetry_events import event_published, event_wait_changed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import ResumeRequest
from geneva_drive.engine.waits.events.event_release import (
    release_one,
    release_waits,
    resume_data,
)
from geneva_drive.serialization import typed_json
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    EventWaitState,
    ResumeTrigger,
)
from geneva_drive.storage.dialects.event_insert import UndeliveredEvent
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.event_records import (
    EventListenerRecord,
    EventRecord,
    EventWaitRecord,
)
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE

_BATCH = 200
_MAX_LOOKS = 20

Listening = tuple[Key, Key]  # a wait and its workflow


def deliver_event(
    environment: Environment, event: EventRecord, continued: Sequence[Key] = ()
) -> list[Key]:
    """Deliver a stored event to its listeners; return the workflows that continue.

    `continued` are the workflows that continued in the statement that stored the event.
    """
    is_callback = event.type == CALLBACK_TYPE
    types = set() if is_callback else set(_triggered_here(event.type))
    listeners, is_first = _find_listeners(environment, event, may_mark=not types)
    waits = {
        (one.wait_id, one.workflow_id)
        for one in listeners
        if one.wait_id is not None and one.workflow_id is not None
    }
    heard = [
        key
        for batch in _batches(sorted(waits, key=lambda one: str(one[1])))
        for key in hear(environment, event, batch)
    ]
    types.update(one.type for one in listeners if one.type is not None)
    if listeners or types:
        is_first = _note_delivery(environment, event, sorted(types))
    if is_first and not is_callback and environment.events.wanted:
        now = environment.clock.now()
        environment.events.emit([event_published(event, [*continued, *heard], now)])
    return [*continued, *heard]


def _find_listeners(
    environment: Environment, event: EventRecord, *, may_mark: bool
) -> tuple[list[EventListenerRecord], bool]:
    """Return the listeners of an event, and True if there are none and it was marked delivered."""
    store, waits = environment.store, environment.store.event_waits
    patterns = patterns_for(event.type)
    if not may_mark:
        found = store.read_at_once(
            lambda connection: waits.listening(connection, patterns, event.event_key)
        )
        return found, False
    undelivered = UndeliveredEvent(
        key=event.id,
        patterns=patterns,
        event_key=event.event_key,
        is_alone=not store.database.is_joined,
    )
    return store.write_at_once(lambda connection: waits.find_listeners(connection, undelivered))


def patterns_for(event_type: str) -> list[str]:
    """Return every pattern that the type of a stored event fits."""
    return [event_type] if event_type == CALLBACK_TYPE else event_values.patterns_of(event_type)


def _batches(waits: Sequence[Listening]) -> Iterator[Sequence[Listening]]:
    for start in range(0, len(waits), _BATCH):
        yield waits[start : start + _BATCH]


def _triggered_here(event_type: str) -> Iterator[str]:
    """Yield the types of this process's classes that an event starts."""
    for definition in registry.definitions():
        if any(event_values.fits(event_type, pattern) for pattern in definition.triggers):
            yield definition.type


def _note_delivery(environment: Environment, event: EventRecord, types: Sequence[str]) -> bool:
    """Mark an event as delivered, and store what it starts; False if it was marked before."""
    store = environment.store
    if not types:
        is_alone = not store.database.is_joined
        return store.write_at_once(
            lambda connection: store.events.mark_delivered(connection, event.id, is_alone=is_alone)
        )

    def note(connection: Connection) -> bool:
        store.events.add_starts(connection, event.id, types, environment.clock.now())
        return store.events.mark_delivered(connection, event.id)

    try:
        is_first = store.write(note)
    except IntegrityError:
        return False  # the sweep of another worker stored the same starts
    environment.wakeups.ring()
    return is_first


def hear(
    environment: Environment,
    event: EventRecord,
    waits: Collection[Listening],
    *,
    is_matched: bool = False,
) -> list[Key]:
    """Deliver an event to open waits; return the workflows whose wait it ends.

    For a wait with a `match`, the event is only noted, and the node becomes claimable to evaluate
    it. `is_matched` means that the match has accepted the event.
    """
    store, hints = environment.store, environment.wakeups.hints
    notice = None if store.database.is_joined or len(waits) > 1 else hints.along()
    heard = store.write(
        lambda connection: _hear(
            connection, environment, event, waits, notice, is_matched=is_matched
        )
    )
    if heard is None:
        return []
    if heard.is_told and any(one.leaves_something_due for one in heard.applied):
        hints.went_along()
    announce_commit(environment, heard.applied)
    announce_ends(environment, heard.ended, heard.workflows, EventWaitState.HEARD, event.id)
    return [one.workflow_id for one in heard.ended]


def announce_ends(
    environment: Environment,
    ended: Sequence[EventWaitRecord],
    workflows: Mapping[Key, WorkflowRecord],
    state: EventWaitState,
    event_number: Key | None = None,
) -> None:
    """Emit an event for each wait that is over."""
    if environment.events.wanted:
        now = environment.clock.now()
        environment.events.emit(
            event_wait_changed(
                workflows[one.workflow_id], one, state, now, event_number=event_number
            )
            for one in ended
        )


@dataclass(frozen=True, slots=True)
class _Heard:
    applied: list[Applied]
    ended: list[EventWaitRecord]
    workflows: dict[Key, WorkflowRecord]
    is_told: bool  # the commit carried the notice to workers


@dataclass(slots=True)
class _Hearing:
    """The effects of one event on the waits for it."""

    receipts: list[dict[str, object]] = field(default_factory=list)
    ended: list[EventWaitRecord] = field(default_factory=list)  # satisfied
    noting: list[EventWaitRecord] = field(default_factory=list)  # their match has to evaluate it
    dead: list[EventWaitRecord] = field(default_factory=list)  # their workflow is over

    @property
    def is_simple(self) -> bool:
        """True if one event satisfies one wait, as with keys."""
        return len(self.ended) == len(self.receipts) == 1 and not self.noting and not self.dead


def _hear(
    connection: Connection,
    environment: Environment,
    event: EventRecord,
    waits: Collection[Listening],
    notice: Notice | None,
    *,
    is_matched: bool,
) -> _Heard | None:
    store = environment.store
    workflows = store.workflows.lock(connection, [workflow_id for _, workflow_id in waits])
    found = store.event_waits.get_to_hear(
        connection, [wait_id for wait_id, _ in waits], is_alone=not store.database.is_joined
    )
    now = environment.clock.now()
    is_open = [
        one
        for one in found.values()
        if one.is_open and not _is_late(event, one) and not _is_stale(event, one)
    ]
    if not is_open:
        return None
    heard = store.events.heard_already(connection, list(workflows), [event.id])
    grouped = [one.id for one in is_open if one.is_all]
    places = store.event_waits.places(connection, grouped) if grouped else {}
    hearing = _Hearing()
    for wait in is_open:
        workflow = workflows.get(wait.workflow_id)
        if workflow is None or workflow.state in ENDED_WORKFLOW_STATES:
            hearing.dead.append(wait)
        elif (wait.workflow_id, event.id) in heard:
            continue
        elif wait.has_match and not is_matched:
            hearing.noting.append(wait)
        elif _take(hearing, event, wait, places.get(wait.id, set()), now):
            heard.add((wait.workflow_id, event.id))
    applied = _write(connection, environment, event, hearing, workflows, notice)
    is_told = notice is not None and hearing.is_simple
    return _Heard(applied, hearing.ended, workflows, is_told=is_told)


def _is_late(event: EventRecord, wait: EventWaitRecord) -> bool:
    """True if an event was published after the deadline of a wait, whenever it is delivered."""
    return wait.expires_at is not None and wait.expires_at <= event.published_at


def _is_stale(event: EventRecord, wait: EventWaitRecord) -> bool:
    """True if a wait began after the event's time to live; its delivery may have been delayed."""
    return event.expires_at is not None and wait.opened_at > event.expires_at


def _take(
    hearing: _Hearing, event: EventRecord, wait: EventWaitRecord, taken: set[int], now: datetime
) -> bool:
    """Add a receipt; False if the wait has already heard an event of this type."""
    free = (
        place
        for place, pattern in enumerate(wait.patterns)
        if place not in taken and event_values.fits(event.type, pattern)
    )
    place = next(free, None)
    if place is None:
        return False
    hearing.receipts.append(
        {
            "workflow_id": wait.workflow_id,
            "event_id": event.id,
            "wait_id": wait.id,
            "place": place,
            "at": now,
        }
    )
    if not wait.is_all or len(taken) + 1 == len(wait.patterns):
        hearing.ended.append(wait)
    return True


def _write(
    connection: Connection,
    environment: Environment,
    event: EventRecord,
    hearing: _Hearing,
    workflows: dict[Key, WorkflowRecord],
    notice: Notice | None,
) -> list[Applied]:
    request = ResumeRequest(
        trigger=ResumeTrigger.EVENT,
        trigger_id=str(event.id),
        actor=None,
        data=resume_data(event.event_id, event.source, event.type),
        is_executed=True,
    )
    waits = environment.store.event_waits
    if hearing.is_simple:
        [ended], [receipt] = hearing.ended, hearing.receipts
        workflow = workflows[ended.workflow_id]
        return [release_one(connection, environment, ended, workflow, request, receipt, notice)]
    waits.add_receipts(connection, hearing.receipts)
    waits.close(connection, [one.id for one in hearing.ended], EventWaitState.HEARD)
    waits.close(connection, [one.id for one in hearing.dead], EventWaitState.CANCELED)
    groups: dict[str, list[Key]] = defaultdict(list)
    for one in hearing.noting:
        groups[typed_json.dump([*one.arrived_ids, event.id])].append(one.id)
    for arrived, keys in groups.items():
        # The event came before the deadline, which is suspended until the match has seen it.
        waits.update(connection, keys, {"arrived": arrived, "wakes_at": None})
    return release_waits(connection, environment, hearing.ended, workflows, request, hearing.noting)


def look_back(environment: Environment, wait_id: Key) -> bool:
    """Deliver the events published before a wait began; True if its node can run."""
    for _ in range(_MAX_LOOKS):
        wait, found = environment.store.read(
            lambda connection: _earlier(connection, environment, wait_id)
        )
        if wait is None or not wait.is_open:
            return wait is not None
        if wait.has_match:
            return _wake(environment, wait, has_found=found is not None)
        if found is None:
            _note_look(environment, wait)
            return False
        hear(environment, found, [(wait.id, wait.workflow_id)])
    return False


def _earlier(
    connection: Connection, environment: Environment, wait_id: Key
) -> tuple[EventWaitRecord | None, EventRecord | None]:
    """Return a wait and the oldest event for it."""
    store = environment.store
    wait = store.event_waits.get(connection, wait_id)
    if wait is None or not wait.is_open:
        return wait, None
    taken = store.event_waits.places(connection, [wait.id])[wait.id] if wait.is_all else set()
    found = store.events.awaited_by(
        connection,
        workflow_id=wait.workflow_id,
        patterns=[one for place, one in enumerate(wait.patterns) if place not in taken],
        key=wait.awaited_key,
        now=environment.clock.now(),
        after=wait.seen_id,
    )
    return wait, found[0] if found else None


def _note_look(environment: Environment, wait: EventWaitRecord) -> None:
    store = environment.store
    store.write_at_once(
        lambda connection: store.event_waits.update(connection, [wait.id], {"has_looked": True})
    )


def _wake(environment: Environment, wait: EventWaitRecord, *, has_found: bool) -> bool:
    """Wake the node of a wait with a `match` to evaluate earlier events, if there are any."""
    if not has_found:
        _note_look(environment, wait)
        return False
    store = environment.store

    def wake(connection: Connection) -> list[Applied]:
        workflows = store.workflows.lock(connection, [wait.workflow_id])
        present = store.event_waits.get(connection, wait.id)
        if present is None or not present.is_open:
            return []
        values = {"has_looked": True, "wakes_at": None}  # as for an event that arrives
        store.event_waits.update(connection, [wait.id], values)
        nothing = ResumeRequest(
            trigger=ResumeTrigger.EVENT, trigger_id=None, actor=None, data=None, is_executed=True
        )
        return release_waits(connection, environment, (), workflows, nothing, [present])

    announce_commit(environment, store.write(wake))
    return True
