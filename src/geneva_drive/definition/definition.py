"""The compiled form of a workflow class: immutable, and all that the engine looks at."""

from __future__ import annotations

import builtins
import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.conditions import Condition
from geneva_drive.definition.options import Options
from geneva_drive.definition.policies import Policy
from geneva_drive.definition.step import Step
from geneva_drive.errors import StepNotDefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from geneva_drive.definition.workflow import Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One place in the chain: a step, or the place of a removed one."""

    name: str
    where: str
    step: Step[Any, Any] | None
    options: Options = field(default_factory=Options)

    @property
    def is_removed(self) -> bool:
        return self.step is None

    @property
    def function(self) -> Callable[..., Any]:
        assert self.step is not None, f"{self.name} was removed and has no body"
        return self.step.function

    @property
    def is_resumable(self) -> bool:
        return self.options.iteration is not None

    @property
    def kind(self) -> str:
        if self.is_removed:
            return "removed"
        return "resumable" if self.is_resumable else "step"

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An immutable chain of nodes with the rules that hold for all of them."""

    type: str
    workflow_class: builtins.type[Workflow[Any]]
    nodes: tuple[Node, ...]
    cancel_conditions: tuple[Condition, ...]
    policies: tuple[Policy, ...]
    queue: str
    priority: int

    @cached_property
    def signature(self) -> str:
        """Stand for the shape of the chain, so that workers can tell whether their code agrees."""
        shape = "\n".join(f"{node.name}:{node.kind}" for node in self.nodes)
        return hashlib.sha256(shape.encode()).hexdigest()[:16]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        former = {
            node.options.renamed_from: place
            for place, node in enumerate(self.nodes)
            if node.options.renamed_from
        }
        return former | {node.name: place for place, node in enumerate(self.nodes)}

    @property
    def step_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes if not node.is_removed)

    @property
    def first(self) -> Node | None:
        return self._first_from(0)

    def get(self, name: str) -> Node | None:
        """Find a node by its name, or by the name it had before."""
        place = self._places.get(name)
        return None if place is None else self.nodes[place]

    def require(self, reference: object) -> Node:
        """Find a step by name or by the decorated method itself."""
        name = self.name_of(reference)
        node = self.get(name)
        if node is None or node.is_removed:
            raise StepNotDefined(self.type, name, self.step_names)
        return node

    def after(self, name: str) -> Node | None:
        """Give the step that follows; places of removed steps are passed over."""
        return self._first_from(self._places[name] + 1)

    def name_of(self, reference: object) -> str:
        if isinstance(reference, str):
            return reference
        wanted = getattr(reference, "__func__", reference)
        for node in self.nodes:
            if node.step is not None and node.step is wanted:
                return node.name
        name = self._name_in_class(wanted)
        if name is None:
            raise StepNotDefined(self.type, repr(reference), self.step_names)
        return name

    def _name_in_class(self, wanted: object) -> str | None:
        """Find what overrides a step, or was overridden: both stand for the step of that name."""
        for base in self.workflow_class.__mro__:
            for name, value in vars(base).items():
                if value is wanted and name in self._places:
                    return name
        return None

    def _first_from(self, place: int) -> Node | None:
        return next((node for node in self.nodes[place:] if not node.is_removed), None)
