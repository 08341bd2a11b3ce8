"""A node waits for events, at every place that it can have in a workflow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive import errors
from geneva_drive.testing import drain
from tests.approving import StandingClock, reach
from tests.looking import history, last

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ran: list[Any] = []


@pytest.fixture(autouse=True)
def clock(geneva: gd.Drive) -> StandingClock:
    ran.clear()
    clock = StandingClock()
    geneva.clock = clock
    return clock


class Order(gd.Workflow[Any]):
    type_name = "test_event_waits.Order"

    @gd.step
    def place(self) -> None:
        ran.append("place")

    @gd.wait_for_event("payment.received", key=lambda self: self.context["number"])
    def payment(self, event: gd.Event) -> None:
        ran.append(event.payload)

    @gd.step
    def ship(self) -> None:
        event = self.result_of("payment")
        ran.append(event if event is None else (event.type, event.key, event.payload))


def _order(drive: gd.Drive, number: Any = 17) -> gd.WorkflowHandle[Any]:
    return reach(drive, Order, context={"number": number})


def test_an_event_with_the_key_lets_the_workflow_continue(geneva: gd.Drive) -> None:
    workflow = _order(geneva)

    other = geneva.publish("payment.received", {"paid": 1}, key="18")
    assert drain(geneva) == 0
    event = geneva.publish("payment.received", {"paid": 2}, key=17)
    drain(geneva)

    assert ran == ["place", {"paid": 2}, ("payment.received", "17", {"paid": 2})]
    assert workflow.reload().state == "finished"
    assert (event.continued, event.duplicate) == ((workflow.id,), False)
    assert other.heard_by().near_misses == []
    assert event.heard_by().continued == [workflow.id]


def test_a_workflow_that_waits_for_an_event_reads_as_paused(geneva: gd.Drive) -> None:
    workflow = _order(geneva)

    assert (workflow.state, workflow.paused_reason) == ("paused", "waiting_for_event")
    assert (workflow.needs, workflow.paused_step_name) == ("event", "payment")
    assert workflow.paused_at == NOON
    assert workflow.why() == ("Step 'payment' waits for event 'payment.received' with key '17'.")
    assert workflow.resume_options() == {"actions": ["publish", "skip", "cancel"]}
    assert Order.paused().count() == 1
    assert geneva.publish("payment.received", key="18").heard_by().near_misses == [workflow.id]
    with pytest.raises(errors.InvalidStateError) as refusal:
        workflow.resume()
    assert str(refusal.value) == (
        "Cannot resume this workflow: step 'payment' waits for an event or a callback. Publish the "
        "event, as with `geneva publish TYPE`, or pass over the step with skip."
    )


def test_an_event_that_continues_a_workflow_is_a_resume_request(geneva: gd.Drive) -> None:
    workflow = _order(geneva)

    event = geneva.publish("payment.received", key=17, id="pay_1", source="bank")
    drain(geneva)

    [request] = workflow.resume_requests
    assert (request.trigger, request.trigger_id) == ("event", str(event.number))
    assert request.data == {"id": "pay_1", "source": "bank", "type": "payment.received"}
    assert request.executed_at == NOON


def test_an_event_of_before_counts_until_its_time_is_over(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    geneva.publish("payment.received", "late", key=1, ttl=HOUR)
    clock.advance(HOUR)
    geneva.publish("payment.received", "first", key=1)
    geneva.publish("payment.received", "second", key=1)

    workflow = _order(geneva, 1)

    assert ran[1] == "first"
    assert workflow.state == "finished"


def test_an_event_whose_delivery_is_delayed_is_not_heard_by_waits_after_its_time(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    earlier = _order(geneva, 1)
    with geneva.engine.begin() as connection:  # delivered by housekeeping
        geneva.publish("payment.received", "late", key=1, ttl=60, session=connection)
    clock.advance(HOUR)

    later = _order(geneva, 1)

    assert [one.reload().state for one in (earlier, later)] == ["finished", "paused"]


def test_an_event_that_came_in_time_counts_though_its_match_runs_after_the_deadline(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Choosy)
    workflow.pause()
    geneva.publish("offer", 5, ttl=60)
    geneva.publish("offer", 50, ttl=60)
    clock.advance(HOUR)
    drain(geneva)  # passes deadlines, and removes old events
    geneva.publish("offer", 500)
    workflow.resume()
    drain(geneva)

    assert ran == [50]
    assert workflow.reload().state == "finished"


class Choosy(gd.Workflow[Any]):
    type_name = "test_event_waits.Choosy"

    @gd.wait_for_event(
        "offer", match=lambda self, event: event.payload > 10, timeout=HOUR, on_timeout="continue"
    )
    def offer(self, event: gd.Event) -> None:
        ran.append(event.payload)


def test_an_event_is_heard_by_every_workflow_that_waits_for_it(geneva: gd.Drive) -> None:
    workflows = [_order(geneva, 5) for _ in range(3)]

    event = geneva.publish("payment.received", key=5)

    assert sorted(event.continued) == sorted(one.id for one in workflows)


def test_a_held_workflow_hears_the_event_and_continues_when_resumed(geneva: gd.Drive) -> None:
    workflow = _order(geneva)
    workflow.pause("audit")

    geneva.publish("payment.received", "paid", key=17)
    assert drain(geneva) == 0
    assert [one.executed_at for one in workflow.resume_requests] == [None]
    workflow.resume()
    drain(geneva)

    assert ran[1] == "paid"
    assert workflow.reload().state == "finished"


def test_a_wait_that_is_skipped_or_canceled_hears_nothing(geneva: gd.Drive) -> None:
    skipped, canceled = _order(geneva), _order(geneva)
    skipped.skip()
    canceled.cancel()

    event = geneva.publish("payment.received", key=17)
    drain(geneva)

    assert event.continued == ()
    assert ran == ["place", "place", None]


def test_a_rewound_wait_waits_for_another_event(geneva: gd.Drive) -> None:
    workflow = _order(geneva)
    geneva.publish("payment.received", "wrong", key=17)
    workflow.reload().rewind("payment")
    drain(geneva)

    assert workflow.reload().paused_reason == "waiting_for_event"
    geneva.publish("payment.received", "right", key=17)
    drain(geneva)

    assert ran[1:2] == ["right"]


def test_an_event_that_a_held_workflow_heard_has_no_effect_once_it_is_canceled(
    geneva: gd.Drive,
) -> None:
    workflow = _order(geneva)
    workflow.pause()
    geneva.publish("payment.received", key=17)

    workflow.reload().cancel()

    [request] = workflow.resume_requests
    assert request.executed_at is None
    assert request.error == ("Its execution was canceled or skipped before the workflow continued.")


class Failing(gd.Workflow[Any]):
    type_name = "test_event_waits.Failing"

    @gd.wait_for_event("paid", skip_if=lambda self: bool(ran), retry=gd.Retry(max=1))
    def book(self, event: gd.Event) -> None:
        ran.append(event.payload)
        if self.attempt == 1:
            raise RuntimeError("not yet")


def test_a_new_attempt_after_the_body_raised_gets_the_same_event(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Failing)
    geneva.publish("paid", "first")
    drain(geneva)
    geneva.publish("paid", "second")
    clock.advance(HOUR)
    drain(geneva)

    assert ran == ["first", "first"]
    assert workflow.reload().state == "finished"


def test_events_and_waits_have_uuids_where_the_tables_do(uuid_drive: gd.Drive) -> None:
    workflows = [
        Order.using(uuid_drive).create(context={"number": 1}),
        Invoice.using(uuid_drive).create(context={"above": 1}),
    ]
    uuid_drive.publish("invoice.sent", {"net": 1})
    drain(uuid_drive)
    uuid_drive.publish("payment.received", "paid", key=1)
    uuid_drive.publish("invoice.sent", {"net": 2})
    drain(uuid_drive)

    assert ran == ["place", ("invoice.sent", 2), "paid", ("payment.received", "1", "paid")]
    assert {one.reload().state for one in workflows} == {"finished"}


class Invoice(gd.Workflow[Any]):
    type_name = "test_event_waits.Invoice"

    @gd.wait_for_event(
        ["invoice.*", "order.paid"],
        match=lambda self, event: event.payload["net"] > self.context["above"],
        retry=gd.Retry(max=1, backoff=1),
    )
    def large(self, event: gd.Event) -> None:
        ran.append((event.type, event.payload["net"]))


def test_a_match_chooses_among_the_events_of_before_and_of_later(geneva: gd.Drive) -> None:
    for net in (1, 2):
        geneva.publish("invoice.sent", {"net": net})
    workflow = reach(geneva, Invoice, context={"above": 10})
    geneva.publish("invoice.", {"net": 9})
    geneva.publish("invoices", {"net": 90})
    drain(geneva)
    assert (ran, workflow.reload().state) == ([], "paused")

    geneva.publish("order.paid", {"net": 11})
    geneva.publish("invoice.sent", {"net": 12})
    drain(geneva)

    assert ran == [("order.paid", 11)]
    assert workflow.reload().state == "finished"
    assert [one.trigger for one in workflow.resume_requests] == ["event"]


def test_a_match_that_raises_goes_through_the_policy_and_harms_no_other_wait(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    bad = reach(geneva, Invoice, context={})
    good = reach(geneva, Invoice, context={"above": 1})

    geneva.publish("invoice.sent", {"net": 2})
    drain(geneva)
    clock.advance(HOUR)
    drain(geneva)

    assert good.reload().state == "finished"
    assert bad.reload().state == "paused"
    assert last(bad).error_class == "builtins.KeyError"


def test_a_step_that_is_skipped_after_its_match_failed_no_longer_waits(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    bad = reach(geneva, Invoice, context={})
    geneva.publish("invoice.sent", {"net": 2})
    drain(geneva)
    clock.advance(HOUR)
    drain(geneva)

    bad.reload().skip(actor="olga")

    with geneva.store.reading() as connection:
        assert geneva.store.event_waits.open_of(connection, bad.id) == []
        assert geneva.store.event_waits.listening(connection, ["invoice.*"], "") == []


class Both(gd.Workflow[Any]):
    type_name = "test_event_waits.Both"

    @gd.wait_for_event(
        ["goods.packed", "bill.paid"],
        mode="all",
        key="1",
        timeout=HOUR,
        on_timeout="remind",
    )
    def both(self, events: list[gd.Event]) -> None:
        ran.append([event.type for event in events])

    @gd.task(depends_on="both")
    def remind(self) -> None:
        ran.append("remind")

    @gd.task(depends_on="both")
    def ship(self) -> None:
        ran.append([event.payload for event in self.result_of("both")])


def test_mode_all_needs_an_event_of_each_type(geneva: gd.Drive) -> None:
    geneva.publish("bill.paid", "b", key=1)
    workflow = reach(geneva, Both)
    assert workflow.why() == (
        "Step 'both' waits for events 'goods.packed' and 'bill.paid' with key '1', until "
        "2026-03-01 13:00:00 UTC."
    )
    geneva.publish("bill.paid", "again", key=1)
    assert drain(geneva) == 0

    geneva.publish("goods.packed", "g", key=1)
    drain(geneva)

    assert ran == [["goods.packed", "bill.paid"], ["g", "b"]]
    assert ("remind", "skipped", "skipped_by_branch") in history(workflow)


def test_a_task_can_follow_a_deadline(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(geneva, Both)
    geneva.publish("bill.paid", key=1)
    clock.advance(HOUR)
    assert geneva.publish("goods.packed", key=1).continued == ()
    drain(geneva)

    assert ran == ["remind"]
    assert ("both", "completed", "timed_out") in history(workflow)
    assert workflow.reload().state == "finished"


class Deadline(gd.Workflow[Any]):
    type_name = "test_event_waits.Deadline"

    @gd.wait_for_event("a", timeout=lambda self: self.context.get("timeout", HOUR))
    def pauses(self, event: gd.Event) -> None:
        ran.append("pauses")

    @gd.wait_for_event("b", timeout=HOUR, on_timeout="continue")
    def continues(self, event: gd.Event) -> None:
        ran.append("continues")

    @gd.wait_for_event("c", timeout=HOUR, on_timeout="cancel")
    def cancels(self, event: gd.Event) -> None:
        ran.append(self.result_of("continues"))


def test_each_on_timeout(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(geneva, Deadline)
    clock.advance(HOUR)
    drain(geneva)
    assert history(workflow)[-1] == ("pauses", "failed", "timed_out")
    assert (workflow.reload().state, workflow.needs) == ("paused", "operator")
    workflow.resume()
    drain(geneva)
    assert workflow.reload().paused_reason == "waiting_for_event"
    geneva.publish("a")
    drain(geneva)

    for _ in range(2):
        clock.advance(HOUR)
        drain(geneva)

    assert ran == ["pauses"]
    assert history(workflow)[-2:] == [
        ("continues", "completed", "timed_out"),
        ("cancels", "completed", "timed_out"),
    ]
    assert workflow.reload().state == "canceled"
    assert "because the wait of step 'cancels' timed out" in workflow.why()
    assert [one.trigger for one in workflow.resume_requests] == [
        "timeout",
        "manual",
        "event",
        "timeout",
        "timeout",
    ]


class Twice(gd.Workflow[Any]):
    type_name = "test_event_waits.Twice"

    @gd.wait_for_event("ping")
    def first(self, event: gd.Event) -> None:
        ran.append(("first", event.payload))

    @gd.wait_for_event("p*", depends_on=[])
    def second(self, event: gd.Event) -> None:
        ran.append(("second", event.payload))


def test_an_event_satisfies_one_wait_of_a_workflow(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Twice)

    geneva.publish("ping", 1)
    drain(geneva)
    assert ran == [("first", 1)]
    geneva.publish("ping", 2)
    drain(geneva)

    assert ran == [("first", 1), ("second", 2)]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize("value", [None, True, ["a"], "", "x" * 192])
def test_a_key_that_is_none_goes_through_the_policy_of_the_node(
    geneva: gd.Drive, value: Any
) -> None:
    workflow = _order(geneva, value)

    assert workflow.state == "paused"
    assert str(last(workflow).error_message).startswith("key must")


@pytest.mark.parametrize(
    ("types", "given", "message"),
    [
        ("a b", {}, "The type must not contain blanks, and '*' only at its end, got 'a b'."),
        ("a*b", {}, "The type must not contain blanks, and '*' only at its end, got 'a*b'."),
        ([], {}, "The type must be the type of an event or a list of these, got []."),
        ("a", {"mode": "some"}, "mode must be 'any' or 'all', got 'some'."),
        ("a", {"match": 1}, "match takes a function of self and the event, not 1."),
        ("a", {"match": lambda self: 1}, "is called with (self, event)"),
        ("a", {"on_timeout": "cancel"}, "on_timeout='cancel' needs timeout"),
        ("a", {"timeout": 5, "on_timeout": 1}, "on_timeout takes 'pause', 'continue', 'cancel' or"),
        ("a", {"timeout": 0}, "timeout must be longer than zero"),
        ("a", {"keep_result": True}, "keep_result is not an option of an event wait"),
        ("a", {"typo": 1}, "there is no option 'typo'."),
    ],
)
def test_terms_that_make_no_sense_are_refused(
    types: Any, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(errors.StepConfigurationError) as refusal:
        gd.wait_for_event(types, **given)(lambda self, event: None)

    assert message in str(refusal.value)
