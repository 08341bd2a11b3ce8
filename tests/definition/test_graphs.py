# ruff: noqa: RUF012 - lists of tasks stand in class bodies as users write them
from __future__ import annotations

import functools
import hashlib
import json
from datetime import timedelta

import pytest

import geneva_drive as gd
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import edges, options, run_file, steps


class OrderWorkflow(gd.Workflow):
    type_name = "order of the definitions' tests"

    @gd.step
    def validate(self) -> None: ...

    @gd.step
    def enrich_data(self) -> None: ...

    @gd.task(depends_on="validate")
    def check_inventory(self) -> None: ...

    @gd.task(depends_on=validate)
    def check_fraud(self) -> None: ...

    @gd.step(depends_on=[check_inventory, "check_fraud"])
    def ready_to_charge(self) -> None: ...

    @gd.step
    def charge_card(self) -> None: ...

    @gd.task(depends_on=charge_card)
    def send_receipt(self) -> None: ...

    @gd.task(depends_on=[charge_card])
    def update_analytics(self) -> None: ...

    @gd.step(depends_on=["charge_card", send_receipt, "update_analytics"])
    def complete(self) -> None: ...


def test_steps_and_tasks_make_one_graph() -> None:
    assert edges(OrderWorkflow) == {
        "validate": [],
        "enrich_data": ["validate"],
        "check_inventory": ["validate"],
        "check_fraud": ["validate"],
        "ready_to_charge": ["check_inventory", "check_fraud"],
        "charge_card": ["ready_to_charge"],
        "send_receipt": ["charge_card"],
        "update_analytics": ["charge_card"],
        "complete": ["charge_card", "send_receipt", "update_analytics"],
    }
    assert definition_of(OrderWorkflow).is_graph is True


def test_the_levels_of_a_graph_are_what_may_run_side_by_side() -> None:
    graph = definition_of(OrderWorkflow).graph

    assert graph.levels == [
        ["validate"],
        ["enrich_data", "check_inventory", "check_fraud"],
        ["ready_to_charge"],
        ["charge_card"],
        ["send_receipt", "update_analytics"],
        ["complete"],
    ]
    assert graph.entries == ("validate",)
    assert graph.dependants["validate"] == ("enrich_data", "check_inventory", "check_fraud")
    assert graph.downstream("charge_card") == {"send_receipt", "update_analytics", "complete"}


def test_nodes_tell_their_kind_and_what_they_wait_for() -> None:
    definition = definition_of(OrderWorkflow)
    charge, inventory = definition.require("charge_card"), definition.require("check_inventory")

    assert (charge.kind, charge.depends_on) == (NodeKind.STEP, ("ready_to_charge",))
    assert (inventory.kind, inventory.depends_on) == (NodeKind.TASK, ("validate",))
    assert definition.name_of(OrderWorkflow.check_inventory) == "check_inventory"


def test_previous_is_found_after_all_insertions() -> None:
    class Order(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def check(self) -> None: ...

        @gd.step(also_depends_on=check)
        def complete(self) -> None: ...

        @gd.step(after_step="validate")
        def audit(self) -> None: ...

    assert edges(Order) == {
        "validate": [],
        "audit": ["validate"],
        "check": ["validate"],
        "complete": ["audit", "check"],
    }


def test_also_depends_on_stands_beside_the_step_before() -> None:
    class Order(gd.Workflow):
        fraud = gd.task(lambda self: None)
        charge = gd.step(lambda self: None)
        ship = gd.step(lambda self: None, also_depends_on="fraud")
        bill = gd.step(lambda self: None, depends_on=["fraud", gd.PREVIOUS])
        close = gd.step(lambda self: None, also_depends_on=[fraud, "charge", gd.PREVIOUS])

    assert edges(Order) == {
        "fraud": [],
        "charge": [],
        "ship": ["charge", "fraud"],
        "bill": ["fraud", "ship"],
        "close": ["bill", "fraud", "charge"],
    }


def test_for_the_first_step_there_is_no_previous_one() -> None:
    class Order(gd.Workflow):
        check = gd.task(lambda self: None)
        charge = gd.step(lambda self: None, also_depends_on=check)

    assert edges(Order) == {"check": [], "charge": ["check"]}


def test_a_step_that_depends_on_nothing_is_an_entry_and_stays_in_the_chain() -> None:
    class Order(gd.Workflow):
        charge = gd.step(lambda self: None)
        greet = gd.step(lambda self: None, depends_on=[])
        ship = gd.step(lambda self: None)

    assert edges(Order) == {"charge": [], "greet": [], "ship": ["greet"]}


@pytest.mark.parametrize("given", ["", "depends_on=None", "depends_on=[]"])
def test_a_task_that_names_nothing_is_an_entry(given: str) -> None:
    names = run_file(f"""
        class Order(gd.Workflow):
            charge = gd.step(lambda self: None)
            @gd.task({given})
            def check(self): ...
            ship = gd.step(lambda self: None)
    """)

    assert edges(names["Order"]) == {"charge": [], "check": [], "ship": ["charge"]}


def test_what_is_named_may_be_defined_later_and_is_counted_once() -> None:
    class Order(gd.Workflow):
        @gd.task(depends_on=["ship", "charge", "ship"])
        def close(self) -> None: ...

        @gd.step
        def charge(self) -> None: ...

        @gd.resumable_step(depends_on=[charge, "charge"])
        def ship(self, it: gd.IterableStep) -> None: ...

    assert edges(Order) == {
        "charge": [],
        "ship": ["charge"],
        "close": ["ship", "charge"],
    }
    assert steps(Order) == ["close", "charge", "ship"]


def test_a_list_of_tasks_may_be_named_as_a_whole_and_by_its_items() -> None:
    class Order(gd.Workflow):
        validate = gd.step(lambda self: None)
        checks = [gd.task(lambda self: None, depends_on="validate") for _ in range(3)]
        charge = gd.step(lambda self: None, depends_on=checks)
        note = gd.task(lambda self: None, depends_on=["checks_2", checks[0]])

    assert edges(Order) == {
        "validate": [],
        "checks_1": ["validate"],
        "checks_2": ["validate"],
        "checks_3": ["validate"],
        "charge": ["checks_1", "checks_2", "checks_3"],
        "note": ["checks_2", "checks_1"],
    }


def test_a_task_has_the_options_of_a_step() -> None:
    class Order(gd.Workflow):
        @gd.task(wait=60, skip_if="is_known", queue="mail", keep_result=True, timeout=5)
        async def check(self) -> None: ...

        def is_known(self) -> bool:
            return True

    opts = options(Order, "check")
    assert (opts.wait, opts.queue, opts.keep_result) == (timedelta(minutes=1), "mail", True)
    assert definition_of(Order).require("check").is_async is True


def test_a_decorated_task_can_be_called() -> None:
    class Order(gd.Workflow):
        @gd.task
        def total(self) -> int:
            """Add it up."""
            return 3

    assert Order().total() == 3
    assert Order.total.__doc__ == "Add it up."
    assert repr(Order.total).startswith("<task 'total' at ")


def test_previous_says_what_it_is() -> None:
    assert repr(gd.PREVIOUS) == "gd.PREVIOUS"


def test_a_child_class_inherits_and_overrides_tasks_in_place() -> None:
    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None: ...

        @gd.task(depends_on=charge, wait=60)
        def receipt(self) -> str:
            return "mail"

        @gd.task(depends_on=charge)
        def report(self) -> None: ...

        @gd.step(depends_on=receipt)
        def close(self) -> None: ...

    class LoudOrder(Order):
        def receipt(self) -> str:
            return super().receipt().upper()

        @gd.task(depends_on=[receipt, Order.charge])
        def report(self) -> None: ...

        @gd.task(depends_on=[Order.receipt, "close"])
        def shout(self) -> None: ...

    receipt = definition_of(LoudOrder).require("receipt")
    assert edges(LoudOrder) == {
        "charge": [],
        "receipt": ["charge"],
        "report": ["receipt", "charge"],
        "close": ["receipt"],
        "shout": ["receipt", "close"],
    }
    assert (receipt.kind, receipt.options.wait) == (NodeKind.TASK, timedelta(minutes=1))
    assert receipt.function(LoudOrder()) == "MAIL"
    assert edges(Order)["report"] == ["charge"]


def test_any_callable_may_override_a_task() -> None:
    class Order(gd.Workflow):
        charge = gd.step(lambda self: None)
        receipt = gd.task(lambda self: "mail", depends_on=charge)
        close = gd.step(lambda self: None, depends_on="receipt")

    class QuietOrder(Order):
        receipt = functools.partial(lambda text, self: text, "none")

    receipt = definition_of(QuietOrder).require("receipt")
    assert receipt.function(QuietOrder()) == "none"
    assert edges(QuietOrder) == {"charge": [], "receipt": ["charge"], "close": ["receipt"]}


def test_an_insertion_of_a_child_class_leaves_its_parent_alone() -> None:
    class Order(gd.Workflow):
        validate = gd.step(lambda self: None)
        check = gd.task(lambda self: None, depends_on=validate)
        charge = gd.step(lambda self: None, also_depends_on="check")

    class AuditedOrder(Order):
        audit = gd.step(lambda self: None, after_step="validate")

    assert edges(AuditedOrder)["charge"] == ["audit", "check"]
    assert edges(Order)["charge"] == ["validate", "check"]


def test_a_removed_step_is_passed_over_in_a_graph() -> None:
    class Order(gd.Workflow):
        validate = gd.step(lambda self: None)
        enrich = gd.removed_step()
        audit = gd.removed_step()
        check = gd.task(lambda self: None, depends_on=["audit", "validate"])
        charge = gd.step(lambda self: None, also_depends_on=[check, enrich])

    graph = definition_of(Order).graph
    assert edges(Order) == {"validate": [], "check": ["validate"], "charge": ["validate", "check"]}
    assert (graph.parents["enrich"], graph.parents["audit"]) == (("validate",), ("validate",))
    assert graph.dependants["validate"] == ("check", "charge")
    assert graph.dependants["enrich"] == ("check", "charge")
    assert graph.dependants["audit"] == ("check", "charge")
    assert graph.downstream("audit") == {"check", "charge"}
    assert graph.order == ("validate", "check", "charge")


def test_a_removed_first_step_leaves_entries_behind_it() -> None:
    class Order(gd.Workflow):
        validate = gd.removed_step()
        check = gd.task(lambda self: None, depends_on=validate)
        charge = gd.step(lambda self: None)

    graph = definition_of(Order).graph
    assert graph.entries == ("check", "charge")
    assert graph.levels == [["check", "charge"]]
    assert graph.dependants["validate"] == ("check", "charge")


def test_a_task_that_a_child_class_removes_hands_on_what_it_waited_for() -> None:
    class Order(gd.Workflow):
        validate = gd.step(lambda self: None)
        enrich = gd.step(lambda self: None)
        check = gd.task(lambda self: None, depends_on=validate)
        charge = gd.step(lambda self: None, depends_on=check)
        ship = gd.step(lambda self: None)

    class TrustingOrder(Order):
        check = gd.removed_step()  # type: ignore[assignment]  # a task that is none any more

    assert edges(TrustingOrder) == {
        "validate": [],
        "enrich": ["validate"],
        "charge": ["validate"],
        "ship": ["charge"],
    }


def test_a_renamed_task_is_found_by_its_former_name() -> None:
    class Order(gd.Workflow):
        @gd.task(renamed_from="check")
        def check_stock(self) -> None: ...

        @gd.decision(renamed_from="choose")
        def route(self) -> None: ...

    definition = definition_of(Order)
    found, chosen = definition.get("check"), definition.get("choose")
    assert found is definition.require("check_stock")
    assert chosen is definition.require("route")


def test_a_class_of_steps_is_no_graph() -> None:
    class Order(gd.Workflow):
        a = gd.step(lambda self: None)
        b = gd.resumable_step(lambda self, it: None, also_depends_on=[])
        gone = gd.removed_step()
        c = gd.step(lambda self: None, depends_on=gd.PREVIOUS)

    definition = definition_of(Order)
    assert definition.is_graph is False
    assert (
        definition.signature
        == hashlib.sha256(b"a:step\nb:resumable\ngone:removed\nc:step").hexdigest()[:16]
    )
    assert edges(Order) == {"a": [], "b": ["a"], "c": ["b"]}


def signature(depends_on: str) -> str:
    names = run_file(f"""
        class Order(gd.Workflow):
            a = gd.step(lambda self: 0)
            b = gd.step(lambda self: 0)
            c = gd.task(lambda self: 0, depends_on={depends_on})
    """)
    return definition_of(names["Order"]).signature


def test_the_signature_of_a_graph_covers_its_edges() -> None:
    assert signature("['a']") != signature("['a', 'b']")
    assert signature("['a', 'b']") == signature("['b', 'a']")
    assert len(signature("['a']")) == 16


def test_the_graph_of_a_class_is_written_as_a_stored_one() -> None:
    class Order(gd.Workflow):
        ship = gd.task(lambda self: None, depends_on="charge")
        charge = gd.step(lambda self: None)

    shape = json.dumps([["charge", []], ["ship", ["charge"]]], separators=(",", ":"))
    signature = hashlib.sha256(shape.encode()).hexdigest()
    assert Order.dag_signature() == signature
    assert Order.compiled_dag() == {
        "version": 1,
        "signature": signature,
        "nodes": {
            "charge": {"name": "charge", "depends_on": []},
            "ship": {"name": "ship", "depends_on": ["charge"]},
        },
    }
    assert list(Order.compiled_dag()["nodes"]) == ["charge", "ship"]


def test_a_class_without_nodes_has_an_empty_graph() -> None:
    class Nothing(gd.Workflow): ...

    graph = definition_of(Nothing).graph
    assert (graph.order, graph.levels, graph.entries) == ((), [], ())
    assert Nothing.compiled_dag()["nodes"] == {}
