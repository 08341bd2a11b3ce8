"""What a node of a graph may be: a job, a transaction, a loop, a loop in shares."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, String, Table, insert, select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import (
    crash_after,
    drain,
    expire_leases,
    perform_next_step,
    run_iterations,
)
from tests.looking import history, last
from tests.users_tables import make_empty


@pytest.fixture
def effects(geneva: gd.Drive) -> Table:
    """A table of the user's own, in which nodes leave what they did."""
    table = Table("graph_effects", MetaData(), Column("name", String(100)))
    make_empty(geneva.engine, table.metadata)
    return table


def _effects(drive: gd.Drive, effects: Table) -> list[str]:
    with drive.engine.connect() as connection:
        return sorted(connection.scalars(select(effects.c.name)))


def test_a_node_may_be_a_job_with_its_arguments(geneva: gd.Drive) -> None:
    called: list[Any] = []

    @gd.job(name="graph_nodes.receipt")
    def receipt(order_id: int, *, workflow: Any, node: Any) -> None:
        called.append((order_id, workflow.id, workflow.context["lang"], node.id, node.name))
        called.append(node.args)

    @gd.job(name="graph_nodes.bare")
    def bare() -> None:
        called.append("bare")

    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None: ...

        receipt_mail = gd.task(job=receipt, args={"order_id": 7}, depends_on=charge)
        rest = gd.task(job=bare, depends_on="receipt_mail")

    workflow = Order.create(context={"lang": "nl"})

    drain()

    assert workflow.reload().state == "finished"
    assert called == [
        (7, workflow.id, "nl", "receipt_mail", "receipt_mail"),
        {"order_id": 7},
        "bare",
    ]
    assert [row[0] for row in history(workflow)] == ["charge", "receipt_mail", "rest"]


def test_an_async_job_is_awaited(geneva: gd.Drive) -> None:
    called: list[str] = []

    @gd.job(name="graph_nodes.async_receipt")
    async def receipt(*, node: Any) -> None:
        called.append(node.name)

    class Order(gd.Workflow):
        mail = gd.task(job=receipt)
        letter = gd.task(job=receipt)

    Order.create()

    drain()

    assert sorted(called) == ["letter", "mail"]


def test_a_node_brings_the_policy_of_its_job_unless_it_has_its_own(geneva: gd.Drive) -> None:
    @gd.job(name="graph_nodes.unsure", on_exception="skip", queue="mail")
    def unsure() -> None:
        raise ValueError("no such order")

    class Order(gd.Workflow):
        mail = gd.task(job=unsure)
        letter = gd.task(job=unsure, on_exception="cancel")

    workflow = Order.create()

    drain()

    assert history(workflow) == [
        ("mail", "skipped", "skipped_by_exception"),
        ("letter", "failed", "canceled_by_exception"),
    ]
    assert [e.queue for e in workflow.step_executions] == ["mail", "mail"]


def test_what_a_node_writes_in_its_transaction_commits_with_its_end(
    geneva: gd.Drive, effects: Table
) -> None:
    class Order(gd.Workflow):
        @gd.task(transaction=True)
        def stock(self, session: Session) -> None:
            session.execute(insert(effects).values(name="stock"))

        @gd.task(transaction=True, on_exception="skip")
        def fraud(self, session: Session) -> None:
            session.execute(insert(effects).values(name="fraud"))
            raise ValueError("rolled back")

        @gd.task(transaction=True, depends_on=[stock, fraud])
        def charge(self, session: Session) -> None:
            session.execute(insert(effects).values(name="charge"))

    workflow = Order.create()
    with crash_after("body"):
        drain()
    expire_leases(geneva)
    drain()

    assert _effects(geneva, effects) == ["charge", "stock"]
    assert workflow.reload().state == "finished"


def test_a_resumable_node_goes_on_from_its_cursor_beside_another(geneva: gd.Drive) -> None:
    seen: list[int | str] = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(5)))

        @gd.task
        def other(self) -> None:
            seen.append("other")

        @gd.task(depends_on=[rows, other])
        def close(self) -> None:
            seen.append("close")

    workflow = Import.create()
    run_iterations(workflow, "rows", count=2)
    assert [(e.step_name, e.state) for e in workflow.step_executions] == [
        ("rows", "suspended"),
        ("other", "scheduled"),
    ]

    drain()

    assert [one for one in seen if isinstance(one, int)] == [0, 1, 2, 3, 4]
    assert (sorted(map(str, seen))[-2:], seen[-1]) == (["close", "other"], "close")
    assert workflow.reload().state == "finished"


def test_a_node_in_shares_is_done_when_all_of_them_are(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(9)))

        @gd.task
        def other(self) -> None: ...

        @gd.task(depends_on=[rows, other])
        def close(self) -> None:
            seen.append(len(seen))

    workflow = Import.create()

    drain()

    assert (Counter(seen[:-1]), seen[-1]) == (Counter(range(9)), 9)
    assert sorted(e.node_id for e in workflow.step_executions) == [
        "close",
        "other",
        "rows",
        "rows[1]",
        "rows[2]",
        "rows[3]",
    ]
    assert workflow.reload().state == "finished"
    assert workflow.verify_ancestry() == []


def test_a_share_that_fails_holds_the_graph_until_it_is_resumed(geneva: gd.Drive) -> None:
    seen: list[int] = []
    is_broken = True

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(9)):
                if number == 4 and is_broken:
                    raise ValueError("no such row")
                seen.append(number)

        @gd.task
        def other(self) -> None: ...

        @gd.task(depends_on=[rows, other])
        def close(self) -> None: ...

    workflow = Import.create()
    drain()
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "rows")
    assert workflow.has_passed("rows") is False

    is_broken = False
    workflow.resume()
    drain()

    assert Counter(seen) == Counter(range(9))
    assert workflow.reload().state == "finished"
    assert workflow.has_passed("rows")
    assert [e.step_name for e in workflow.step_executions].count("close") == 1


def test_a_share_of_a_dead_worker_is_run_again(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(6)))

        @gd.task(depends_on=rows)
        def close(self) -> None: ...

        @gd.task(depends_on=rows)
        def tell(self) -> None: ...

    workflow = Import.create()
    perform_next_step(workflow)
    with crash_after(items=2):
        drain()
    expire_leases(geneva)

    drain()

    assert set(seen) == set(range(6))
    assert workflow.reload().state == "finished"
    assert last(workflow).step_name in ("close", "tell")
    assert [e.node_id for e in workflow.step_executions if e.outcome == "recovered"] == ["rows[1]"]
