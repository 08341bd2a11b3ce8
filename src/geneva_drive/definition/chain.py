"""From class bodies to the order of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition import source
from geneva_drive.definition.definition import Node
from geneva_drive.definition.options import MAX_NAME_LENGTH, Options
from geneva_drive.definition.step import RemovedStep, Step
from geneva_drive.errors import StepConfigurationError


@dataclass(slots=True)
class _Place:
    node: Node
    after: str | None  # the step it was put behind, so that later ones line up behind it


class Chain:
    """Steps being put in order, parents' bodies first."""

    def __init__(self, owner: str, reserved: frozenset[str]) -> None:
        self._owner = owner
        self._reserved = reserved
        self._places: list[_Place] = []

    def read(self, body: Mapping[str, Any]) -> None:
        """Take in one class body, in its order of definition."""
        for name, value in body.items():
            overridden = self._index(name)
            if overridden is not None and not isinstance(value, Step | RemovedStep):
                self._override_body(overridden, name, value)
            else:
                for node in _nodes_of(name, value, self._owner):
                    self._put(node)

    def nodes(self) -> tuple[Node, ...]:
        nodes = tuple(place.node for place in self._places)
        self._refuse_shared_steps(nodes)
        self._refuse_ambiguous_former_names(nodes)
        return nodes

    def _put(self, node: Node) -> None:
        self._check_name(node)
        place = _Place(node, after=None)
        existing = self._index(node.name)
        opts = node.options
        if opts.before_step is not None:
            self._drop(existing)
            self._places.insert(self._anchor(opts.before_step, node), place)
        elif opts.after_step is not None:
            self._drop(existing)
            anchor = self._anchor(opts.after_step, node)
            place.after = self._places[anchor].node.name
            self._places.insert(self._end_of_line(anchor), place)
        elif existing is not None:
            place.after = self._places[existing].after
            self._places[existing] = place
        else:
            self._places.append(place)

    def _end_of_line(self, anchor: int) -> int:
        """Find the place behind `anchor` and everything already put behind it."""
        line = {self._places[anchor].node.name}
        end = anchor + 1
        while end < len(self._places) and self._places[end].after in line:
            line.add(self._places[end].node.name)
            end += 1
        return end

    def _override_body(self, index: int, name: str, value: Any) -> None:
        former = self._places[index].node
        if not callable(value) or former.step is None or isinstance(value, type):
            raise StepConfigurationError(
                f"{self._owner}.{name} is a step of its parent and cannot become {value!r}. "
                f"Override it with a method, or write {name} = gd.removed_step().",
                source.of_function(value) or former.where,
            )
        where = source.of_function(value) or former.where
        step: Step[Any, Any, Any] = Step(value, former.options, where)
        self._places[index].node = Node(name=name, where=where, step=step, options=former.options)

    def _anchor(self, reference: object, node: Node) -> int:
        if isinstance(reference, Step):
            found = next(
                (i for i, place in enumerate(self._places) if place.node.step is reference), None
            )
        else:
            found = self._index(reference) if isinstance(reference, str) else None
        if found is None:
            option = "before_step" if node.options.before_step is not None else "after_step"
            known = ", ".join(place.node.name for place in self._places) or "(none)"
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} names {reference!r}, which is not defined "
                f"before it. Defined so far: {known}.",
                node.where,
            )
        return found

    def _index(self, name: str) -> int | None:
        return next((i for i, place in enumerate(self._places) if place.node.name == name), None)

    def _drop(self, index: int | None) -> None:
        if index is not None:
            del self._places[index]

    def _check_name(self, node: Node) -> None:
        if node.name in self._reserved:
            raise StepConfigurationError(
                f"{self._owner}.{node.name} has the name of a member of gd.Workflow. "
                f"Choose another name for the step.",
                node.where,
            )
        if len(node.name) > MAX_NAME_LENGTH:
            raise StepConfigurationError(
                f"The step name {node.name[:40]!r}... is {len(node.name)} characters long; "
                f"at most {MAX_NAME_LENGTH} can be stored.",
                node.where,
            )

    def _refuse_shared_steps(self, nodes: tuple[Node, ...]) -> None:
        seen: dict[int, str] = {}
        for node in nodes:
            if node.step is None:
                continue
            first = seen.setdefault(id(node.step), node.name)
            if first != node.name:
                raise StepConfigurationError(
                    f"{self._owner} uses one step as both {first!r} and {node.name!r}. "
                    f"Make a step for each with gd.step(...).",
                    node.where,
                )

    def _refuse_ambiguous_former_names(self, nodes: tuple[Node, ...]) -> None:
        taken = {node.name for node in nodes}
        for node in nodes:
            former = node.options.renamed_from
            if former is None:
                continue
            if former in taken:
                raise StepConfigurationError(
                    f"renamed_from={former!r} of {self._owner}.{node.name} is the name of another "
                    f"step, or claimed twice.",
                    node.where,
                )
            taken.add(former)


def _nodes_of(name: str, value: Any, owner: str) -> Iterator[Node]:
    match value:
        case Step():
            yield Node(name=name, where=value.where, step=value, options=value.options)
        case RemovedStep():
            yield Node(name=name, where=value.where, step=None, options=Options())
        case list() | tuple() if any(isinstance(item, Step) for item in value):
            for number, item in enumerate(value, start=1):
                if not isinstance(item, Step):
                    raise StepConfigurationError(
                        f"{owner}.{name} is a list of steps, but its item {number} is {item!r}.",
                        next(step.where for step in value if isinstance(step, Step)),
                    )
                yield Node(
                    name=f"{name}_{number}", where=item.where, step=item, options=item.options
                )
