"""Faults in the order of steps: repeated ids, unknown targets, cycles, unreachable steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from geneva_drive.declarative.faults.suggestions import Suggestions
from geneva_drive.declarative.routes import (
    EndedStep,
    GoTo,
    first_steps,
    named_targets,
    possible_endings,
    route_from,
)
from geneva_drive.declarative.source.variants import Location
from geneva_drive.declarative.steps import (
    TYPES,
    ExecuteStep,
    ForeachStep,
    ParallelStep,
    Requirement,
    Step,
)

Found = Iterator[tuple[Location, str]]
_Parent = ParallelStep | ForeachStep | None

_LONGEST_WAY = 8  # steps of a cycle that a message names
_SAME_LIST = "name a step of the same list"
_STEP: TypeAdapter[Step] = TypeAdapter(Step)


def faults(steps: Sequence[Step], hints: Suggestions, path: Callable[[Location], str]) -> Found:
    """Yield every fault in the order of steps, with its location."""
    yield from _Lists(hints, path).faults(steps, ("steps",), None)


def lenient(steps: object) -> tuple[Step, ...]:
    """Return the steps of a faulty document as far as they can be read.

    So a wrong duration in one step does not hide a cycle among the others.
    """
    return tuple(map(_stand_in, steps)) if isinstance(steps, list) else ()


def _stand_in(written: Any) -> Step:
    try:
        return _STEP.validate_python(written)
    except ValidationError:
        pass
    known = written if isinstance(written, dict) else {}
    kind = TYPES.get(str(known.get("type")), ExecuteStep)
    values: dict[str, Any] = {
        key: known[key] for key in ("next", *kind.targets) if isinstance(known.get(key), str)
    }
    values["id"] = known["id"] if isinstance(known.get("id"), str) else ""
    values["action"] = known.get("action")
    values["event"] = known.get("event")
    if "requires" in known:
        values["requires"] = Requirement.model_construct()
    if kind in (ParallelStep, ForeachStep):
        values["steps"] = lenient(known.get("steps"))
    return kind.model_construct(**values)  # type: ignore[return-value]  # one of the union


class _Lists:
    """The lists of steps of one document; an id is unique across all lists."""

    def __init__(self, hints: Suggestions, path: Callable[[Location], str]) -> None:
        self._hints = hints
        self._path = path
        self._seen: dict[str, Location] = {}

    def faults(self, steps: Sequence[Step], location: Location, parent: _Parent) -> Found:
        yield from self._id_faults(steps, location)
        yield from self._order_faults(steps, location, parent)

    def _id_faults(self, steps: Sequence[Step], location: Location) -> Found:
        for index, step in enumerate(steps):
            here = (*location, index)
            if step.id in self._seen:
                before = self._path(self._seen[step.id])
                yield (*here, "id"), f"the id {step.id!r} is used before, at {before}"
            elif step.id:
                self._seen[step.id] = here
            if isinstance(step, ParallelStep | ForeachStep):
                yield from self._id_faults(step.steps, (*here, "steps"))

    def _order_faults(self, steps: Sequence[Step], location: Location, parent: _Parent) -> Found:
        indexes: dict[str, int] = {}
        for index, step in enumerate(steps):
            indexes.setdefault(step.id, index)
        edges = [_edges(steps, index, parent, indexes) for index in range(len(steps))]
        for index, step in enumerate(steps):
            for key, target in _unknown_targets(step, indexes):
                meant = self._hints.closest(target, indexes)
                yield (*location, index, key), self._unknown(target, meant)
                if meant is not None:
                    edges[index].append(indexes[meant])  # else it would count as unreached
        for cycle in _cycles(edges):
            names = " -> ".join("..." if each is None else steps[each].id for each in cycle.way)
            yield (
                (*location, cycle.last),
                f"these steps lead back to where they began: {names}",
            )
        yield from _reach_faults(steps, location, parent, edges)
        for index, step in enumerate(steps):
            if isinstance(step, ParallelStep | ForeachStep):
                yield from self._order_faults(step.steps, (*location, index, "steps"), step)

    def _unknown(self, target: str, meant: str | None) -> str:
        if target in self._seen:
            there = self._path(self._seen[target])
            return f"{target!r} is in another list, at {there}; {_SAME_LIST}"
        hint = f"did you mean {meant!r}?" if meant else _SAME_LIST
        return f"there is no step {target!r}; {hint}"


def _unknown_targets(step: Step, indexes: dict[str, int]) -> Iterator[tuple[str, str]]:
    for key in ("next", *step.targets):
        target = getattr(step, key, None)
        if target is not None and target not in indexes:
            yield key, target


def _edges(
    steps: Sequence[Step], index: int, parent: _Parent, indexes: dict[str, int]
) -> list[int]:
    routes = (
        route_from((steps, index, parent), EndedStep(ending))
        for ending in possible_endings(steps[index])
    )
    targets = [route.step_id for route in routes if isinstance(route, GoTo)]
    # What a step names but never reaches, such as a `next` beside two branches, is followed too.
    targets += named_targets(steps[index])
    found = [indexes[target] for target in dict.fromkeys(targets) if target in indexes]
    if index + 1 < len(steps) and steps[index + 1].id in targets:
        found.append(index + 1)  # also if its id is used twice
        found = [each for each in found if steps[each].id != steps[index + 1].id or each > index]
    if not steps[index].id and index + 1 < len(steps):
        found.append(index + 1)  # an unreadable step must not hide the next one
    return found


@dataclass(frozen=True, slots=True)
class _Cycle:
    way: list[int | None]  # begins and ends with the same step; None for omitted steps
    last: int  # the step that leads back


def _cycles(edges: list[list[int]]) -> Iterator[_Cycle]:
    """Yield a cycle for each edge that leads back; without recursion, in linear time."""
    done: set[int] = set()
    for start in range(len(edges)):
        way: list[int] = []
        places: dict[int, int] = {}
        stack: list[tuple[int, bool]] = [(start, False)]
        while stack:
            index, is_left = stack.pop()
            if is_left:
                way.pop()
                del places[index]
                done.add(index)
            elif index not in done and index not in places:
                places[index] = len(way)
                way.append(index)
                stack.append((index, True))
                for target in edges[index]:
                    if target in places:
                        yield _Cycle([*_shortened(way, places[target]), target], index)
                    else:
                        stack.append((target, False))


def _shortened(way: list[int], begin: int) -> list[int | None]:
    if len(way) - begin < _LONGEST_WAY:
        return [*way[begin:]]
    return [*way[begin : begin + 3], None, *way[-1:]]


def _reach_faults(
    steps: Sequence[Step], location: Location, parent: _Parent, edges: list[list[int]]
) -> Found:
    if isinstance(parent, ParallelStep):
        heads = set(first_steps(parent))
        starts = [index for index, step in enumerate(steps) if step.id in heads or not step.id]
    else:
        starts = [0] if steps else []
    owners: dict[int, int] = {}
    for start in starts:
        for index in _reached(start, edges):
            if owners.setdefault(index, start) != start:
                names = f"{steps[owners[index]].id!r} and {steps[start].id!r}"
                yield (*location, index), f"the branches {names} both lead to it; use two steps"
    unreached = [index for index in range(len(steps)) if index not in owners and starts]
    # Steps after an unreached step need no faults of their own.
    behind = {target for index in unreached for target in edges[index]}
    for index in unreached:
        if index not in behind:
            yield (*location, index), f"no step leads to {steps[index].id!r}"


def _reached(start: int, edges: list[list[int]]) -> Iterator[int]:
    seen = {start}
    stack = [start]
    while stack:
        index = stack.pop()
        yield index
        fresh = [target for target in dict.fromkeys(edges[index]) if target not in seen]
        seen.update(fresh)
        stack.extend(fresh)
