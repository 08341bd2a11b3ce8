from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from geneva_drive.cli.demo.code_listing import listing
from tests.cli_demo.conftest import Shop
from tests.cli_demo.snapshots import execution, workflow


class Checkout:
    """Charge an order."""

    def charge_card(self) -> None: ...

    def print_label(self) -> None: ...

    def send_tracking(self) -> None: ...


def close_ledger(node: Callable[[str], None]) -> None:
    for number in range(20):
        node(f"mutation_{number}")
    node("aggregate")


STEPS = ("charge_card", "print_label", "send_tracking")
CHARGED = execution("charge_card")


def test_the_code_has_a_mark_at_each_step_and_no_empty_lines() -> None:
    ahead = workflow("ready", CHARGED, execution("print_label"), step_names=STEPS)
    skipping = workflow("ready", execution("charge_card", "skipped"), step_names=STEPS)

    assert listing(Checkout, [ahead, skipping], room=9).plain.splitlines() == [
        "class Checkout:",
        '    """Charge an order."""',
        "  ● def charge_card(self) -> None: ...",
        "  ◉ def print_label(self) -> None: ...",
        "  ○ def send_tracking(self) -> None: ...",
    ]


def test_a_failed_step_of_one_workflow_is_marked_as_failed() -> None:
    failed = workflow("paused", execution("charge_card", "failed"), step_names=STEPS)
    charged = workflow("ready", CHARGED, step_names=STEPS)

    assert "  ✗ def charge_card" in listing(Checkout, [charged, failed], room=9).plain


def test_a_step_is_marked_where_it_is_defined_even_if_it_was_named_above() -> None:
    class Refund:
        on_reject = "apologize"

        def apologize(self) -> None: ...

    refused = workflow("ready", execution("apologize"), step_names=("apologize",))

    assert listing(Refund, [refused], room=9).plain.splitlines()[1:] == [
        '        on_reject = "apologize"',
        "  ●     def apologize(self) -> None: ...",
    ]


def test_in_a_small_room_the_code_around_the_current_step_is_shown() -> None:
    done = [execution(name) for name in STEPS[:2]]

    shown = listing(Checkout, [workflow("ready", *done, step_names=STEPS)], room=3)

    assert shown.plain.splitlines() == [
        "  ● def charge_card(self) -> None: ...",
        "  ● def print_label(self) -> None: ...",
        "  ○ def send_tracking(self) -> None: ...",
    ]


def test_the_nodes_of_a_template_are_marked_where_they_are_named() -> None:
    nodes = [execution(f"mutation_{number}") for number in range(20)]
    names = (*(node.step_name for node in nodes), "aggregate")

    assert listing(
        close_ledger, [workflow("ready", *nodes, step_names=names)], room=9
    ).plain.splitlines()[2:] == [
        '  ●     node(f"mutation_{number}")',
        '  ○ node("aggregate")',
    ]


@pytest.mark.parametrize(
    "name",
    [
        "Signup",
        "Checkout",
        "Refund",
        "PhotoBook",
        "Import",
        "CheckedOrder",
        "Reconcile",
        "close_ledger",
    ],
)
def test_the_code_of_the_shop_is_as_narrow_as_the_screen(shop: Shop, name: str) -> None:
    code: Any = inspect.unwrap(getattr(shop.tables, name))

    assert max(len(line) for line in inspect.getsource(code).splitlines()) <= 76
