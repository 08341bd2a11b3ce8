"""The nodes that a node waits for, from its position in the chain or its options."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Node


class Previous(Enum):
    """The step before this one in the chain, once all steps are in order.

    >>> import geneva_drive as gd
    >>> class Order(gd.Workflow):
    ...     @gd.step
    ...     def charge(self): ...
    ...     @gd.task
    ...     def check_stock(self): ...
    ...     @gd.step(depends_on=[gd.PREVIOUS, check_stock])
    ...     def ship(self): ...
    >>> Order.compiled_dag()["nodes"]["ship"]["depends_on"]
    ['charge', 'check_stock']
    """

    PREVIOUS = "PREVIOUS"

    def __repr__(self) -> str:
        return "gd.PREVIOUS"


PREVIOUS = Previous.PREVIOUS

TaskReference = str | DeclaredNode | Callable[..., Any]
StepReference = TaskReference | Previous
TaskDependencies = TaskReference | Sequence[TaskReference] | None
StepDependencies = StepReference | Sequence[StepReference] | None


def parse(given: Mapping[str, Any], kind: NodeKind) -> tuple[object, ...]:
    """Return the references to the nodes that a node waits for, which may be defined later."""
    if not kind.is_in_chain:
        listed = _listed(given, "depends_on")
        if PREVIOUS in listed:
            raise StepConfigurationError(
                f"depends_on names gd.PREVIOUS, and a {kind.noun} has no place in the chain of "
                f"steps. Name what it waits for."
            )
        return listed
    if given.get("depends_on") is not None:
        return _listed(given, "depends_on")
    return tuple(dict.fromkeys((PREVIOUS, *_listed(given, "also_depends_on"))))


def _listed(given: Mapping[str, Any], option: str) -> tuple[object, ...]:
    value = given.get(option)
    if value is None:
        return ()
    listed = value if isinstance(value, list | tuple) else (value,)
    return tuple(dict.fromkeys(_reference(option, each) for each in listed))


def _reference(option: str, value: object) -> object:
    reference = value.__func__ if isinstance(value, MethodType) else value
    if not isinstance(reference, str | Previous | DeclaredNode | FunctionType):
        raise StepConfigurationError(
            f"{option} takes a name, a decorated method or a list of these, not {shown(value)}."
        )
    return reference


def resolve(
    owner: str,
    node: Node,
    previous: str | None,
    names: Mapping[object, str],
    known: Collection[str],
) -> tuple[str, ...]:
    """Return the names of the nodes that a node waits for, each once."""
    found: dict[str, None] = {}
    for reference in node.options.depends_on:
        if reference is PREVIOUS:
            name = previous
        else:
            name = reference if isinstance(reference, str) else names.get(reference)
            _check(owner, node, reference, name, known)
        if name is not None:
            found[name] = None
    return tuple(found)


def _check(
    owner: str, node: Node, reference: object, name: str | None, known: Collection[str]
) -> None:
    if name == node.name:
        raise StepConfigurationError(
            f"{owner}.{node.name} depends on itself. Name what it waits for.", node.where
        )
    if name not in known:
        others = [each for each in known if each != node.name]
        close = difflib.get_close_matches(name or "", others, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise StepConfigurationError(
            f"{owner}.{node.name} depends on {shown(reference)}, and {owner} has no such node. "
            f"{hint}"
            f"The others are: {', '.join(others) or '(none)'}.",
            node.where,
        )
