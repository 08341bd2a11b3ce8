"""Workflows of one template are built by it, know it and are found by it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain

COPIED: list[str] = []


@gd.job
def copy_table(table: str) -> None:
    COPIED.append(table)


@gd.template
def nightly_copy(w: gd.DynamicWorkflow, tables: Sequence[str]) -> None:
    w.fan_out(tables, name="copy_{}", job=copy_table, args=lambda table: {"table": table})
    w.node("done")


def test_a_template_builds_from_its_parameters_and_starts(geneva: gd.Drive) -> None:
    COPIED.clear()

    workflow = nightly_copy.start(tables=["users", "orders"], context={"night": 1})
    drain()

    assert workflow.reload().state == "finished"
    assert sorted(COPIED) == ["orders", "users"]
    assert workflow.template == nightly_copy.name
    assert workflow.context == {"night": 1}


def test_the_runs_of_a_template_are_listed_together(geneva: gd.Drive) -> None:
    by_hand = gd.DynamicWorkflow()
    by_hand.node("only")
    stranger = by_hand.start()
    first = nightly_copy.start(tables=["users"])
    drain()
    second = nightly_copy.start(tables=["orders"])

    assert nightly_copy.runs().all() == [first, second]
    assert nightly_copy.runs().finished().ids() == [first.id]
    assert nightly_copy.runs().ongoing().ids() == [second.id]
    assert stranger.template is None


def test_a_repeated_key_starts_a_template_once(geneva: gd.Drive) -> None:
    first = nightly_copy.start(tables=["users"], idempotency_key="night-1")
    again = nightly_copy.start(tables=["users"], idempotency_key="night-1")

    assert first.id == again.id
    assert nightly_copy.runs().count() == 1


def test_a_template_in_a_template_adds_its_nodes_to_the_outer_one(geneva: gd.Drive) -> None:
    COPIED.clear()

    @gd.template(name="shop.weekly")
    def weekly(w: gd.DynamicWorkflow) -> None:
        nightly_copy(w, ["users"])
        w.node("report", job=copy_table, args={"table": "report"})

    workflow = weekly.start()
    drain()

    assert COPIED == ["users", "report"]
    assert workflow.template == "shop.weekly"
    assert nightly_copy.runs().count() == 0


def test_a_template_starts_with_another_drive(geneva: gd.Drive, tmp_path: Any) -> None:
    with closing(gd.Drive(f"sqlite:///{tmp_path / 'other.db'}")) as other:
        other.migrate()

        nightly_copy.using(other).start(tables=["users"])

        assert nightly_copy.using(other).runs().count() == 1
        assert nightly_copy.runs().count() == 0
