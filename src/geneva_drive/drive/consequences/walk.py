"""Follow a graph from where a workflow stands: which nodes run next, later, perhaps or never."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING

from geneva_drive.drive.consequences import document_walk
from geneva_drive.drive.consequences.situation import Situation

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

Chosen = Mapping[str, Sequence[str] | None]  # what a node will have chosen; None for all


class _Fate(Enum):
    DONE = auto()
    PASSED_OVER = auto()  # on a branch that is not chosen
    ACTIVE = auto()
    NEXT = auto()
    LATER = auto()
    PERHAPS = auto()  # behind a choice
    UNCERTAIN = auto()  # behind a person or event that may end the workflow
    BLOCKED = auto()  # failed, or behind a node that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The nodes that have not been reached, by what becomes of them; in their order."""

    next: tuple[str, ...]
    later: tuple[str, ...]
    perhaps: tuple[str, ...]
    passed_over: tuple[str, ...]
    blocked: tuple[str, ...]


def walk(
    situation: Situation,
    *,
    done: Collection[str] = (),
    again: Collection[str] = (),
    chosen: Chosen = MappingProxyType({}),
) -> Ahead:
    """Return what is ahead once these nodes count as done, and those run again."""
    if situation.document is not None:
        return _in_document(situation, situation.document, next(iter(done), None))
    fates: dict[str, _Fate] = {}
    ahead: dict[_Fate, list[str]] = {fate: [] for fate in _Fate}
    alike: dict[tuple[str, ...], _Fate] = {}  # the nodes of a fan-out have the same parents
    touched, parents_of = {*done, *again}, situation.graph.parents
    fresh = set() if situation.is_chain else situation.unreached - touched
    for node_id in situation.graph.order:
        fate = None if node_id in fresh else _known(situation, node_id, done, again)
        if fate is None:
            parents = parents_of[node_id]
            fate = None if chosen else alike.get(parents)
            if fate is None:
                fate = alike[parents] = _unreached(situation, node_id, fates, chosen)
            ahead[fate].append(node_id)
        fates[node_id] = fate

    return Ahead(
        next=tuple(ahead[_Fate.NEXT]),
        later=tuple(ahead[_Fate.LATER]),
        perhaps=(*ahead[_Fate.PERHAPS], *ahead[_Fate.UNCERTAIN]),
        passed_over=tuple(ahead[_Fate.PASSED_OVER]),
        blocked=tuple(ahead[_Fate.BLOCKED]),
    )


def _in_document(situation: Situation, document: DocumentDefinition, done: str | None) -> Ahead:
    """Return the same for a document; decisions have `document_decisions`."""
    if done is None:
        way = document_walk.way_behind(document, situation.workflow.next_step_name)
        return Ahead(next=(), later=way.steps, perhaps=way.perhaps, passed_over=(), blocked=())
    way = document_walk.way_past(document, done)
    met = {*way.steps, *way.perhaps}
    passed_over = [each for each in document_walk.ahead_of(document, done)[1:] if each not in met]
    return Ahead(
        next=way.steps[:1],
        later=way.steps[1:],
        perhaps=way.perhaps,
        passed_over=tuple(passed_over),
        blocked=(),
    )


def _known(
    situation: Situation, node_id: str, done: Collection[str], again: Collection[str]
) -> _Fate | None:
    if node_id in done:
        return _Fate.DONE
    if node_id in again or situation.is_active(node_id):
        return _Fate.ACTIVE
    if situation.is_chain and situation.place_in_chain(node_id) != 0:
        return _Fate.DONE if situation.place_in_chain(node_id) < 0 else None
    if situation.is_done(node_id):
        is_passed = situation.is_passed_over(node_id)
        return _Fate.PASSED_OVER if is_passed else _Fate.DONE
    return _Fate.BLOCKED if situation.has_failed(node_id) else None


def _unreached(
    situation: Situation, node_id: str, fates: Mapping[str, _Fate], chosen: Chosen
) -> _Fate:
    parents = situation.graph.parents[node_id]
    found = {fates[parent] for parent in parents}
    if _Fate.BLOCKED in found:
        return _Fate.BLOCKED
    if chosen and any(_leaves_out(chosen, parent, node_id) for parent in parents):
        return _Fate.PASSED_OVER
    if parents and found == {_Fate.PASSED_OVER}:
        return _Fate.PASSED_OVER
    # Few nodes decide what follows; a node of a huge graph may have 100,000 parents.
    deciding = (
        [each for each in parents if each in situation.deciding] if situation.deciding else ()
    )
    open_parents = [each for each in deciding if fates[each] not in _OVER and each not in chosen]
    if _Fate.UNCERTAIN in found or any(map(situation.may_end, open_parents)):
        return _Fate.UNCERTAIN
    if any(map(situation.chooses, open_parents)):
        return _Fate.PERHAPS
    if _Fate.PERHAPS in found and found <= {_Fate.PERHAPS, _Fate.PASSED_OVER}:
        return _Fate.PERHAPS
    return _Fate.NEXT if found <= _OVER else _Fate.LATER


_OVER = {_Fate.DONE, _Fate.PASSED_OVER}


def _leaves_out(chosen: Chosen, parent: str, node_id: str) -> bool:
    taken = chosen.get(parent)
    return taken is not None and node_id not in taken
