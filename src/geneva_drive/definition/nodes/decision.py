"""What a decision returned, and the branches that it means."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from geneva_drive.errors import NoSuchBranch, StepNotDefined

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition, Node

Branch = str | Callable[..., Any]
Chosen = Branch | Sequence[Branch] | None
Branches = Chosen | Coroutine[Any, Any, Chosen]


def chosen_branches(definition: Definition, node: Node, returned: object) -> tuple[str, ...]:
    """Give the names of the branches that run, in order of declaration."""
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
