"""From class bodies to the order of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition import names, signatures, source
from geneva_drive.definition.definition import Node
from geneva_drive.definition.options import Options
from geneva_drive.definition.step import RemovedStep, Step, is_method
from geneva_drive.errors import StepConfigurationError


@dataclass(slots=True, eq=False)
class _Place:
    node: Node
    attribute: str  # of the class body; the steps of a list share one
    after: str | None = None  # the step it was put behind, so that later ones line up behind it


class Chain:
    """Steps being put in order, parents' bodies first."""

    def __init__(self, owner: str, reserved: frozenset[str]) -> None:
        self._owner = owner
        self._reserved = reserved
        self._places: list[_Place] = []
        self._names: dict[Step[Any, Any], str] = {}  # of replaced steps too

    def read(self, body: Mapping[str, Any]) -> None:
        """Take in one class body, in its order of definition."""
        placed: set[str] = set()
        for attribute, value in body.items():
            nodes = list(_nodes_of(attribute, value, self._owner))
            self._refuse_second(attribute, nodes, placed)
            if nodes:
                self._put_all(attribute, nodes)
            else:
                self._override(attribute, value)
            placed.update(node.name for node in nodes)

    def nodes(self) -> tuple[Node, ...]:
        nodes = tuple(place.node for place in self._places)
        names.refuse_shared_steps(self._owner, nodes)
        names.refuse_ambiguous_former_names(self._owner, nodes)
        return nodes

    def _put_all(self, attribute: str, nodes: list[Node]) -> None:
        """Place what an attribute holds, instead of what it held in a parent."""
        inherited = [place for place in self._places if place.attribute == attribute]
        last = inherited[-1] if inherited else None
        for node in nodes:
            place = _Place(node, attribute)
            self._put(place, behind=last)
            last = place if last else None
        kept = {node.name for node in nodes}
        self._places = [
            place
            for place in self._places
            if place.attribute != attribute or place.node.name in kept
        ]

    def _put(self, place: _Place, behind: _Place | None) -> None:
        node = place.node
        names.check(self._owner, node, self._reserved)
        if node.step is not None:
            self._names.setdefault(node.step, node.name)
        existing = self._index(node.name)
        if node.options.before_step is not None:
            self._insert_before(node.options.before_step, place)
        elif node.options.after_step is not None:
            self._insert_after(node.options.after_step, place)
        elif existing is not None:
            place.after = self._places[existing].after
            self._places[existing] = place
        elif behind is not None:
            place.after = behind.after
            self._places.insert(self._places.index(behind) + 1, place)
        else:
            self._places.append(place)

    def _insert_before(self, reference: object, place: _Place) -> None:
        anchor = self._anchor("before_step", reference, place)
        # What stands before a member of a line is in that line, or a later one would cut in.
        place.after = self._places[anchor].after
        self._places.insert(anchor, place)

    def _insert_after(self, reference: object, place: _Place) -> None:
        anchor = self._anchor("after_step", reference, place)
        place.after = self._places[anchor].node.name
        self._places.insert(self._end_of_line(anchor), place)

    def _end_of_line(self, anchor: int) -> int:
        """Find the place behind `anchor` and everything already put behind it."""
        line = {self._places[anchor].node.name}
        end = anchor + 1
        while end < len(self._places) and self._places[end].after in line:
            line.add(self._places[end].node.name)
            end += 1
        return end

    def _anchor(self, option: str, reference: object, place: _Place) -> int:
        """Find what a new place is to stand beside, its own former place left out."""
        node = place.node
        if not isinstance(reference, str | Step):
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} takes a step's name or the decorated "
                f"method, not {reference!r}.",
                node.where,
            )
        name = self._names.get(reference) if isinstance(reference, Step) else reference
        if name == node.name:
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} names the step itself.", node.where
            )
        self._places = [each for each in self._places if each.node.name != node.name]
        found = None if name is None else self._index(name)
        if found is None:
            known = ", ".join(each.node.name for each in self._places) or "(none)"
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} names {reference!r}, which is not defined "
                f"before it. Defined so far: {known}.",
                node.where,
            )
        return found

    def _override(self, attribute: str, value: Any) -> None:
        """Let a plain method replace a parent's step, and nothing else."""
        index = self._index(attribute)
        if index is None:
            self._refuse_to_lose_a_list(attribute, value)
            return
        former = self._places[index].node
        where = source.of_function(value) or source.of_caller()
        if former.step is None:
            raise StepConfigurationError(
                f"{self._owner}.{attribute} is a step that its parent removed. Bring it back with "
                f"@gd.step, or choose another name.",
                where,
            )
        if not is_method(value):
            raise StepConfigurationError(
                f"{self._owner}.{attribute} is a step of its parent and cannot become {value!r}. "
                f"Override it with a method, or write {attribute} = gd.removed_step().",
                where,
            )
        with source.naming(f"{self._owner}.{attribute}", where):
            signatures.check_body(
                value,
                transaction=former.options.transaction,
                resumable=former.is_resumable,
            )
        step: Step[Any, Any] = Step(value, former.options, where)
        self._places[index].node = Node(
            name=attribute, where=where, step=step, options=former.options
        )

    def _index(self, name: str) -> int | None:
        return next((i for i, place in enumerate(self._places) if place.node.name == name), None)

    def _refuse_second(self, attribute: str, nodes: list[Node], placed: set[str]) -> None:
        for name in [node.name for node in nodes] or [attribute]:
            if name in placed:
                raise StepConfigurationError(
                    f"{self._owner}.{name} is defined twice: by itself, and as an item of a list "
                    f"of steps. Give one of them another name.",
                    nodes[0].where if nodes else source.of_caller(),
                )

    def _refuse_to_lose_a_list(self, attribute: str, value: Any) -> None:
        if any(place.attribute == attribute for place in self._places):
            raise StepConfigurationError(
                f"{self._owner}.{attribute} is a list of steps of its parent and cannot become "
                f"{value!r}. Override it with another list of steps.",
                source.of_function(value) or source.of_caller(),
            )


def _nodes_of(attribute: str, value: Any, owner: str) -> Iterator[Node]:
    match value:
        case Step() | RemovedStep():
            yield _node(attribute, value)
        case list() | tuple() if any(isinstance(item, Step) for item in value):
            for number, item in enumerate(value, start=1):
                if not isinstance(item, Step | RemovedStep):
                    raise StepConfigurationError(
                        f"{owner}.{attribute} is a list of steps, but its item {number} is "
                        f"{item!r}.",
                        next(step.where for step in value if isinstance(step, Step)),
                    )
                yield _node(f"{attribute}_{number}", item)


def _node(name: str, item: Step[Any, Any] | RemovedStep) -> Node:
    if isinstance(item, Step):
        return Node(name=name, where=item.where, step=item, options=item.options)
    return Node(name=name, where=item.where, step=None, options=Options())
