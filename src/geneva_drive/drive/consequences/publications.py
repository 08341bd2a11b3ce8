"""What an event, or its absence until the deadline, would do to a node that waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.event_wait import branches
from geneva_drive.definition.options.event_terms import OnEventTimeout
from geneva_drive.drive.consequences import document_decisions
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.operator_commands import never_words
from geneva_drive.drive.consequences.sentence_parts import code, then
from geneva_drive.drive.consequences.walk import Ahead, walk
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition


def publications(situation: Situation, wait: EventWaitRecord) -> Iterator[Consequence]:
    """Yield what the awaited event, and the deadline, would do."""
    if wait.step_name not in situation.view.nodes:
        return
    node = situation.declared(wait.step_name)
    ahead = _following(situation, node, wait, timed_out=False)
    held = ""
    if situation.workflow.state is WorkflowState.PAUSED:
        held = " It takes effect when an operator resumes the workflow."
    runs = f"{_arrival(wait)}, {code(situation, wait.step_name)} runs."
    yield Consequence(
        command="publish",
        node=wait.step_name,
        label="Publish…",
        sentence=f"{runs}{then(situation, ahead)}{held}",
        runs_next=(wait.step_name,),
        runs_later=(*ahead.next, *ahead.later),
        may_run=ahead.perhaps,
        never_runs=ahead.passed_over,
    )
    if wait.expires_at is not None and node is not None and node.is_event_wait:
        yield _expiry(situation, node, wait)


def _arrival(wait: EventWaitRecord) -> str:
    if wait.patterns == (CALLBACK_TYPE,):
        return "Once its callback is called"
    types = [f"`{pattern}`" for pattern in wait.patterns]
    key = f" with key {wait.awaited_key!r}" if wait.awaited_key else ""
    matching = ", if its `match` accepts it" if wait.has_match else ""
    if wait.is_all and len(types) > 1:
        return f"Once {' and '.join(types)}{key} have arrived{matching}"
    return f"Once {' or '.join(types)}{key} arrives{matching}"


def _following(
    situation: Situation, node: Node | None, wait: EventWaitRecord, *, timed_out: bool
) -> Ahead:
    if situation.document is not None:
        return document_decisions.heard(
            situation, situation.document, wait.step_name, timed_out=timed_out
        )[0]
    chosen = None
    if node is not None and node.is_event_wait and situation.definition is not None:
        chosen = branches(situation.definition, node, timed_out=timed_out)
    return walk(situation, done=[wait.step_name], chosen={wait.step_name: chosen})


def _expiry(situation: Situation, node: Node, wait: EventWaitRecord) -> Consequence:
    if situation.document is not None:
        return _expiry_in_document(situation, situation.document, wait)
    on_timeout, ahead = node.event_terms.on_timeout, None
    never: tuple[str, ...] = ()
    match on_timeout:
        case OnEventTimeout.PAUSE:
            sentence = "After that the workflow pauses until an operator resumes or skips it."
        case OnEventTimeout.CANCEL:
            never = tuple(each for each in situation.never_started() if each != wait.step_name)
            sentence = f"After that the workflow is canceled.{never_words(situation, never)}"
        case OnEventTimeout.CONTINUE | OnEventTimeout.TASK:
            ahead = _following(situation, node, wait, timed_out=True)
            never = ahead.passed_over
            sentence = f"After that the workflow goes on without it.{then(situation, ahead)}"
        case _:
            assert_never(on_timeout)
    return Consequence(
        command="expire",
        node=wait.step_name,
        label="Deadline",
        sentence=sentence,
        runs_next=ahead.next if ahead else (),
        runs_later=ahead.later if ahead else (),
        may_run=ahead.perhaps if ahead else (),
        never_runs=never,
    )


def _expiry_in_document(
    situation: Situation, document: DocumentDefinition, wait: EventWaitRecord
) -> Consequence:
    ahead, never, words = document_decisions.heard(
        situation, document, wait.step_name, timed_out=True
    )
    return Consequence(
        command="expire",
        node=wait.step_name,
        label="Deadline",
        sentence=f"After that {words[:1].lower()}{words[1:]}",
        runs_next=ahead.next,
        runs_later=ahead.later,
        may_run=ahead.perhaps,
        never_runs=never if ahead.next else (),
    )
