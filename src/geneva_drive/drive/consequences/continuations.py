"""What `resume_at` would do at each step of a chain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from geneva_drive.drive.consequences import document_walk
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.sentence_parts import code, count_of, listed, runs
from geneva_drive.drive.consequences.what_if_facts import Situation

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

_MOST_NAMED = 2


def continuations(situation: Situation) -> Iterator[Consequence]:
    """Yield a consequence for each step; none for graphs, or while a step runs."""
    if not situation.is_chain or situation.running:
        return
    order = situation.graph.order
    for place, node_id in enumerate(order):
        if situation.document is not None:
            yield _in_document(situation, situation.document, node_id)
            continue
        left_out = tuple(each for each in order[:place] if situation.place_in_chain(each) >= 0)
        never = f" {runs(situation, left_out, 'is', 'are')} left out." if left_out else ""
        yield Consequence(
            command="resume_at",
            node=node_id,
            label=f"Resume at {situation.node(node_id).name}…",
            sentence=f"{_beginning(situation, node_id)}{_afterwards(situation, place)}.{never}",
            runs_next=(node_id,),
            runs_later=order[place + 1 :],
            never_runs=left_out,
        )


def _in_document(situation: Situation, document: DocumentDefinition, node_id: str) -> Consequence:
    ahead = document_walk.ahead_of(document, node_id)
    present = document_walk.ahead_of(document, situation.workflow.next_step_name)
    left_out = tuple(each for each in present if each not in ahead)
    way = document_walk.path_after(document, node_id)
    names = [code(situation, each) for each in way.steps[:_MOST_NAMED]]
    if len(way.steps) > _MOST_NAMED:
        names.append(count_of(len(way.steps) - _MOST_NAMED, "more step"))
    then = f", then {listed(names)}" if names else ""
    decides = " Then the document decides what follows." if way.end is None else ""
    never = f" {runs(situation, left_out, 'is', 'are')} left out." if left_out else ""
    return Consequence(
        command="resume_at",
        node=node_id,
        label=f"Resume at {situation.node(node_id).name}…",
        sentence=f"{_beginning(situation, node_id)}{then}.{decides}{never}",
        runs_next=(node_id,),
        runs_later=way.steps,
        may_run=way.perhaps,
        never_runs=left_out,
    )


def _beginning(situation: Situation, node_id: str) -> str:
    name = code(situation, node_id)
    return (
        f"Goes back to {name} and runs it again"
        if situation.is_done(node_id) and not situation.is_passed_over(node_id)
        else f"Continues at {name}"
    )


def _afterwards(situation: Situation, place: int) -> str:
    follow = situation.graph.order[place + 1 :]
    names = [code(situation, each) for each in follow[:_MOST_NAMED]]
    if len(follow) > _MOST_NAMED:
        names.append(count_of(len(follow) - _MOST_NAMED, "more step"))
    return f", then {listed(names)}" if names else ""
