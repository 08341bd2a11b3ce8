"""Walk the graph from a workflow's current state: which nodes run next, later, perhaps or never."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from geneva_drive.drive.consequences import document_walk
from geneva_drive.drive.consequences.fate import Fate
from geneva_drive.drive.consequences.what_if_facts import Situation

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

Chosen = Mapping[str, Sequence[str] | None]  # the nodes that a node will choose; None for all


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The nodes that have not been reached, by what will happen to them, in graph order."""

    next: tuple[str, ...]
    later: tuple[str, ...]
    perhaps: tuple[str, ...]
    passed_over: tuple[str, ...]
    blocked: tuple[str, ...]


NOTHING = Ahead(next=(), later=(), perhaps=(), passed_over=(), blocked=())


def walk(
    situation: Situation,
    *,
    done: Collection[str] = (),
    again: Collection[str] = (),
    chosen: Chosen = MappingProxyType({}),
) -> Ahead:
    """Return what is ahead once the nodes `done` are done, and the nodes `again` run again."""
    if situation.document is not None:
        return _in_document(situation, situation.document, next(iter(done), None))
    chosen = {**situation.chosen, **chosen}
    parents_of = situation.graph.parents
    # Each of several commands changes only few of up to 100,000 nodes.
    touched = {**dict.fromkeys(again, Fate.ACTIVE), **dict.fromkeys(done, Fate.DONE)}
    fates = dict(touched)  # added to `situation.known_fates`
    ahead: dict[Fate, list[str]] = {fate: [] for fate in Fate}
    alike: dict[tuple[str, ...], Fate] = {}  # the nodes of a fan-out have the same parents
    for node_id in situation.undecided:
        if node_id in touched:
            continue
        parents = parents_of[node_id]
        fate = None if chosen else alike.get(parents)
        if fate is None:
            fate = alike[parents] = _unreached(situation, node_id, fates, chosen)
        ahead[fate].append(node_id)
        fates[node_id] = fate

    return Ahead(
        next=tuple(ahead[Fate.NEXT]),
        later=tuple(ahead[Fate.LATER]),
        perhaps=(*ahead[Fate.PERHAPS], *ahead[Fate.UNCERTAIN]),
        passed_over=tuple(ahead[Fate.PASSED_OVER]),
        blocked=tuple(ahead[Fate.BLOCKED]),
    )


def _in_document(situation: Situation, document: DocumentDefinition, done: str | None) -> Ahead:
    """Return the same for a document; decisions have `document_decisions`."""
    if done is None:
        way = document_walk.path_after(document, situation.workflow.next_step_name)
        return Ahead(next=(), later=way.steps, perhaps=way.perhaps, passed_over=(), blocked=())
    way = document_walk.path_after_skip(document, done)
    met = {*way.steps, *way.perhaps}
    passed_over = [each for each in document_walk.ahead_of(document, done)[1:] if each not in met]
    return Ahead(
        next=way.steps[:1],
        later=way.steps[1:],
        perhaps=way.perhaps,
        passed_over=tuple(passed_over),
        blocked=(),
    )


def _unreached(
    situation: Situation, node_id: str, fates: Mapping[str, Fate], chosen: Chosen
) -> Fate:
    parents = situation.graph.parents[node_id]
    found = situation.fates_of_parents(node_id, fates)
    if Fate.BLOCKED in found:
        return Fate.BLOCKED
    if chosen and any(_leaves_out(chosen, parent, node_id) for parent in parents):
        return Fate.PASSED_OVER
    if parents and found == {Fate.PASSED_OVER}:
        return Fate.PASSED_OVER
    # Look only at the few parents that decide: a node may have 100,000 parents.
    deciding = (
        [each for each in parents if each in situation.deciding] if situation.deciding else ()
    )
    known = situation.known_fates
    open_parents = [
        each
        for each in deciding
        if (fates.get(each) or known[each]) not in _OVER and each not in chosen
    ]
    if Fate.UNCERTAIN in found or any(map(situation.may_end, open_parents)):
        return Fate.UNCERTAIN
    if any(map(situation.chooses, open_parents)):
        return Fate.PERHAPS
    if Fate.PERHAPS in found and found <= {Fate.PERHAPS, Fate.PASSED_OVER}:
        return Fate.PERHAPS
    return Fate.NEXT if found <= _OVER else Fate.LATER


_OVER = {Fate.DONE, Fate.PASSED_OVER}


def _leaves_out(chosen: Chosen, parent: str, node_id: str) -> bool:
    taken = chosen.get(parent)
    return taken is not None and node_id not in taken
