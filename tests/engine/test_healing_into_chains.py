"""Graphs that become chains while workflows are under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.engine.former_order import start_former

ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


def _chain() -> type[gd.Workflow[Any]]:
    class ChainedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None:
            ran.append("validate")

        @gd.step
        def stock(self) -> None:
            ran.append("stock")

        @gd.step
        def fraud(self) -> None:
            ran.append("fraud")

        @gd.step
        def charge(self) -> None:
            ran.append("charge")

    return ChainedOrder


@pytest.mark.parametrize(
    "performed",
    [
        (),
        ("validate",),
        ("validate", "stock"),
        ("validate", "fraud"),
        ("validate", "stock", "fraud"),
    ],
    ids=lambda performed: "_".join(performed) or "nothing",
)
def test_a_graph_becomes_a_chain_and_runs_each_of_its_nodes_once(
    geneva: gd.Drive, performed: tuple[str, ...]
) -> None:
    workflow_id = start_former("ChainedOrder", ran, *performed)
    chain = _chain()

    drain()

    workflow = chain.find(workflow_id)
    assert workflow.state == "finished"
    assert sorted(ran) == ["charge", "fraud", "stock", "validate"]
    assert ran[-1] == "charge"


@pytest.mark.parametrize(
    ("command", "fraud_runs"),
    [
        (lambda w: w.resume(), 2),
        (lambda w: w.reattempt("fraud"), 2),
        (lambda w: w.skip("fraud"), 1),
    ],
    ids=["resume", "reattempt", "skip"],
)
def test_a_graph_that_failed_goes_on_as_a_chain(
    geneva: gd.Drive, command: Callable[[Any], object], fraud_runs: int
) -> None:
    workflow_id = start_former("ChainedOrder", ran, "validate", "stock", "fraud", broken="fraud")
    chain = _chain()
    workflow = chain.find(workflow_id)
    assert workflow.state == "paused"

    command(workflow)
    drain()

    assert workflow.reload().state == "finished"
    assert (ran.count("fraud"), ran.count("stock"), ran[-1]) == (fraud_runs, 1, "charge")


@pytest.mark.parametrize(
    "performed", [("validate",), ("validate", "stock")], ids=["two scheduled", "one scheduled"]
)
def test_a_graph_that_was_paused_goes_on_as_a_chain(
    geneva: gd.Drive, performed: tuple[str, ...]
) -> None:
    workflow_id = start_former("ChainedOrder", ran, *performed)
    gd.Workflow.find(workflow_id).pause()
    workflow = _chain().find(workflow_id)

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert sorted(ran) == ["charge", "fraud", "stock", "validate"]


def test_a_graph_that_became_a_chain_can_be_canceled(geneva: gd.Drive) -> None:
    workflow_id = start_former("ChainedOrder", ran, "validate")
    workflow = _chain().find(workflow_id)

    workflow.cancel()

    assert workflow.state == "canceled"
    assert {e.outcome for e in workflow.step_executions[1:]} == {"canceled_by_operator"}
