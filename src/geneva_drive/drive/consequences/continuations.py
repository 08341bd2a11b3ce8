"""What `resume_at` would do at each step of a chain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from geneva_drive.drive.consequences import document_walk
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.sentences import code, count_of, listed, runs
from geneva_drive.drive.consequences.situation import Standing

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

_MOST_NAMED = 2


def continuations(standing: Standing) -> Iterator[Consequence]:
    """Yield a consequence for each step; none for graphs, and while a step runs."""
    if not standing.is_chain or standing.running:
        return
    order = standing.graph.order
    for place, node_id in enumerate(order):
        if standing.document is not None:
            yield _in_document(standing, standing.document, node_id)
            continue
        left_out = tuple(each for each in order[:place] if standing.place_in_chain(each) >= 0)
        never = f" {runs(standing, left_out, 'is', 'are')} left out." if left_out else ""
        yield Consequence(
            command="resume_at",
            node=node_id,
            label=f"Resume at {standing.node(node_id).name}…",
            sentence=f"{_begun(standing, node_id)}{_afterwards(standing, place)}.{never}",
            runs_next=(node_id,),
            runs_later=order[place + 1 :],
            never_runs=left_out,
        )


def _in_document(standing: Standing, document: DocumentDefinition, node_id: str) -> Consequence:
    ahead = document_walk.ahead_of(document, node_id)
    present = document_walk.ahead_of(document, standing.workflow.next_step_name)
    left_out = tuple(each for each in present if each not in ahead)
    way = document_walk.way_behind(document, node_id)
    names = [code(standing, each) for each in way.steps[:_MOST_NAMED]]
    if len(way.steps) > _MOST_NAMED:
        names.append(count_of(len(way.steps) - _MOST_NAMED, "more step"))
    then = f", then {listed(names)}" if names else ""
    decides = " Then the document decides what follows." if way.end is None else ""
    never = f" {runs(standing, left_out, 'is', 'are')} left out." if left_out else ""
    return Consequence(
        command="resume_at",
        node=node_id,
        label=f"Resume at {standing.node(node_id).name}…",
        sentence=f"{_begun(standing, node_id)}{then}.{decides}{never}",
        runs_next=(node_id,),
        runs_later=way.steps,
        may_run=way.perhaps,
        never_runs=left_out,
    )


def _begun(standing: Standing, node_id: str) -> str:
    name = code(standing, node_id)
    return (
        f"Goes back to {name} and runs it again"
        if standing.is_done(node_id) and not standing.is_passed_over(node_id)
        else f"Continues at {name}"
    )


def _afterwards(standing: Standing, place: int) -> str:
    follow = standing.graph.order[place + 1 :]
    names = [code(standing, each) for each in follow[:_MOST_NAMED]]
    if len(follow) > _MOST_NAMED:
        names.append(count_of(len(follow) - _MOST_NAMED, "more step"))
    return f", then {listed(names)}" if names else ""
