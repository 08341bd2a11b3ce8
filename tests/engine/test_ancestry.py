"""Hashes that prove which nodes were done before which."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step, perform_step_inline
from tests.deploys import former_code

Handle = gd.WorkflowHandle[Any]


def sha(*parts: str) -> str:
    """Hash as the seed writes it: the node's id and its parents' hashes, joined by colons."""
    return hashlib.sha256(":".join(parts).encode()).hexdigest()


def _hashes(workflow: Handle) -> dict[tuple[str, int], str | None]:
    return {(e.node_id, e.attempt_number): e.ancestry_hash for e in workflow.step_executions}


class Diamond(gd.Workflow):
    """The seed's: A -> B, A -> C, B and C -> D; C fails once."""

    type_name = "HashedDiamond"

    @gd.task
    def A(self) -> None: ...  # noqa: N802 - the seed's names

    @gd.task(depends_on=A)
    def B(self) -> None: ...  # noqa: N802

    @gd.task(depends_on=A)
    def C(self) -> None:  # noqa: N802
        if self.attempt == 1:
            raise ValueError("fails at first")

    @gd.task(depends_on=[B, C])
    def D(self) -> None: ...  # noqa: N802


# sha256("A"), sha256("B:<A>"), sha256("C:<A>") and sha256("D:<the two, sorted>").
A = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd"


def test_the_diamond_of_the_seed_with_a_reattempt_has_the_documented_hashes(
    geneva: gd.Drive,
) -> None:
    workflow = Diamond.create()
    drain()
    assert workflow.reload().state == "paused"

    workflow.reattempt("C")
    drain()

    b, c = sha("B", A), sha("C", A)
    assert _hashes(workflow) == {
        ("A", 1): A,
        ("B", 1): b,
        ("C", 1): c,
        ("C", 2): c,
        ("D", 1): sha("D", *sorted([b, c])),
    }
    assert workflow.verify_ancestry() == []


def test_a_chain_is_hashed_like_any_graph(geneva: gd.Drive) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def A(self) -> None: ...  # noqa: N802

        @gd.step
        def B(self) -> None:  # noqa: N802
            if self.attempt == 1:
                self.reattempt()

        @gd.step(skip_if=True)
        def C(self) -> None: ...  # noqa: N802

        @gd.step
        def D(self) -> None: ...  # noqa: N802

    workflow = Chain.create()

    drain()

    b = sha("B", A)
    c = sha("C", b)
    assert _hashes(workflow) == {
        ("A", 1): A,
        ("B", 1): b,
        ("B", 2): b,
        ("C", 1): c,
        ("D", 1): sha("D", c),
    }
    assert workflow.verify_ancestry() == []


def test_a_dynamic_workflow_is_hashed_by_the_ids_of_its_nodes(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    left = w.node("left", depends_on=None)
    right = w.node("right", depends_on=None)
    join = w.node("join", depends_on=[left, right])
    end = w.node("end")
    workflow = w.start()

    drain()

    joined = sha(join, *sorted([sha(left), sha(right)]))
    assert _hashes(workflow) == {
        (left, 1): sha(left),
        (right, 1): sha(right),
        (join, 1): joined,
        (end, 1): sha(end, joined),
    }
    assert workflow.verify_ancestry() == []


def test_skipped_parents_count_like_completed_ones(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision
        def A(self) -> str:  # noqa: N802
            return "C"

        @gd.task(depends_on=A)
        def B(self) -> None: ...  # noqa: N802

        @gd.task(depends_on=A)
        def C(self) -> None:  # noqa: N802
            self.skip()

        @gd.task(depends_on=[B, C])
        def D(self) -> None: ...  # noqa: N802

    workflow = Order.create()

    drain()

    b, c = sha("B", A), sha("C", A)
    assert _hashes(workflow) == {
        ("A", 1): A,
        ("B", 1): b,
        ("C", 1): c,
        ("D", 1): sha("D", *sorted([b, c])),
    }
    assert workflow.verify_ancestry() == []


@pytest.mark.parametrize("kind", ["chain", "graph", "dynamic"])
def test_what_an_operator_skipped_counts(geneva: gd.Drive, kind: str) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def A(self) -> None: ...  # noqa: N802

        @gd.step
        def B(self) -> None: ...  # noqa: N802

    class Graph(gd.Workflow):
        @gd.task
        def A(self) -> None: ...  # noqa: N802

        @gd.task(depends_on=A)
        def B(self) -> None: ...  # noqa: N802

        @gd.task
        def C(self) -> None: ...  # noqa: N802

    def dynamic() -> Handle:
        w = gd.DynamicWorkflow()
        w.node("A")
        w.node("B")
        return w.start()

    workflow = {"chain": Chain.create, "graph": Graph.create, "dynamic": dynamic}[kind]()

    workflow.skip("A")
    drain()

    [a, b] = [e for e in workflow.step_executions if e.step_name in "AB"]
    assert (a.outcome, a.ancestry_hash) == ("skipped_by_operator", sha(a.node_id))
    assert b.ancestry_hash == sha(b.node_id, sha(a.node_id))
    assert workflow.reload().verify_ancestry() == []


def _tamper(drive: gd.Drive, workflow: Handle, step_name: str, **values: Any) -> None:
    table = drive.store.tables.step_executions
    with drive.engine.begin() as connection:
        changed = connection.execute(
            update(table)
            .where(table.c.workflow_id == workflow.id, table.c.step_name == step_name)
            .values(**values)
        )
    assert changed.rowcount == 1


def test_a_hash_that_was_tampered_with_is_found_with_what_builds_on_it(geneva: gd.Drive) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def A(self) -> None: ...  # noqa: N802

        @gd.step
        def B(self) -> None: ...  # noqa: N802

        @gd.step
        def C(self) -> None: ...  # noqa: N802

    workflow = Chain.create()
    drain()

    _tamper(geneva, workflow, "B", ancestry_hash="0" * 64)

    assert [e.step_name for e in workflow.verify_ancestry()] == ["B", "C"]


@pytest.mark.parametrize("state", ["failed", "canceled"])
def test_a_parent_that_was_made_undone_is_found_by_its_dependants(
    geneva: gd.Drive, state: str
) -> None:
    workflow = Diamond.create()
    drain()
    workflow.reload().resume()
    drain()
    assert workflow.verify_ancestry() == []

    _tamper(geneva, workflow, "B", state=state, outcome="canceled_by_operator")

    assert [e.step_name for e in workflow.verify_ancestry()] == ["D"]


def test_a_row_that_was_deleted_is_found_by_its_dependants(geneva: gd.Drive) -> None:
    workflow = Diamond.create()
    drain()
    workflow.reload().resume()
    drain()

    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(table.delete().where(table.c.step_name == "B"))

    assert [e.step_name for e in workflow.verify_ancestry()] == ["D"]


def test_recovered_and_resumed_attempts_keep_their_hash(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task
        def A(self) -> None: ...  # noqa: N802

        @gd.task(depends_on=A)
        def B(self) -> None:  # noqa: N802
            if self.attempt == 1:
                self.pause()

        @gd.task(depends_on=A)
        def C(self) -> None: ...  # noqa: N802

    workflow = Order.create()
    perform_step_inline(workflow, "A")
    perform_step_inline(workflow, "B")

    workflow.resume()
    drain()

    assert [e.ancestry_hash for e in workflow.step_executions if e.node_id == "B"] == [
        sha("B", A)
    ] * 2
    assert workflow.verify_ancestry() == []


def test_going_on_elsewhere_in_a_chain_raises_no_false_alarm(geneva: gd.Drive) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def A(self) -> None: ...  # noqa: N802

        @gd.step
        def B(self) -> None: ...  # noqa: N802

        @gd.step
        def C(self) -> None: ...  # noqa: N802

    back, forth = Chain.create(), Chain.create()
    perform_next_step(back)
    perform_next_step(back)

    back.resume_at("A")
    forth.resume_at("C")
    drain()

    assert (back.reload().state, forth.reload().state) == ("finished", "finished")
    assert (back.verify_ancestry(), forth.verify_ancestry()) == ([], [])


def test_a_renamed_node_raises_no_false_alarm(geneva: gd.Drive) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "RenamedHashes"

            @gd.task
            def A(self) -> None: ...  # noqa: N802

            @gd.task(depends_on=A)
            def B(self) -> None: ...  # noqa: N802

            @gd.task(depends_on=B)
            def C(self) -> None:  # noqa: N802
                raise ValueError("no such order")

        workflow_id = Former.create().id
        drain()

    class RenamedHashes(gd.Workflow):
        @gd.task
        def A(self) -> None: ...  # noqa: N802

        @gd.task(depends_on=A, renamed_from="B")
        def check(self) -> None: ...

        @gd.task(depends_on=check)
        def C(self) -> None: ...  # noqa: N802

        @gd.task(depends_on=C)
        def D(self) -> None: ...  # noqa: N802

    workflow = RenamedHashes.find(workflow_id)

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert workflow.verify_ancestry() == []
