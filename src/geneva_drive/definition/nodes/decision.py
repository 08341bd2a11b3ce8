"""Decisions: methods that choose which of the nodes after them run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options.keywords import DecisionOptions
from geneva_drive.errors import NoSuchBranch, StepNotDefined

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition, Node

Branch = str | Callable[..., Any]
Chosen = Branch | Sequence[Branch] | None
Branches = Chosen | Coroutine[Any, Any, Chosen]

P = ParamSpec("P")
B = TypeVar("B", bound=Branches, covariant=True)


@overload
def decision(
    function: Callable[Concatenate[Any, P], B], /, **given: Unpack[DecisionOptions]
) -> Step[P, B]: ...
@overload
def decision(
    **given: Unpack[DecisionOptions],
) -> Callable[[Callable[Concatenate[Any, P], B]], Step[P, B]]: ...
def decision(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Turn a method into a task that chooses which of its dependants run; the others are skipped.

    It returns a name, a decorated method, a list of these, or None for no branch at all.

    >>> import geneva_drive as gd
    >>> class Order(gd.Workflow):
    ...     @gd.decision
    ...     def route(self): return "express" if self.context["urgent"] else self.post
    ...     @gd.task(depends_on=route)
    ...     def express(self): ...
    ...     @gd.task(depends_on=route)
    ...     def post(self): ...
    """
    with code_location.ending_at_caller:
        return decorate(NodeKind.DECISION, function, given)


def chosen_branches(definition: Definition, node: Node, returned: object) -> tuple[str, ...]:
    """Return the names of the chosen branches, in order of declaration."""
    branches = definition.graph.dependants[node.name]
    if returned is None:
        return ()
    listed = returned if isinstance(returned, list | tuple | set | frozenset) else (returned,)
    chosen = {_branch(definition, node, each, branches) for each in listed}
    return tuple(branch for branch in branches if branch in chosen)


def _branch(definition: Definition, node: Node, reference: object, branches: Sequence[str]) -> str:
    try:
        found = definition.get(definition.name_of(reference))
    except StepNotDefined:
        found = None
    if found is None or found.name not in branches:
        raise NoSuchBranch(definition.type, node.name, reference, branches)
    return found.name
