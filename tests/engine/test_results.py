"""What steps keep for those after them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.deploys import former_code
from tests.looking import error_of, history, last


def test_a_later_step_reads_a_kept_result_as_the_type_it_was(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Order(gd.Workflow):
        @gd.step(keep_result=True)
        def price(self) -> Decimal:
            return Decimal("9.90")

        @gd.step
        def charge(self) -> None:
            seen.append(self.result_of(Order.price))
            seen.append(self.result_of("price"))

    workflow = speedrun(Order.create())

    assert seen == [Decimal("9.90"), Decimal("9.90")]
    assert workflow.step_executions[0].result == Decimal("9.90")


def test_a_return_value_is_ignored_unless_it_is_kept(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step
        def price(self) -> object:
            return object()

    workflow = speedrun(Order.create())

    assert workflow.state == "finished"
    assert workflow.step_executions[0].result is None


def test_the_result_of_an_async_step_is_kept(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step(keep_result=True)
        async def price(self) -> int:
            return 7

    assert speedrun(Order.create()).step_executions[0].result == 7


def test_the_result_of_a_step_that_has_not_run_is_none(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None:
            seen.append(self.result_of(Order.price))

        @gd.step(keep_result=True)
        def price(self) -> int:
            return 7

    speedrun(Order.create())

    assert seen == [None]


def test_the_result_of_the_latest_attempt_counts(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Order(gd.Workflow):
        @gd.step(keep_result=True)
        def price(self) -> int:
            return self.attempt

        @gd.step
        def charge(self) -> None:
            seen.append(self.result_of(Order.price))

    workflow = Order.create()
    perform_next_step(workflow)
    workflow.resume_at(Order.price)
    speedrun(workflow)

    assert seen == [2]


def test_reading_a_result_that_is_not_kept_is_an_error_of_the_step(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step
        def price(self) -> int:
            return 7

        @gd.step
        def charge(self) -> None:
            self.result_of(Order.price)

    workflow = speedrun(Order.create())

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "Step 'price' of Order keeps no result. Declare it with @gd.step(keep_result=True).",
    )


def test_reading_the_result_of_an_unknown_step_is_an_error_of_the_step(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None:
            self.result_of("price")

    workflow = speedrun(Order.create())

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.StepNotDefined",
        "Workflow 'Order' has no step 'price'. Its steps are: charge.",
    )


def test_a_result_that_is_no_json_fails_the_step_through_its_policy(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step(keep_result=True, on_exception="skip")
        def price(self) -> object:
            return {"price": {7}}

    workflow = speedrun(Order.create())

    assert history(workflow) == [("price", "skipped", "skipped_by_exception")]
    assert last(workflow).error_message == (
        "The result of step 'price'['price'] is of type set, which cannot be stored as JSON. Use "
        "text, numbers, booleans, None, lists, tuples, dictionaries, dates and times, Decimal, "
        "UUID, bytes or Enum members. For a record, store its key; for other types, call "
        "gd.register_serializer."
    )


def test_a_result_that_is_too_large_fails_the_step(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step(keep_result=True)
        def price(self) -> str:
            return "x" * 98

    drive = gd.Drive(geneva.engine, max_result_size=99)
    workflow = speedrun(Order.using(drive).create())

    assert workflow.state == "paused"
    assert error_of(last(workflow)) == (
        "geneva_drive.errors.PayloadTooLarge",
        "The result of step 'price' is 100 bytes as JSON; the limit is 99 bytes. Store the data "
        "elsewhere and keep its key, or raise the setting max_result_size.",
    )


def test_an_error_in_keeping_the_result_is_told_to_the_after_hook(geneva: gd.Drive) -> None:
    told: list[str] = []

    class Order(gd.Workflow):
        @gd.step(keep_result=True)
        def price(self) -> object:
            return object()

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            told.append(outcome)

    speedrun(Order.create())

    assert told == ["paused_by_exception"]


def _priced_by_former_code() -> gd.WorkflowHandle[Any]:
    with former_code():

        class OrderBefore(gd.Workflow):
            type_name = "test_results.Order"

            @gd.step(keep_result=True)
            def price(self) -> int:
                return 7

            @gd.step
            def charge(self) -> None: ...

        workflow = OrderBefore.create()
        perform_next_step(workflow)
        return workflow


def test_the_result_of_a_step_is_kept_through_its_renaming(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    workflow = _priced_by_former_code()

    class OrderAfter(gd.Workflow):
        type_name = "test_results.Order"

        @gd.step(keep_result=True, renamed_from="price")
        def quote(self) -> int:
            return 8

        @gd.step
        def charge(self) -> None:
            seen.append(self.result_of(OrderAfter.quote))

    speedrun(workflow)

    assert seen == [7]


def test_the_result_of_a_removed_step_can_still_be_read(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    workflow = _priced_by_former_code()

    class OrderAfter(gd.Workflow):
        type_name = "test_results.Order"

        price = gd.removed_step()

        @gd.step
        def charge(self) -> None:
            seen.append(self.result_of("price"))

    speedrun(workflow)

    assert seen == [7]
