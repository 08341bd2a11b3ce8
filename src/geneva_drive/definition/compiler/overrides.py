"""Checks of the nodes and methods that override a parent's node."""

from __future__ import annotations

from typing import Any

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.step import Step, is_method
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError


def check_kind(owner: str, former: Node, node: Node) -> None:
    """Raise an error if a step overrides a task, or the other way round."""
    if former.is_removed or node.is_removed:
        return
    if former.kind.is_in_chain != node.kind.is_in_chain:
        raise StepConfigurationError(
            f"{owner}.{node.name} is {former.kind.a_noun} of its parent and cannot become "
            f"{node.kind.a_noun}. Choose another name.",
            node.where,
        )


def by_method(owner: str, former: Node, value: Any) -> Node:
    """Return the parent's node with its options, and with a plain method as its body."""
    name = former.name
    where = code_location.of_function(value) or code_location.of_caller()
    if former.is_removed:
        raise StepConfigurationError(
            f"{owner}.{name} is a step that its parent removed. Bring it back with "
            f"@gd.step, or choose another name.",
            where,
        )
    if not isinstance(former.declared, Step):
        raise StepConfigurationError(
            f"{owner}.{name} is {former.declared!r} of its parent and cannot become "
            f"{shown(value)}. Override it with {former.kind.maker}(...), or choose another "
            f"name.",
            where,
        )
    if not is_method(value):
        raise StepConfigurationError(
            f"{owner}.{name} is {former.kind.a_noun} of its parent and cannot become "
            f"{shown(value)}. Override it with a method, or write {name} = gd.removed_step().",
            where,
        )
    with code_location.naming(f"{owner}.{name}", where):
        call_signatures.check_body(value, former.kind, transaction=former.options.transaction)
    step = former.declared.with_body(value, where)
    return Node(name=name, where=where, declared=step, options=former.options)
