from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo import frame
from geneva_drive.cli.demo.snapshot import Snapshot
from geneva_drive.definition import registry
from tests.cli_demo.snapshots import snapshot, workflow

_PACKAGE = "geneva_drive.cli.demo"


@dataclass(frozen=True, slots=True)
class Shop:
    """The demo's application with a database of its own, and no workers."""

    drive: gd.Drive
    workflows: Any
    look: Callable[[list[Any]], Snapshot]

    def order(self, name: str) -> None:
        with Session(self.drive.engine) as session, session.begin():
            order = self.workflows.Order(name=name, cents=100, postcode="1011 AB")
            session.add(order)
            self.checkouts.create(order, session=session)

    @property
    def checkouts(self) -> Any:
        return self.workflows.Checkout.using(self.drive)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    # Its classes are known by name as long as their module is: other tests use the same names.
    with registry.isolated():
        workflows = importlib.import_module(f"{_PACKAGE}.workflows")
        observer = importlib.import_module(f"{_PACKAGE}.observer")
        drive = gd.Drive(f"sqlite:///{tmp_path / 'demo.db'}")
        drive.migrate()
        workflows.Base.metadata.create_all(drive.engine)
        yield Shop(drive, workflows, observer.Observer(drive).look)
        drive.close()
    for module in (workflows, observer):
        sys.modules.pop(module.__name__)


def test_a_workflow_that_is_created_during_a_look_is_seen_whole_or_not_at_all(
    shop: Shop,
) -> None:
    shop.order("mug")
    _before_each_statement(shop, lambda number: shop.order(f"mug {number}"))

    looks = [shop.look([]), shop.look([])]

    assert [len(one.workflows) for one in looks] != [1, 1]
    for look in looks:
        assert {one.hero_name: len(one.executions) for one in look.workflows} == {
            one.hero_name: 1 for one in look.workflows
        }


@pytest.mark.parametrize("statement", range(1, 7))
def test_a_workflow_that_ends_during_a_look_is_seen_with_its_step_as_it_ended(
    shop: Shop, statement: int
) -> None:
    shop.order("mug")
    [order] = shop.checkouts.query()
    _before_each_statement(shop, lambda number: number == statement and order.cancel())

    [seen] = shop.look([]).workflows

    assert (seen.state, [one.state for one in seen.executions]) in [
        (gd.WorkflowState.READY, [gd.StepState.SCHEDULED]),
        (gd.WorkflowState.CANCELED, [gd.StepState.CANCELED]),
    ]


def test_a_workflow_without_executions_is_drawn_as_well() -> None:
    empty = workflow("ready")

    assert frame.attempts_text(empty).plain == "0"
    assert frame.doing(empty, snapshot(empty)) == ""
    assert frame.step_marks(empty, ascii_only=True).plain == ".."


def _before_each_statement(shop: Shop, act: Callable[[int], object]) -> None:
    """Do something in another connection before each statement of a look."""
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
