"""The result of a wait for events when its node runs: events, a passed deadline, or neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.event_wait import branches
from geneva_drive.definition.options.event_terms import OnEventTimeout
from geneva_drive.definition.waits.event import Callback, Event
from geneva_drive.definition.workflow import Workflow
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import AfterDecision, Decided
from geneva_drive.engine.transitions.wait_kinds import EventWait, wait_of
from geneva_drive.engine.waits.events import event_wait
from geneva_drive.engine.waits.events.event_delivery import hear
from geneva_drive.engine.waits.events.event_wait import ReopenedWait
from geneva_drive.engine.waits.wait import WaitPlanned
from geneva_drive.serialization import typed_json
from geneva_drive.states import EventWaitState, Outcome
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.schema.waits.event_records import EventRecord, EventWaitRecord

Received = Event | Callback | list[Event]
_PAGE = 100
_AFTER = {
    OnEventTimeout.PAUSE: AfterDecision.PAUSE,
    OnEventTimeout.CANCEL: AfterDecision.CANCEL,
    OnEventTimeout.CONTINUE: AfterDecision.CONTINUE,
    OnEventTimeout.TASK: AfterDecision.CONTINUE,
}


def find(
    environment: Environment, execution: ExecutionRecord, node: Node, instance: Workflow[Any, Any]
) -> Received | None:
    """Return the events that the wait has heard; None if its deadline has passed.

    Raises `WaitPlanned` if the node has to begin to wait, or to continue waiting.
    """
    wait, heard = _read_wait(environment, execution)
    if wait is None:
        raise WaitPlanned(event_wait.plan(execution, node, instance))
    again = None
    if wait.is_open:
        again = _evaluate(environment, execution, wait, node, instance)
        present, heard = _read_wait(environment, execution)
        wait = present or wait
    if wait.state is EventWaitState.TIMED_OUT:
        return None
    if wait.state is EventWaitState.HEARD:
        return _received(heard, wait, node)
    if again is None:
        raise WaitPlanned(event_wait.plan(execution, node, instance))
    raise WaitPlanned(again)


def present_wait(environment: Environment, execution: ExecutionRecord) -> EventWaitRecord | None:
    """Return the wait of an execution, or of an earlier attempt; None if a new one has to begin."""
    return _read_wait(environment, execution)[0]


def _read_wait(
    environment: Environment, execution: ExecutionRecord
) -> tuple[EventWaitRecord | None, Sequence[EventRecord]]:
    """Return the wait of an execution, as `present_wait` does, and the events that it has heard."""
    known = wait_of(execution)
    if not isinstance(known, EventWait):
        return None, ()
    store = environment.store
    # A step waits while the database is unavailable.
    found, heard = store.database.patiently(
        lambda: store.read_at_once(
            lambda connection: store.event_waits.get_with_heard(connection, known.wait_id)
        )
    )
    is_present = found is not None and found.state is not EventWaitState.CANCELED
    return (found, heard) if is_present else (None, ())


def _evaluate(
    environment: Environment,
    execution: ExecutionRecord,
    wait: EventWaitRecord,
    node: Node,
    instance: Workflow[Any, Any],
) -> ReopenedWait:
    """Call the `match` of a wait with events that it has not seen; return the wait to reopen."""
    match, seen_id = node.event_terms.match, wait.seen_id
    for event in _unseen(environment, wait) if match is not None else ():
        if event.id not in wait.arrived_ids:
            seen_id = event.id
        assert match is not None, "the loop is empty without one"
        if match(instance, public(event)) and hear(
            environment, event, [(wait.id, wait.workflow_id)], is_matched=True
        ):
            break
    return ReopenedWait(
        wait_id=wait.id,
        workflow_id=wait.workflow_id,
        execution_id=execution.id,
        seen_id=seen_id,
        arrived=frozenset(wait.arrived_ids),
    )


def _unseen(environment: Environment, wait: EventWaitRecord) -> Iterator[EventRecord]:
    """Yield the unexpired events that the match has not seen, and arrived ones, oldest first.

    An event that arrived counts even if its time to live has passed since.
    """
    store, after = environment.store, wait.seen_id
    arrived: dict[Key, EventRecord] = {}
    if wait.arrived_ids:
        arrived = store.read(lambda connection: store.events.get_many(connection, wait.arrived_ids))
    while True:
        page = store.read(
            lambda connection, after=after: store.events.awaited_by(  # type: ignore[misc]
                connection,
                workflow_id=wait.workflow_id,
                patterns=wait.patterns,
                key=wait.awaited_key,
                now=environment.clock.now(),
                after=after,
                limit=_PAGE,
            )
        )
        for event in page:
            for earlier in sorted(key for key in arrived if key < event.id):
                yield arrived.pop(earlier)
            arrived.pop(event.id, None)
            yield event
        if len(page) < _PAGE:
            break
        after = page[-1].id
    yield from (arrived[key] for key in sorted(arrived))


def _received(events: Sequence[EventRecord], wait: EventWaitRecord, node: Node) -> Received:
    if node.kind is NodeKind.CALLBACK:
        [called] = events
        return Callback(payload=typed_json.load(called.payload), called_at=called.published_at)
    if wait.is_all:
        return [public(event) for event in events]
    return public(events[0])


def public(event: EventRecord) -> Event:
    """Return an event as users see it."""
    return Event(
        number=event.id,
        id=event.event_id,
        source=event.source,
        type=event.type,
        key=event.event_key or None,
        payload=typed_json.load(event.payload),
        published_at=event.published_at,
        expires_at=event.expires_at,
    )


def outcome_of(received: Received, definition: Definition, node: Node) -> Decided:
    """Return the outcome of a wait whose body has returned."""
    stored = [one.stored() for one in received] if isinstance(received, list) else received.stored()
    return Decided(
        outcome=Outcome.SUCCESS,
        then=AfterDecision.CONTINUE,
        result=typed_json.dump(stored),
        chosen=branches(definition, node, timed_out=False),
    )


def timed_out(definition: Definition, node: Node) -> Decided:
    """Return the outcome of a wait whose deadline has passed; its body does not run."""
    return Decided(
        outcome=Outcome.TIMED_OUT,
        then=_AFTER[node.event_terms.on_timeout],
        result=None,
        chosen=branches(definition, node, timed_out=True),
    )
