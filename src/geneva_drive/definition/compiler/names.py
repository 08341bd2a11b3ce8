"""Checks that node names are allowed and unambiguous."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.declaration import DeclaredNode
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.errors import StepConfigurationError


def check(owner: str, node: Node, reserved: frozenset[str]) -> None:
    if node.name in reserved:
        raise StepConfigurationError(
            f"{owner}.{node.name} has the name of a member of gd.Workflow. "
            f"Choose another name for the {node.kind.noun}.",
            node.where,
        )
    if len(node.name) > MAX_NAME_LENGTH:
        raise StepConfigurationError(
            f"The {node.kind.noun} name {node.name[:40]!r}... of {owner} is {len(node.name)} "
            f"characters long; at most {MAX_NAME_LENGTH} can be stored.",
            node.where,
        )


def refuse_shared_nodes(owner: str, nodes: Sequence[Node]) -> None:
    seen: dict[DeclaredNode, str] = {}
    for node in nodes:
        # A batch with two workers or aggregates has an error message of its own.
        is_exempt = node.is_removed or node.kind.follows_batch
        first = node.name if is_exempt else seen.setdefault(node.declared, node.name)
        if first != node.name:
            noun, maker = node.kind.noun, node.kind.maker
            raise StepConfigurationError(
                f"{owner} uses one {noun} as both {first!r} and {node.name!r}. "
                f"Make {node.kind.a_noun} for each with {maker}(...).",
                node.where,
            )


def refuse_ambiguous_former_names(owner: str, nodes: Sequence[Node]) -> None:
    leads_to = {node.name: node.name for node in nodes}
    for node in nodes:
        former = node.options.renamed_from
        if former is None:
            continue
        if former in leads_to:
            other = leads_to[former]
            fault = "is its own name" if other == node.name else f"leads to {other!r} already"
            raise StepConfigurationError(
                f"renamed_from={former!r} of {owner}.{node.name} {fault}. "
                f"Name what this {node.kind.noun} alone was called before.",
                node.where,
            )
        leads_to[former] = node.name
