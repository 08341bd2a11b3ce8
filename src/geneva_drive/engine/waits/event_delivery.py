"""Bring events and waits together: each side commits, and then looks for the other.

`deliver_event` looks for what listens to a stored event, `look_back` for the events that were
published before a wait began. Both may find the same pair: a receipt is written once, under the
workflow's lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive.definition import event_values, registry
from geneva_drive.engine.announcement import publish
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.commit.writer import write
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import Change, ExecutionMove, ResumeRequest, unchanged
from geneva_drive.engine.transitions.holds import released_wait
from geneva_drive.serialization import typed_json
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    EventWaitState,
    ResumeTrigger,
    StepState,
)
from geneva_drive.storage.schema.event_records import EventRecord, EventWaitRecord
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.statements.events import CALLBACK_TYPE

_BATCH = 200
_MAX_LOOKS = 20

Listening = tuple[Key, Key]  # a wait and its workflow


def deliver_event(environment: Environment, event: EventRecord) -> list[Key]:
    """Deliver a stored event to what listens to it; return the workflows that continue."""
    store = environment.store
    is_callback = event.type == CALLBACK_TYPE
    patterns = [event.type] if is_callback else event_values.patterns_of(event.type)
    listeners = store.read_at_once(
        lambda connection: store.event_waits.listening(connection, patterns, event.event_key)
    )
    waits = {
        (one.wait_id, one.workflow_id)
        for one in listeners
        if one.wait_id is not None and one.workflow_id is not None
    }
    continued = [
        key
        for batch in _batches(sorted(waits, key=lambda one: str(one[1])))
        for key in hear(environment, event, batch)
    ]
    types = {one.type for one in listeners if one.type is not None}
    if not is_callback:
        types.update(_triggered_here(event.type))
    _note_delivery(environment, event, sorted(types))
    return continued


def _batches(waits: Sequence[Listening]) -> Iterator[Sequence[Listening]]:
    for start in range(0, len(waits), _BATCH):
        yield waits[start : start + _BATCH]


def _triggered_here(event_type: str) -> Iterator[str]:
    """Yield the types of this process's classes that an event starts."""
    for definition in registry.definitions():
        if any(event_values.fits(event_type, pattern) for pattern in definition.triggers):
            yield definition.type


def _note_delivery(environment: Environment, event: EventRecord, types: Sequence[str]) -> None:
    store = environment.store
    if not types:
        store.write_at_once(lambda connection: store.events.mark_delivered(connection, event.id))
        return

    def note(connection: Connection) -> None:
        store.events.add_starts(connection, event.id, types, environment.clock.now())
        store.events.mark_delivered(connection, event.id)

    try:
        store.write(note)
    except IntegrityError:
        return  # the sweep of another worker has noted it at the same time
    environment.wakeups.ring()


def hear(
    environment: Environment,
    event: EventRecord,
    waits: Collection[Listening],
    *,
    is_matched: bool = False,
) -> list[Key]:
    """Deliver an event to open waits; return the workflows whose wait it ends.

    A wait with a `match` only notes the event, and its node becomes claimable to evaluate it,
    unless `is_matched` says that it has.
    """
    store = environment.store
    applied, ended = store.write(
        lambda connection: _hear(connection, environment, event, waits, is_matched=is_matched)
    )
    publish(environment, applied)
    return ended


@dataclass(slots=True)
class _Hearing:
    """What becomes of the waits for one event."""

    receipts: list[dict[str, object]] = field(default_factory=list)
    ended: list[EventWaitRecord] = field(default_factory=list)  # satisfied
    noting: list[EventWaitRecord] = field(default_factory=list)  # their match has to look
    dead: list[EventWaitRecord] = field(default_factory=list)  # their workflow is over


def _hear(
    connection: Connection,
    environment: Environment,
    event: EventRecord,
    waits: Collection[Listening],
    *,
    is_matched: bool,
) -> tuple[list[Applied], list[Key]]:
    store = environment.store
    workflows = store.workflows.lock(connection, [workflow_id for _, workflow_id in waits])
    found = store.event_waits.get_many(connection, [wait_id for wait_id, _ in waits])
    now = environment.clock.now()
    is_open = [one for one in found.values() if one.is_open and not _is_late(one, now)]
    if not is_open:
        return [], []
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
    applied = _write(connection, environment, event, hearing, workflows)
    return applied, [one.workflow_id for one in hearing.ended]


def _is_late(wait: EventWaitRecord, now: datetime) -> bool:
    """True if the deadline of a wait has passed, be it that no worker has noted it yet."""
    return wait.expires_at is not None and wait.expires_at <= now


def _take(
    hearing: _Hearing, event: EventRecord, wait: EventWaitRecord, taken: set[int], now: datetime
) -> bool:
    """Note a receipt; False if the wait has heard an event of this type already."""
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
) -> list[Applied]:
    waits = environment.store.event_waits
    waits.add_receipts(connection, hearing.receipts)
    waits.close(connection, [one.id for one in hearing.ended], EventWaitState.HEARD)
    waits.close(connection, [one.id for one in hearing.dead], EventWaitState.CANCELED)
    groups: dict[str, list[Key]] = defaultdict(list)
    for one in hearing.noting:
        groups[typed_json.dump([*one.arrived_ids, event.id])].append(one.id)
    for arrived, keys in groups.items():
        waits.update(connection, keys, {"arrived": arrived})
    request = ResumeRequest(
        trigger=ResumeTrigger.EVENT,
        trigger_id=str(event.id),
        actor=None,
        data=typed_json.dump({"id": event.event_id, "source": event.source, "type": event.type}),
        is_executed=True,
    )
    return release_waits(connection, environment, hearing.ended, workflows, request, hearing.noting)


def release_waits(
    connection: Connection,
    environment: Environment,
    ended: Sequence[EventWaitRecord],
    workflows: dict[Key, WorkflowRecord],
    request: ResumeRequest,
    noting: Sequence[EventWaitRecord] = (),
) -> list[Applied]:
    """Make the executions of waits claimable; those that `ended` go on for good."""
    if not ended and not noting:
        return []
    store = environment.store
    ids = [one.execution_id for one in (*ended, *noting)]
    executions = store.executions.lock(connection, ids)
    moves: dict[Key, list[ExecutionMove]] = defaultdict(list)
    for record in executions.values():
        if record.state is StepState.WAITING:
            moves[record.workflow_id].append(released_wait(record))
    resumed = {one.workflow_id for one in ended}
    changes = [
        Change(
            record=workflows[key],
            workflow=unchanged(workflows[key]),
            executions=tuple(moves[key]),
            resume=_request(request, moves[key]) if key in resumed else None,
        )
        for key in sorted({*moves, *resumed}, key=str)
    ]
    now = environment.clock.now()
    return write(connection, store, changes, now, read_back=environment.events.wanted)


def _request(request: ResumeRequest, moves: Sequence[ExecutionMove]) -> ResumeRequest:
    is_held = any(not move.claimable for move in moves)
    return ResumeRequest(
        trigger=request.trigger,
        trigger_id=request.trigger_id,
        actor=request.actor,
        data=request.data,
        is_executed=not is_held,
    )


def look_back(environment: Environment, wait_id: Key) -> bool:
    """Deliver the events that came before a wait to it; True if its node can run."""
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
        store.event_waits.update(connection, [wait.id], {"has_looked": True})
        nothing = ResumeRequest(
            trigger=ResumeTrigger.EVENT, trigger_id=None, actor=None, data=None, is_executed=True
        )
        return release_waits(connection, environment, (), workflows, nothing, [present])

    publish(environment, store.write(wake))
    return True
