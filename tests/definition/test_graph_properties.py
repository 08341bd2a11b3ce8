from __future__ import annotations

import hashlib
from graphlib import CycleError
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geneva_drive.definition.compiler.graph import Graph, find_cycle

Edges = dict[str, list[str]]


@st.composite
def acyclic(draw: st.DrawFn) -> Edges:
    """Edges that lead back in a hidden order, declared in any other."""
    hidden = [f"n{number}" for number in range(draw(st.integers(0, 12)))]
    edges = {
        node: draw(st.lists(st.sampled_from(hidden[:place]), max_size=4)) if place else []
        for place, node in enumerate(hidden)
    }
    return {node: edges[node] for node in draw(st.permutations(hidden))}


@st.composite
def any_edges(draw: st.DrawFn) -> Edges:
    nodes = [f"n{number}" for number in range(draw(st.integers(1, 8)))]
    return {node: draw(st.lists(st.sampled_from(nodes), max_size=3)) for node in nodes}


def reached_by(edges: Edges, start: str) -> set[str]:
    """All that waits for `start`, found the slow way."""
    found = {start}
    for _ in edges:
        found |= {node for node, parents in edges.items() if found.intersection(parents)}
    return found - {start}


def waits_for_itself(edges: Edges, node: str) -> bool:
    return not {node, *reached_by(edges, node)}.isdisjoint(edges[node])


@given(acyclic())
def test_nothing_comes_before_what_it_waits_for(edges: Edges) -> None:
    order = Graph.of(edges).order

    assert sorted(order) == sorted(edges)
    assert all(
        order.index(parent) < order.index(node) for node, found in edges.items() for parent in found
    )


@given(acyclic())
def test_what_is_declared_in_order_stays_as_it_is_declared(edges: Edges) -> None:
    in_order = {node: edges[node] for node in Graph.of(edges).order}

    assert Graph.of(in_order).order == tuple(in_order)


@given(acyclic())
def test_parents_and_dependants_are_two_sides_of_the_same_edges(edges: Edges) -> None:
    graph = Graph.of(edges)

    forward = {(parent, node) for node, parents in graph.parents.items() for parent in parents}
    backward = {(parent, node) for parent, nodes in graph.dependants.items() for node in nodes}
    assert forward == backward
    assert forward == {(parent, node) for node, parents in edges.items() for parent in parents}
    assert graph.entries == tuple(node for node in edges if not edges[node])


@given(acyclic())
def test_dependants_are_in_order_of_declaration(edges: Edges) -> None:
    declared = list(edges)

    assert all(
        list(found) == sorted(found, key=declared.index)
        for found in Graph.of(edges).dependants.values()
    )


@given(acyclic())
def test_a_level_is_one_further_than_the_furthest_parent(edges: Edges) -> None:
    graph = Graph.of(edges)

    level = {node: number for number, nodes in enumerate(graph.levels) for node in nodes}
    assert set(level) == set(edges)
    assert level == {
        node: max((level[parent] + 1 for parent in parents), default=0)
        for node, parents in edges.items()
    }


@given(acyclic())
def test_downstream_is_all_that_waits_at_whatever_remove(edges: Edges) -> None:
    graph = Graph.of(edges)

    assert {node: graph.downstream(node) for node in edges} == {
        node: reached_by(edges, node) for node in edges
    }


@given(acyclic())
def test_a_graph_without_cycles_has_none_to_find(edges: Edges) -> None:
    assert find_cycle(edges) == ()


@given(any_edges())
def test_a_cycle_is_found_where_there_is_one(edges: Edges) -> None:
    cycle = find_cycle(edges)

    assert bool(cycle) is any(waits_for_itself(edges, node) for node in edges)
    assert cycle[:1] == cycle[-1:]
    assert all(first in edges[second] for first, second in pairwise(cycle))


@given(acyclic(), st.data())
def test_removed_nodes_are_passed_over(edges: Edges, data: st.DataObject) -> None:
    removed = frozenset(data.draw(st.sets(st.sampled_from(sorted(edges)))) if edges else ())

    graph = Graph.of(edges, removed)

    assert set(graph.order) == set(edges) - removed
    assert removed.isdisjoint({parent for found in graph.parents.values() for parent in found})
    assert removed.isdisjoint({node for found in graph.dependants.values() for node in found})
    assert {node: graph.downstream(node) for node in edges} == {
        node: reached_by(edges, node) - removed for node in edges
    }


@given(acyclic())
def test_the_signature_is_the_same_in_every_order(edges: Edges) -> None:
    reversed_edges = {node: parents[::-1] for node, parents in reversed(edges.items())}

    assert Graph.of(edges).signature() == Graph.of(reversed_edges).signature()


def test_the_signature_is_a_hash_of_the_sorted_edges() -> None:
    graph = Graph.of({"b": ["a"], "a": []})

    assert graph.signature() == hashlib.sha256(b'[["a",[]],["b",["a"]]]').hexdigest()


def test_the_order_of_a_cycle_is_refused() -> None:
    graph = Graph.of({"a": ["b"], "b": ["a"]})

    with pytest.raises(CycleError):
        _ = graph.order


def test_twenty_thousand_nodes_are_sorted_without_recursion() -> None:
    names = [str(number) for number in range(20_000)]
    edges = {"0": [], **{node: [names[place]] for place, node in enumerate(names[1:])}}

    graph = Graph.of(dict(reversed(edges.items())))

    assert graph.order == tuple(names)
    assert len(graph.levels) == 20_000
    assert len(graph.downstream("0")) == 19_999
