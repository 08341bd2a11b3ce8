from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import event

import geneva_drive as gd
from tests.cli_demo.conftest import Shop


def test_a_workflow_that_is_created_during_a_look_is_seen_whole_or_not_at_all(shop: Shop) -> None:
    shop.order("mug")
    _before_each_statement(shop, lambda number: shop.order(f"mug {number}"))

    looks = [shop.look(), shop.look()]

    assert [len(look.workflows) for look in looks] != [1, 1]
    for look in looks:
        assert {one.hero_name: len(one.executions) for one in look.workflows} == {
            one.hero_name: 1 for one in look.workflows
        }


@pytest.mark.parametrize("statement", range(1, 9))
def test_a_workflow_that_ends_during_a_look_is_seen_with_its_step_as_it_ended(
    shop: Shop, statement: int
) -> None:
    order = shop.order("mug")
    _before_each_statement(shop, lambda number: number == statement and order.cancel())

    [seen] = shop.look().workflows

    assert (seen.state, [one.state for one in seen.executions]) in [
        (gd.WorkflowState.READY, [gd.StepState.SCHEDULED]),
        (gd.WorkflowState.CANCELED, [gd.StepState.CANCELED]),
    ]


def _before_each_statement(shop: Shop, act: Callable[[int], object]) -> None:
    """Do something on another connection before each statement of a look."""
    count, is_acting = 0, False

    @event.listens_for(shop.drive.engine, "before_cursor_execute")
    def interfere(*_: object) -> None:
        nonlocal count, is_acting
        if is_acting:
            return
        count, is_acting = count + 1, True
        # A thread of its own: on this one, the look's transaction would be joined.
        thread = threading.Thread(target=act, args=(count,))
        thread.start()
        thread.join()
        is_acting = False
