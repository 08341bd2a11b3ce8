"""Parents and children, as a handle knows them."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.testing import drain


class Ship(gd.Workflow):
    type_name = "test_families.Ship"

    @gd.step
    def pack(self) -> None: ...


class Order(gd.Workflow):
    type_name = "test_families.Order"

    by_ship = gd.child(Ship)
    by_train = gd.child(Ship)


def test_a_child_knows_its_parent_and_the_node_that_started_it(geneva: gd.Drive) -> None:
    order = Order.create()
    drain(geneva)

    first, second = order.children

    assert (first.parent, first.parent_node) == (order, "by_ship")
    assert (second.parent, second.parent_node) == (order, "by_train")
    assert [child.state for child in order.children] == ["finished", "finished"]


def test_a_workflow_alone_has_neither_parent_nor_children(geneva: gd.Drive) -> None:
    ship = Ship.create()

    assert (ship.parent, ship.parent_node, ship.children) == (None, None, [])


def test_a_child_whose_parent_was_pruned_has_none(geneva: gd.Drive) -> None:
    class Send(gd.Workflow):
        @gd.step
        def begin(self) -> None: ...

        ship = gd.child(Ship, detached=True)

    send = Send.create()
    drain(geneva)
    [ship] = send.children
    with geneva.store.transaction() as connection:
        assert geneva.store.workflows.delete(connection, send.id) == 1

    assert (ship.reload().parent, ship.parent_node) == (None, None)


def test_the_children_of_a_dynamic_workflow_name_their_nodes(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.workflow("north", Ship, depends_on=None)
    w.workflow("south", Ship, depends_on=None)
    workflow = w.start()

    drain(geneva)

    assert {child.parent_node for child in workflow.children} == {"north", "south"}
    assert all(child.parent == workflow for child in workflow.children)
