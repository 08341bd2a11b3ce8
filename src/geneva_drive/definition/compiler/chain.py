"""The order of nodes, read from class bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from geneva_drive.definition.compiler import code_location, dependencies, names, overrides
from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.batch import AggregateStep, WorkerStep
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.nodes.removed_step import RemovedStep
from geneva_drive.definition.nodes.step import Decorator
from geneva_drive.definition.options.options import Options
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError


@dataclass(slots=True, eq=False)
class _Entry:
    node: Node
    attribute: str  # its name in the class body; the nodes of a list share it
    is_in_chain: bool  # False: its position has no meaning
    # The step that after_step names, or the batch of a worker or aggregate. Several entries after
    # the same one keep their order.
    after: str | None = None


class Chain:
    """Puts nodes in order, reading parents' bodies first."""

    def __init__(self, owner: str, reserved: frozenset[str]) -> None:
        self._owner = owner
        self._reserved = reserved
        self._entries: list[_Entry] = []
        self._names: dict[object, str] = {}  # by declaration, including replaced ones

    def read(self, body: Mapping[str, Any]) -> None:
        """Add the nodes of one class body, in order of definition."""
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
        nodes = tuple(entry.node for entry in self._entries)
        names.refuse_shared_nodes(self._owner, nodes)
        names.refuse_ambiguous_former_names(self._owner, nodes)
        return nodes

    def edges(self) -> dict[str, tuple[str, ...]]:
        """Return the dependencies of all nodes, even removed ones, after the last `read`."""
        known = dict.fromkeys(entry.node.name for entry in self._entries)
        edges: dict[str, tuple[str, ...]] = {}
        previous: str | None = None
        for entry in self._entries:
            name = entry.node.name
            edges[name] = dependencies.resolve(
                self._owner, entry.node, previous, self._names, known
            )
            previous = name if entry.is_in_chain else previous
        return edges

    def sources(self) -> dict[str, str]:
        """Return the step whose result each map runs over; a map that calls a method has none."""
        known = {entry.node.name for entry in self._entries}
        found: dict[str, str] = {}
        for node in (entry.node for entry in self._entries if entry.node.is_map):
            source: object = node.items.source
            # Only these are nodes; other callables may not be hashable.
            if isinstance(source, DeclaredNode | FunctionType):
                source = self._names.get(source)
            if isinstance(source, str) and source in known:
                found[node.name] = source
        return found

    def _put_all(self, attribute: str, nodes: list[Node]) -> None:
        """Insert the nodes of an attribute, in place of those that a parent has for it."""
        inherited = [entry for entry in self._entries if entry.attribute == attribute]
        last = inherited[-1] if inherited else None
        for node in nodes:
            entry = _Entry(node, attribute, _is_in_chain(node))
            self._put(entry, after=last)
            last = entry if last else None
        kept = {node.name for node in nodes}
        self._entries = [
            entry
            for entry in self._entries
            if entry.attribute != attribute or entry.node.name in kept
        ]

    def _put(self, entry: _Entry, after: _Entry | None) -> None:
        node = entry.node
        names.check(self._owner, node, self._reserved)
        self._names.setdefault(node.declared, node.name)
        existing = self._index(node.name)
        if existing is not None:
            self._replace(self._entries[existing], entry)
        if node.options.before_step is not None:
            self._insert_before(node.options.before_step, entry)
        elif node.options.after_step is not None:
            self._insert_after(node.options.after_step, entry)
        elif existing is not None:
            entry.after = self._entries[existing].after
            self._entries[existing] = entry
        elif after is not None:
            entry.after = after.after
            self._entries.insert(self._entries.index(after) + 1, entry)
        else:
            self._entries.append(entry)
        self._move_followers()

    def _move_followers(self) -> None:
        """Move each worker and aggregate directly after its batch."""
        followers = [entry for entry in self._entries if entry.node.kind.follows_batch]
        for entry in followers:
            entry.after = self._batch_of(entry.node)
        if followers:
            leading = [entry for entry in self._entries if entry not in followers]
            self._entries = [
                each
                for entry in leading
                for each in (entry, *_worker_then_aggregate(entry.node.name, followers))
            ]

    def _batch_of(self, node: Node) -> str:
        assert isinstance(node.declared, WorkerStep | AggregateStep)
        batch = node.declared.batch
        name = self._names.get(batch)
        if name is None or self._index(name) is None:
            raise StepConfigurationError(
                f"{self._owner}.{node.name} is {node.kind.a_noun} of {batch!r}, which "
                f"{self._owner} does not have. Declare both in one class.",
                node.where,
            )
        return name

    def _replace(self, former: _Entry, entry: _Entry) -> None:
        node = entry.node
        overrides.check_kind(self._owner, former.node, node)
        if node.is_removed:
            # Its dependants still wait for the nodes before it.
            kept = Options(depends_on=former.node.options.depends_on)
            entry.node = replace(node, options=kept)
            entry.is_in_chain = former.is_in_chain

    def _insert_before(self, reference: object, entry: _Entry) -> None:
        anchor = self._anchor("before_step", reference, entry)
        # It gets its anchor's `after`; otherwise a later after_step would come between them.
        entry.after = self._entries[anchor].after
        self._entries.insert(anchor, entry)

    def _insert_after(self, reference: object, entry: _Entry) -> None:
        anchor = self._anchor("after_step", reference, entry)
        entry.after = self._entries[anchor].node.name
        self._entries.insert(self._index_after(anchor), entry)

    def _index_after(self, anchor: int) -> int:
        """Return the index after `anchor` and after every entry that was placed after it."""
        line = {self._entries[anchor].node.name}
        end = anchor + 1
        while end < len(self._entries) and self._entries[end].after in line:
            line.add(self._entries[end].node.name)
            end += 1
        return end

    def _anchor(self, option: str, reference: object, entry: _Entry) -> int:
        """Remove the former entry of this name; return the index of the entry to insert beside."""
        node = entry.node
        if not isinstance(reference, str | DeclaredNode):
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} takes a step's name or the decorated "
                f"method, not {shown(reference)}.",
                node.where,
            )
        name = reference if isinstance(reference, str) else self._names.get(reference)
        if name == node.name:
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} names the step itself.", node.where
            )
        self._entries = [each for each in self._entries if each.node.name != node.name]
        found = None if name is None else self._index(name)
        if found is None:
            known = ", ".join(each.node.name for each in self._entries if each.is_in_chain)
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} names {shown(reference)}, which is not "
                f"defined before it. Defined so far: {known or '(none)'}.",
                node.where,
            )
        if not self._entries[found].is_in_chain:
            raise StepConfigurationError(
                f"{option} of {self._owner}.{node.name} names {name!r}, which has no place in the "
                f"chain, as it is {self._entries[found].node.kind.a_noun}. Name a step, or use "
                f"depends_on.",
                node.where,
            )
        if option == "before_step" and self._entries[found].node.kind.follows_batch:
            raise StepConfigurationError(
                f"before_step of {self._owner}.{node.name} names {name!r}, which comes right "
                f"after its batch. Name the batch {self._entries[found].after!r}.",
                node.where,
            )
        return found

    def _override(self, attribute: str, value: Any) -> None:
        """Replace the body of a parent's step with a plain method; refuse any other value."""
        index = self._index(attribute)
        if index is None:
            self._refuse_replaced_list(attribute, value)
            return
        node = overrides.by_method(self._owner, self._entries[index].node, value)
        self._entries[index].node = node
        self._names[node.declared] = attribute
        if isinstance(value, FunctionType):  # a later step of this body may name the plain function
            self._names[value] = attribute

    def _index(self, name: str) -> int | None:
        return next((i for i, entry in enumerate(self._entries) if entry.node.name == name), None)

    def _refuse_second(self, attribute: str, nodes: list[Node], placed: set[str]) -> None:
        for name in [node.name for node in nodes] or [attribute]:
            if name in placed:
                noun = nodes[0].kind.noun if nodes else "step"
                raise StepConfigurationError(
                    f"{self._owner}.{name} is defined twice: by itself, and as an item of a list "
                    f"of {noun}s. Give one of them another name.",
                    nodes[0].where if nodes else code_location.of_caller(),
                )

    def _refuse_replaced_list(self, attribute: str, value: Any) -> None:
        held = [entry.node for entry in self._entries if entry.attribute == attribute]
        if held:
            listed = f"list of {held[0].kind.noun}s"
            raise StepConfigurationError(
                f"{self._owner}.{attribute} is a {listed} of its parent and cannot become "
                f"{shown(value)}. Override it with another {listed}.",
                code_location.of_function(value) or code_location.of_caller(),
            )


def _worker_then_aggregate(batch: str, followers: list[_Entry]) -> list[_Entry]:
    """Return the worker of a batch and then its aggregate."""
    own = [entry for entry in followers if entry.after == batch]
    return sorted(own, key=lambda entry: entry.node.is_aggregate)


def is_list_of_nodes(value: object) -> bool:
    return isinstance(value, list | tuple) and any(_is_live(item) for item in value)


def _is_live(value: object) -> bool:
    return isinstance(value, DeclaredNode) and not isinstance(value, RemovedStep)


def _nodes_of(attribute: str, value: Any, owner: str) -> Iterator[Node]:
    if isinstance(value, Decorator):
        maker = value.kind.maker
        other = "workflow=..." if value.kind is NodeKind.MAP else f"one: {maker}(method, ...)"
        raise StepConfigurationError(
            f"{owner}.{attribute} is not {value.kind.a_noun}: {maker}(...) got no method. "
            f"Decorate a method with it, or pass {other}.",
            value.where,
        )
    if isinstance(value, DeclaredNode):
        yield _node(attribute, value)
    elif is_list_of_nodes(value):
        for number, item in enumerate(value, start=1):
            if not isinstance(item, DeclaredNode):
                first = next(each for each in value if _is_live(each))
                raise StepConfigurationError(
                    f"{owner}.{attribute} is a list of {first.kind.noun}s, but its item {number} "
                    f"is {shown(item)}.",
                    first.where,
                )
            yield _node(f"{attribute}_{number}", item)


def _node(name: str, item: DeclaredNode) -> Node:
    return Node(name=name, where=item.where, declared=item, options=item.options)  # type: ignore[arg-type]  # every DeclaredNode is one of the union's classes


def _is_in_chain(node: Node) -> bool:
    declared = node.declared
    return declared.is_in_chain if isinstance(declared, RemovedStep) else node.kind.is_in_chain
