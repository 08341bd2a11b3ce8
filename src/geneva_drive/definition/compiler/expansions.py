"""Checks of batches and maps: their parts, the names of their executions, and their items."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.batches import MAX_BATCHES
from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.compiler.graph import Edges, find_cycle
from geneva_drive.definition.definition import Node, result_hint
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow

_LONGEST_NAME = MAX_NAME_LENGTH - len(f"_{MAX_BATCHES}")

# Kinds whose results are not a plain list of items.
_NO_LISTS = (NodeKind.APPROVAL, NodeKind.CALLBACK, NodeKind.WORKER, NodeKind.MAP)


def check(owner: str, nodes: Sequence[Node]) -> None:
    """Raise an error if a batch is incomplete, or the name of an execution is too long or taken.

    A worker and an aggregate come right after their batch.
    """
    for leading, followers in _groups(nodes):
        if leading.is_batch:
            _check_part(leading, followers, NodeKind.WORKER)
            _check_part(leading, followers, NodeKind.AGGREGATE)
        elif followers:
            raise StepConfigurationError(
                f"{owner}.{followers[0].name} is {followers[0].kind.a_noun} of {leading.name!r}, "
                f"which is no longer a batch. Write {followers[0].name} = gd.removed_step().",
                leading.where,
            )
    for node in nodes:
        if node.is_worker or node.is_map:
            _check_names(owner, node, nodes)


def _groups(nodes: Sequence[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Yield each node that follows no batch, with the workers and aggregates after it."""
    leading, followers = nodes[0] if nodes else None, list[Node]()
    for node in nodes[1:]:
        if node.kind.follows_batch:
            followers.append(node)
            continue
        if leading is not None:
            yield leading, followers
        leading, followers = node, []
    if leading is not None:
        yield leading, followers


def _check_part(batch: Node, followers: Sequence[Node], kind: NodeKind) -> None:
    match [node for node in followers if node.kind is kind]:
        case []:
            raise StepConfigurationError(
                f"Batch {batch.name!r} has no {kind.value}. Decorate a method with "
                f"@{batch.name}.{kind.value}.",
                batch.where,
            )
        case [first, second, *_]:
            raise StepConfigurationError(
                f"Batch {batch.name!r} has two {kind.value}s: {first.name!r} and {second.name!r}. "
                f"Keep one of them.",
                second.where,
            )


def _check_names(owner: str, node: Node, nodes: Sequence[Node]) -> None:
    if len(node.name) > _LONGEST_NAME:
        raise StepConfigurationError(
            f"The {node.kind.noun} name {node.name[:40]!r}... of {owner} is {len(node.name)} "
            f"characters long; at most {_LONGEST_NAME} can be stored, as its executions have "
            f"a number added to it.",
            node.where,
        )
    names = filter(None, (node.name, node.options.renamed_from))
    numbered = re.compile(rf"({'|'.join(map(re.escape, names))})_\d{{3,}}")
    for other in nodes:
        for name in filter(None, (other.name, other.options.renamed_from)):
            if numbered.fullmatch(name):
                raise StepConfigurationError(
                    f"{owner}.{other.name}: {name!r} is the name of an execution of the "
                    f"{node.kind.noun} {node.name!r}. Choose another name.",
                    other.where,
                )


def with_items(
    workflow_class: type[Workflow[Any, Any]],
    nodes: Sequence[Node],
    edges: Edges,
    sources: Mapping[str, str],
) -> Edges:
    """Add the edge from each map to the step whose result it runs over."""
    by_name = {node.name: node for node in nodes}
    for node in (node for node in nodes if node.is_map):
        with code_location.naming(f"Map {node.name!r}", node.where):
            name = sources.get(node.name)
            if name is None:
                _check_method(workflow_class, node, by_name)
            else:
                _check_step(by_name[name])
                edges = _joined(edges, node.name, name)
    return edges


def _joined(edges: Edges, name: str, source: str) -> Edges:
    joined = {**edges, name: (*edges[name], source)}
    if find_cycle(joined) and not find_cycle(edges):
        raise StepConfigurationError(
            f"its items are the result of {source!r}, which runs after it. Place {source!r} "
            f"before the map."
        )
    return joined


def _check_step(source: Node) -> None:
    if source.kind in _NO_LISTS or source.is_removed:
        noun = "a removed step" if source.is_removed else source.kind.a_noun
        raise StepConfigurationError(
            f"items takes a step that keeps a list as its result, and {source.name!r} is {noun}. "
            f"Pass a callable of self that returns the items."
        )
    if not source.keeps_result:
        raise StepConfigurationError(
            f"its items are the result of {source.kind.noun} {source.name!r}, which keeps none. "
            f"{result_hint(source)}"
        )


def _check_method(
    workflow_class: type[Workflow[Any, Any]], node: Node, names: Mapping[str, Node]
) -> None:
    source, owner = node.items.source, workflow_class.__name__
    if not isinstance(source, str):
        if callable(source) and not isinstance(source, DeclaredNode):
            return
        raise StepConfigurationError(f"items is {source!r}, which is not a step of {owner}.")
    method = inspect.getattr_static(workflow_class, source, None)
    if not callable(getattr(workflow_class, source, None)):
        methods = [name for name, value in vars(workflow_class).items() if callable(value)]
        close = get_close_matches(source, [*names, *methods], 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise StepConfigurationError(
            f"items={shown(source)} names neither a step nor a method of {owner}.{meant}"
        )
    if inspect.isfunction(method):
        call_signatures.check_plain(f"items={shown(source)}", method, "self")
