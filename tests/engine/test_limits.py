"""An execution gets a slot of each of its limits, or waits for one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.states import StepState
from geneva_drive.testing import crash_after, drain, expire_leases, perform_next_step, speedrun
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from tests.deploys import former_code
from tests.limiting import StillClock, claimable, limits, occupy, parked, slots, states
from tests.looking import error_of, history, last


@pytest.fixture
def clock(geneva: gd.Drive) -> StillClock:
    clock = StillClock()
    geneva.clock = clock
    return clock


class Export(gd.Workflow[Any]):
    type_name = "test_limits.Export"

    @gd.step(limit=gd.Limit(concurrency=1))
    def write(self) -> None: ...

    @gd.step
    def mail(self) -> None: ...


def test_what_finds_no_slot_waits_and_nothing_of_its_body_runs(geneva: gd.Drive) -> None:
    holder, waiter = Export.create(), Export.create()
    occupy(geneva)

    assert drain(geneva) == 0

    assert parked(geneva) == [("write", "test_limits.Export.write")]
    execution = last(waiter.reload())
    assert (waiter.state, execution.state, execution.attempt_number) == ("ready", "scheduled", 1)
    assert (execution.started_at, execution.worker_id) == (None, None)
    assert waiter.started_at is None
    assert holder.reload().state == "performing"


def test_it_asks_again_when_the_slot_is_left(geneva: gd.Drive, clock: StillClock) -> None:
    holder, waiter = Export.create(), Export.create()
    occupy(geneva)
    drain(geneva)

    holder.cancel(force=True)
    clock.advance(5)

    assert drain(geneva) == 2
    assert states(holder, waiter) == ["canceled", "finished"]
    assert history(waiter) == [("write", "completed", "success"), ("mail", "completed", "success")]


def test_a_slot_that_is_left_while_another_is_being_refused_is_not_overlooked(
    geneva: gd.Drive, clock: StillClock
) -> None:
    holder, waiter = Export.create(), Export.create()
    occupy(geneva)

    def leave(event: gd.TelemetryEvent) -> None:
        # Told between the commit that parked the waiter and the look that follows it.
        if event.workflow_id == waiter.id and event.to_state == "scheduled":
            holder.cancel(force=True)

    unsubscribe = geneva.events.subscribe(leave)
    drain(geneva)
    unsubscribe()

    assert states(holder, waiter) == ["canceled", "finished"]


def test_what_has_its_slot_waits_for_no_limit_any_more(geneva: gd.Drive, clock: StillClock) -> None:
    seen: list[Any] = []
    table = geneva.store.tables.step_executions

    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def load(self) -> None:
            with geneva.store.reading() as connection:
                mine = select(table.c.limit_key).where(table.c.workflow_id == self.id)
                seen.append(connection.scalar(mine))

    holder, _ = Load.create(), Load.create()
    occupy(geneva)
    drain(geneva)
    holder.cancel(force=True)
    clock.advance(5)
    drain(geneva)

    assert seen == [None]


def test_a_turn_that_its_owner_does_not_take_goes_to_the_next_within_seconds(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="1/d"))
        def send(self) -> None: ...

    _, canceled, next_one = Mail.create(), Mail.create(), Mail.create()
    drain(geneva)
    clock.advance(86_400)
    assert LimitWaiters(geneva.environment).wake_due() == 1
    canceled.cancel()

    clock.advance(5)
    drain(geneva)

    assert next_one.reload().state == "finished"


def test_the_most_urgent_is_let_go_first_and_then_the_oldest(
    geneva: gd.Drive, clock: StillClock
) -> None:
    ran: list[str] = []

    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def load(self) -> None:
            ran.append(self.context["name"])

    holder = Load.create(priority=9)
    occupy(geneva)
    for name, priority in (("old", 0), ("young", 0), ("urgent", 5)):
        Load.create(context={"name": name}, priority=priority)
    drain(geneva)
    assert len(parked(geneva)) == 3

    holder.cancel(force=True)
    clock.advance(5)
    drain(geneva)

    assert ran == ["urgent", "old", "young"]


def test_steps_without_a_key_have_each_a_limit_of_their_own(geneva: gd.Drive) -> None:
    class Import(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def write(self) -> None: ...

    Export.create()
    occupy(geneva)
    free = Import.create()

    drain(geneva)

    assert free.reload().state == "finished"
    assert limits(geneva) == {"Import.write": (1, None), "test_limits.Export.write": (1, None)}


def test_steps_with_the_same_key_share_a_limit(geneva: gd.Drive) -> None:
    class Pull(gd.Workflow):
        @gd.step(limit=gd.Limit(key="crm", concurrency=1))
        def pull(self) -> None: ...

    class Push(gd.Workflow):
        @gd.step(limit=gd.Limit(key="crm", concurrency=1))
        def push(self) -> None: ...

    Pull.create()
    occupy(geneva)
    Push.create()

    drain(geneva)

    assert parked(geneva) == [("push", "crm")]


def test_keys_of_a_callable_are_independent(geneva: gd.Drive) -> None:
    class Charge(gd.Workflow):
        @gd.step(limit=gd.Limit(key=lambda self: f"account-{self.hero_id}", concurrency=1))
        def charge(self) -> None: ...

    def charge(account: str) -> gd.WorkflowHandle[Any]:
        return Charge.create(hero=gd.HeroRef("Account", account), allow_multiple=True)

    charge("7")
    occupy(geneva)
    same, other = charge("7"), charge("8")

    drain(geneva)

    assert states(same, other) == ["ready", "finished"]
    assert parked(geneva) == [("charge", "account-7")]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (lambda self: 1 // 0, ("builtins.ZeroDivisionError", "integer division or modulo by zero")),
        (
            lambda self: 7,
            (
                "geneva_drive.errors.InvalidInput",
                "The limit of step 'load': key must be text, got 7.",
            ),
        ),
        (
            lambda self: "queue:default",
            (
                "geneva_drive.errors.InvalidInput",
                "The limit of step 'load': key must not begin with 'queue:', got 'queue:default'.",
            ),
        ),
    ],
    ids=["that raises", "that gives no text", "that gives a queue's"],
)
def test_a_key_goes_through_the_steps_policy(
    geneva: gd.Drive, key: Callable[[Any], Any], error: tuple[str, str]
) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(key=key, concurrency=1), on_exception="skip")
        def load(self) -> None: ...

    workflow = Load.create()

    assert drain(geneva) == 1
    assert workflow.reload().state == "finished"
    assert history(workflow) == [("load", "skipped", "skipped_by_exception")]
    assert error_of(last(workflow)) == error


def test_a_key_may_use_the_verbs_of_flow_control(geneva: gd.Drive) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(key=lambda self: self.skip(), concurrency=1))
        def load(self) -> None: ...

    workflow = Load.create()
    drain(geneva)

    assert history(workflow) == [("load", "skipped", "skipped_by_flow_control")]


def test_a_reattempt_waits_for_a_slot_like_any_other(geneva: gd.Drive, clock: StillClock) -> None:
    ran: list[str] = []

    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(key="crm", concurrency=1))
        def load(self) -> None:
            ran.append(self.context["name"])
            if len(ran) == 1:
                self.reattempt()

    for name in ("first", "second"):
        Load.create(context={"name": name})
    drain(geneva)

    assert sorted(ran) == ["first", "first", "second"]
    # One that is over is let go when the next one asks.
    assert slots(geneva) == ["crm"]


def test_a_step_with_a_transaction_keeps_to_its_limit(geneva: gd.Drive) -> None:
    class Book(gd.Workflow):
        @gd.step(transaction=True, limit=gd.Limit(key="ledger", concurrency=1))
        def book(self, session: Any) -> None: ...

    Book.create()
    occupy(geneva)
    waiter = Book.create()
    drain(geneva)
    assert parked(geneva) == [("book", "ledger")]

    speedrun(waiter)

    assert (waiter.state, parked(geneva)) == ("finished", [])


class TestQueues:
    """A queue's limit is a setting, and holds for all that is on it."""

    @pytest.fixture
    def drive(self, geneva: gd.Drive) -> gd.Drive:
        limit = {"mail": gd.Limit(concurrency=1)}
        return gd.Drive(geneva.engine, queue_limits=limit)

    def test_what_is_on_the_queue_shares_its_slots(self, drive: gd.Drive) -> None:
        class Letter(gd.Workflow):
            @gd.step(queue="mail")
            def post(self) -> None: ...

        class Parcel(gd.Workflow):
            queue = "mail"

            @gd.step
            def post(self) -> None: ...

        Letter.using(drive).create()
        occupy(drive)
        Parcel.using(drive).create()

        drain(drive)

        assert parked(drive) == [("post", "queue:mail")]

    def test_other_queues_are_free(self, drive: gd.Drive) -> None:
        class Letter(gd.Workflow):
            @gd.step(queue="mail")
            def post(self) -> None: ...

        Letter.using(drive).create()
        occupy(drive)
        elsewhere = Letter.using(drive).create(queue="courier")

        drain(drive)

        assert (elsewhere.reload().state, parked(drive)) == ("finished", [])

    def test_a_step_needs_a_slot_of_its_own_limit_and_of_its_queues(self, drive: gd.Drive) -> None:
        class Letter(gd.Workflow):
            @gd.step(queue="mail")
            def post(self) -> None: ...

        class Bill(gd.Workflow):
            @gd.step(queue="mail", limit=gd.Limit(key="printer", concurrency=1))
            def post(self) -> None: ...

            @gd.step(limit=gd.Limit(key="printer", concurrency=1))
            def file(self) -> None: ...

        letter = Letter.using(drive).create()
        occupy(drive)
        bill = Bill.using(drive).create()
        drain(drive)
        assert (parked(drive), slots(drive)) == ([("post", "queue:mail")], ["queue:mail"])

        letter.cancel(force=True)
        LimitWaiters(drive.environment).wake_for(["queue:mail"])
        drain(drive)

        assert bill.reload().state == "finished"

    def test_while_it_waits_for_one_limit_it_takes_nothing_of_the_other(
        self, drive: gd.Drive
    ) -> None:
        class Bill(gd.Workflow):
            @gd.step(queue="mail", limit=gd.Limit(key="printer", concurrency=1))
            def post(self) -> None: ...

        class Poster(gd.Workflow):
            @gd.step(limit=gd.Limit(key="printer", concurrency=1))
            def print(self) -> None: ...

        class Letter(gd.Workflow):
            @gd.step(queue="mail")
            def post(self) -> None: ...

        Poster.using(drive).create()
        occupy(drive)
        Bill.using(drive).create()
        letter = Letter.using(drive).create()

        drain(drive)

        assert (parked(drive), letter.reload().state) == ([("post", "printer")], "finished")


def parked_export(drive: gd.Drive) -> tuple[gd.WorkflowHandle[Any], gd.WorkflowHandle[Any]]:
    """Give an export that runs elsewhere, and one that waits for its slot."""
    holder, waiter = Export.create(), Export.create()
    occupy(drive)
    drain(drive)
    assert parked(drive) == [("write", "test_limits.Export.write")]
    return holder, waiter


class TestCommands:
    """What waits for a limit can be commanded like anything that is scheduled."""

    def test_a_paused_one_waits_for_nothing_but_its_resumption(
        self, geneva: gd.Drive, clock: StillClock
    ) -> None:
        holder, waiter = parked_export(geneva)

        waiter.pause()
        holder.cancel(force=True)
        clock.advance(5)
        assert (drain(geneva), parked(geneva)) == (0, [])

        waiter.resume()
        assert drain(geneva) == 2
        assert waiter.reload().state == "finished"

    def test_one_that_is_resumed_asks_again_and_waits_again(self, geneva: gd.Drive) -> None:
        _, waiter = parked_export(geneva)

        waiter.pause()
        waiter.resume()
        drain(geneva)

        assert parked(geneva) == [("write", "test_limits.Export.write")]

    def test_a_canceled_one_is_over(self, geneva: gd.Drive, clock: StillClock) -> None:
        holder, waiter = parked_export(geneva)

        waiter.cancel()
        holder.cancel(force=True)
        clock.advance(5)

        assert (drain(geneva), parked(geneva)) == (0, [])
        assert history(waiter) == [("write", "canceled", "canceled_by_operator")]

    def test_a_skipped_one_goes_on_behind_the_limit(self, geneva: gd.Drive) -> None:
        _, waiter = parked_export(geneva)

        waiter.skip()

        assert drain(geneva) == 1
        assert history(waiter) == [
            ("write", "skipped", "skipped_by_operator"),
            ("mail", "completed", "success"),
        ]

    def test_one_may_be_sent_elsewhere(self, geneva: gd.Drive) -> None:
        _, waiter = parked_export(geneva)

        waiter.resume_at(Export.mail)

        assert drain(geneva) == 1
        assert waiter.reload().state == "finished"

    def test_a_pause_asked_for_while_it_was_refused_takes_effect(self, geneva: gd.Drive) -> None:
        Export.create()
        occupy(geneva)

        class Careful(gd.Workflow):
            @gd.step(limit=gd.Limit(key=lambda self: self._ask(), concurrency=1))
            def load(self) -> None: ...

            def _ask(self) -> str:
                self.handle.pause()
                return "test_limits.Export.write"

        careful = Careful.create()
        drain(geneva)

        assert (careful.reload().state, parked(geneva)) == ("paused", [])
        assert last(careful).state is StepState.SCHEDULED


def test_the_slot_of_a_dead_worker_comes_back_with_its_execution(geneva: gd.Drive) -> None:
    holder, waiter = parked_export(geneva)

    expire_leases(geneva)
    drain(geneva)

    assert states(holder, waiter) == ["finished", "finished"]
    assert history(holder) == [
        ("write", "failed", "recovered"),
        ("write", "completed", "success"),
        ("mail", "completed", "success"),
    ]
    assert slots(geneva) == ["test_limits.Export.write"]


def test_a_worker_that_dies_in_the_body_leaves_no_slot_behind(geneva: gd.Drive) -> None:
    first, second = Export.create(), Export.create()
    with crash_after("body"):
        drain(geneva)

    drain(geneva)

    assert states(first, second) == ["finished", "finished"]


def test_being_parked_counts_neither_as_attempt_nor_as_recovery_nor_as_failure(
    geneva: gd.Drive, clock: StillClock
) -> None:
    holder, waiter = parked_export(geneva)
    for _ in range(5):
        LimitWaiters(geneva.environment).wake_for(["test_limits.Export.write"])
        clock.advance(5)
        drain(geneva)
    holder.cancel(force=True)
    clock.advance(5)

    perform_next_step(waiter)

    execution = waiter.step_executions[0]
    assert (execution.attempt_number, execution.state) == (1, "completed")
    assert waiter.audit_entries == []


def test_what_waited_for_a_limit_that_is_no_more_runs(geneva: gd.Drive, clock: StillClock) -> None:
    with former_code():

        class Load(gd.Workflow):
            @gd.step(limit=gd.Limit(concurrency=1))
            def load(self) -> None: ...

        holder, waiter = Load.create(), Load.create()
        occupy(geneva)
        drain(geneva)
        assert parked(geneva) == [("load", "Load.load")]

    class Load(gd.Workflow):  # type: ignore[no-redef]
        @gd.step
        def load(self) -> None: ...

    holder.cancel(force=True)
    clock.advance(5)
    drain(geneva)

    assert (waiter.reload().state, parked(geneva)) == ("finished", [])


def test_what_nobody_runs_does_not_stand_in_the_way_of_what_a_worker_serves(
    geneva: gd.Drive,
) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(key="crm", concurrency=1))
        def load(self) -> None: ...

    holder = Load.create()
    occupy(geneva)
    for queue in ("elsewhere", "elsewhere", "here", "here"):
        Load.create(queue=queue)
    drain(geneva)
    assert len(parked(geneva)) == 4
    holder.cancel(force=True)

    # One slot: while the first that was let go has not been claimed, no other is.
    woken = [LimitWaiters(geneva.environment, ["here"]).wake_for(["crm"]) for _ in range(2)]

    assert woken == [1, 0]
    assert claimable(geneva) == ["here"]
    assert LimitWaiters(geneva.environment, ["elsewhere"]).wake_for(["crm"]) == 1
    assert claimable(geneva) == ["elsewhere", "here"]


def test_who_serves_nothing_that_waits_lets_the_others_go(geneva: gd.Drive) -> None:
    holder, _ = parked_export(geneva)
    holder.cancel(force=True)

    assert (
        LimitWaiters(geneva.environment, ["elsewhere"]).wake_for(["test_limits.Export.write"]) == 1
    )
    assert parked(geneva) == []


def test_limits_that_nobody_uses_are_pruned(geneva: gd.Drive, clock: StillClock) -> None:
    class Charge(gd.Workflow):
        @gd.step(limit=gd.Limit(key=lambda self: self.context["key"], rate="1/30d"))
        def charge(self) -> None: ...

    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit(key=lambda self: self.context["key"], concurrency=1))
        def load(self) -> None: ...

    Charge.create(context={"key": "monthly"})
    Load.create(context={"key": "idle"})
    drain(geneva)
    Load.create(context={"key": "running"})
    occupy(geneva)
    clock.advance(2 * 86_400)
    Load.create(context={"key": "recent"})
    drain(geneva)

    geneva.prune(older_than=86_400)

    assert list(limits(geneva)) == ["monthly", "recent", "running"]
    assert slots(geneva) == ["monthly", "recent", "running"]


def test_who_waits_on_a_queue_of_others_is_told_that_a_slot_is_free(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit("dock", concurrency=1))
        def load(self) -> None: ...

    class Unload(gd.Workflow):
        @gd.step(limit=gd.Limit("dock", concurrency=1), queue="yard")
        def unload(self) -> None: ...

    holder, _, bell = Load.create(), Unload.create(), threading.Event()
    occupy(geneva)
    drain(geneva)
    holder.cancel(force=True)
    leave = geneva.environment.wakeups.listen(bell)

    assert LimitWaiters(geneva.environment, ["default"]).wake_for(["dock"]) == 1
    leave()
    assert bell.is_set()


def test_who_waits_on_a_queue_of_ours_is_looked_for_anyway(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Load(gd.Workflow):
        @gd.step(limit=gd.Limit("dock", concurrency=1))
        def load(self) -> None: ...

    holder, _, bell = Load.create(), Load.create(), threading.Event()
    occupy(geneva)
    drain(geneva)
    holder.cancel(force=True)
    leave = geneva.environment.wakeups.listen(bell)

    assert LimitWaiters(geneva.environment, ["default"]).wake_for(["dock"]) == 1
    leave()
    assert not bell.is_set()
