"""What a workflow waits for, in one sentence."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.engine.recovery.lost_workers import recover
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.testing import crash_after, drain, expire_leases, perform_next_step, speedrun
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from geneva_drive.worker.identity import Identity
from tests.limiting import occupy
from tests.looking import last
from tests.looping import importing, through


class StandingClock:
    """Time that a test can spell out."""

    moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def clock(geneva: gd.Drive) -> StandingClock:
    clock = StandingClock()
    geneva.clock = clock
    return clock


class Delivery(gd.Workflow[Any]):
    type_name = "test_why.Delivery"
    queue = "mail"

    @gd.step
    def pack(self) -> None:
        if self.context.get("torn"):
            raise ValueError("torn\nand wet")

    @gd.step(wait=timedelta(hours=26))
    def ship(self) -> None: ...


def announce_worker(drive: gd.Drive, *, queues: list[str] | None, types: list[str]) -> None:
    store = drive.store
    store.write(
        lambda connection: store.workers.register(
            connection,
            "a worker",
            name="a worker",
            queues=queues,
            signatures=dict.fromkeys(types, definition_of(Delivery).signature),
        )
    )


def test_a_finished_workflow_waits_for_nothing(geneva: gd.Drive, clock: StandingClock) -> None:
    assert speedrun(Delivery.create()).why() == (
        "It finished at 2026-03-01 12:00:00 UTC; nothing is left to do."
    )


def test_a_canceled_workflow_waits_for_nothing(geneva: gd.Drive, clock: StandingClock) -> None:
    assert Delivery.create().cancel().why() == (
        "It was canceled at 2026-03-01 12:00:00 UTC; nothing is left to do."
    )


def test_who_canceled_a_workflow_is_named_with_the_reason(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    canceled = Delivery.create().cancel(reason="customer left", actor="ada")

    assert canceled.why() == (
        "It was canceled at 2026-03-01 12:00:00 UTC by ada (customer left); nothing is left to do."
    )


def test_a_step_that_canceled_its_workflow_is_named(geneva: gd.Drive, clock: StandingClock) -> None:
    class Parcel(gd.Workflow):
        @gd.step(on_exception="cancel")
        def label(self) -> None:
            raise PermissionError("no stamps")

    class Letter(gd.Workflow):
        @gd.step
        def write(self) -> None:
            self.cancel()

    class Card(gd.Workflow):
        @gd.cancel_if
        def is_late(self) -> bool:
            return True

        @gd.step
        def post(self) -> None: ...

    class Crate(gd.Workflow):
        @gd.task(on_exception="cancel")
        def nail(self) -> None:
            raise PermissionError("no nails")

        @gd.task(wait=timedelta(hours=1))
        def paint(self) -> None: ...

    handles = [one.create() for one in (Parcel, Letter, Card, Crate)]
    drain(geneva)
    told = [handle.why() for handle in handles]

    at, end = "It was canceled at 2026-03-01 12:00:00 UTC", "nothing is left to do."
    assert told == [
        f"{at} by step 'label' (PermissionError: no stamps); {end}",
        f"{at} by step 'write'; {end}",
        f"{at} by cancel_if, when step 'post' was due; {end}",
        f"{at} by step 'nail' (PermissionError: no nails); {end}",
    ]


def test_it_is_said_what_holds_now_whenever_the_handle_was_read(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    class Errand(gd.Workflow):
        @gd.step
        def run(self) -> None: ...

    errand = Errand.create()
    drain(geneva)

    assert errand.why() == "It finished at 2026-03-01 12:00:00 UTC; nothing is left to do."
    assert errand.state == "ready"


def test_a_workflow_that_nobody_can_read_is_told_of_as_it_was(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    finished = speedrun(Delivery.create())
    clock.moment += timedelta(days=2)
    geneva.prune(older_than=timedelta(days=1))

    assert finished.why() == "It finished at 2026-03-01 12:00:00 UTC; nothing is left to do."


def test_a_workflow_that_was_paused_waits_for_somebody_to_resume_it(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    assert Delivery.create().pause(reason="stock-taking").why() == (
        "It has been paused since 2026-03-01 12:00:00 UTC (stock-taking): `resume` runs "
        "step 'pack'; `skip` leaves it out."
    )


def test_a_pause_without_a_reason_gives_none(geneva: gd.Drive, clock: StandingClock) -> None:
    assert Delivery.create().pause().why() == (
        "It has been paused since 2026-03-01 12:00:00 UTC: `resume` runs step 'pack'; `skip` "
        "leaves it out."
    )


def test_a_workflow_that_failed_names_the_error_in_one_line(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    assert speedrun(Delivery.create(context={"torn": True})).why() == (
        "It has been paused since 2026-03-01 12:00:00 UTC (ValueError: torn): `resume` "
        "runs step 'pack' again; `skip` leaves it out."
    )


def test_a_workflow_with_a_wait_tells_how_long(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = Delivery.create()
    perform_next_step(workflow)

    assert workflow.why() == "Step 'ship' runs at 2026-03-02 14:00:00 UTC, in 1d 2h."


class Mail(gd.Workflow[Any]):
    type_name = "test_why.Mail"

    @gd.step(retry=gd.Retry(max=5, backoff=timedelta(minutes=1)))
    def send(self) -> None:
        if self.context.get("asked"):
            self.reattempt(wait=30)
        raise ConnectionError("the mail server is down.\nTry again.")


def test_the_next_attempt_at_a_step_names_the_error_of_the_one_before(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    mail = Mail.create()
    perform_next_step(mail)
    perform_next_step(mail)
    later = mail.why()
    clock.moment += timedelta(minutes=5)

    assert later == (
        "Step 'send' runs again at 2026-03-01 12:01:00 UTC, in 1m: attempt 3, after "
        "ConnectionError: the mail server is down."
    )
    assert mail.why() == (
        "Step 'send' is due, but no running worker serves test_why.Mail on queue 'default': start "
        "`geneva worker` with an app that imports the class. This is attempt 3, after "
        "ConnectionError: the mail server is down."
    )


def test_the_next_attempt_that_a_body_asked_for_has_no_error_to_name(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    mail = Mail.create(context={"asked": True})
    perform_next_step(mail)

    assert mail.why() == ("Step 'send' runs again at 2026-03-01 12:00:30 UTC, in 30s: attempt 2.")


def test_the_next_attempt_at_a_step_of_a_lost_worker_names_the_worker(geneva: gd.Drive) -> None:
    errand = _running_on_a_box(geneva)
    expire_leases(geneva)
    recover(geneva.environment)
    announce_worker(geneva, queues=None, types=[str(errand.type)])

    assert errand.why() == (
        "Step 'run' is due and waits for a free worker on queue 'default'. This is attempt 2 "
        "(Worker box:7 was lost)."
    )


def test_a_due_step_that_no_worker_serves_says_what_to_start(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    assert Delivery.create().why() == (
        "Step 'pack' is due, but no running worker serves test_why.Delivery on queue 'mail': "
        "start `geneva worker` with an app that imports the class."
    )


def test_a_due_step_that_only_its_queue_keeps_waiting_names_the_queue_to_serve(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    announce_worker(geneva, queues=["default"], types=["test_why.Delivery"])

    assert Delivery.create().why() == (
        "Step 'pack' is due, but no running worker serves test_why.Delivery on queue 'mail': "
        "start one that serves this queue, with --queues mail."
    )


@pytest.mark.parametrize(
    ("queues", "types", "is_served"),
    [
        (None, ["test_why.Delivery"], True),
        (["mail"], ["test_why.Delivery"], True),
        (["other"], ["test_why.Delivery"], False),
        (None, ["Other"], False),
    ],
    ids=["all queues", "this queue", "another queue", "another class"],
)
def test_a_due_step_waits_for_a_worker_that_serves_it(
    geneva: gd.Drive,
    clock: StandingClock,
    queues: list[str] | None,
    types: list[str],
    is_served: bool,
) -> None:
    announce_worker(geneva, queues=queues, types=types)

    waits = "Step 'pack' is due and waits for a free worker on queue 'mail'."
    assert (Delivery.create().why() == waits) is is_served


@pytest.mark.parametrize(
    ("command", "then"),
    [
        (lambda workflow: None, "."),
        (lambda workflow: workflow.pause(), "; afterwards the workflow pauses."),
        (lambda workflow: workflow.cancel(), "; afterwards the workflow is canceled."),
    ],
    ids=["nothing", "pause", "cancel"],
)
def test_a_running_step_tells_what_was_asked_for_meanwhile(
    geneva: gd.Drive, clock: StandingClock, command: Any, then: str
) -> None:
    told: list[str] = []

    class Look(gd.Workflow):
        @gd.step
        def look(self) -> None:
            command(self.handle)
            told.append(gd.Workflow.find(self.id).why())

    speedrun(Look.create())

    assert told == [f"Step 'look' has been running since 2026-03-01 12:00:00 UTC{then}"]


def test_a_ready_workflow_without_any_execution_says_how_to_go_on(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = Delivery.create()
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(table.delete().where(table.c.id == last(workflow).id))

    assert workflow.reload().why() == (
        "It is ready, but nothing is scheduled; a worker with its class will schedule it, "
        "and `resume_at` chooses the step."
    )


def _running_on_a_box(drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    """Create a workflow whose step is under way on another worker."""

    class Errand(gd.Workflow):
        @gd.step
        def run(self) -> None: ...

    errand = Errand.create()
    identity = Identity(name="box:7")
    Heartbeat(drive.environment, identity, Flights()).register()
    claim_due(drive.environment, identity, 1)
    return errand


def test_a_step_of_a_silent_worker_is_said_to_be_taken_back(geneva: gd.Drive) -> None:
    errand = _running_on_a_box(geneva)
    expire_leases(geneva)

    assert errand.reload().why() == (
        "Step 'run' was running on worker box:7, which has sent no heartbeat since "
        "2000-01-01 00:00:00 UTC; another worker will take it over."
    )


def test_a_step_of_a_worker_that_misses_heartbeats_may_be_taken_back(
    geneva: gd.Drive,
) -> None:
    errand = _running_on_a_box(geneva)
    workers, lease = geneva.store.tables.workers, geneva.settings.lease
    with geneva.engine.begin() as connection:
        beat = connection.scalar(select(workers.c.heartbeat_at))
        assert beat is not None
        connection.execute(workers.update().values(heartbeat_at=beat - lease / 2))

    told = errand.why()

    assert told.startswith("Step 'run' has been running since ")
    assert re.search(r" on worker box:7, whose last heartbeat was \d\ds ago", told)
    assert told.endswith(" ago (it counts as dead after 1m).")


def test_a_step_that_waits_for_a_limit_tells_which_and_how_full_it_is(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(key="smtp", concurrency=1, rate="100/m"))
        def send(self) -> None: ...

    Mail.create()
    occupy(geneva)
    waiting = [Mail.create(), Mail.create()]
    drain(geneva)

    assert waiting[0].reload().why() == (
        "Step 'send' is due and waits for the limit 'smtp' (1 at once, 100/m): 1 running, "
        "1 started within 1m, 2 waiting."
    )


def test_a_step_that_waits_for_the_rate_of_its_queue_tells_how_many_started(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    drive = gd.Drive(geneva.engine, queue_limits={"mail": gd.Limit(rate="2/h")}, clock=clock)
    workflows = [Delivery.using(drive).create() for _ in range(3)]
    drain(drive)

    assert workflows[2].reload().why() == (
        "Step 'pack' is due and waits for the limit 'queue:mail' (2/h): 2 started within 1h, "
        "1 waiting."
    )


def test_a_step_that_a_limit_has_let_go_waits_for_a_worker(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(key="smtp", concurrency=1))
        def send(self) -> None: ...

    holder, waiting = Mail.create(), Mail.create()
    occupy(geneva)
    drain(geneva)
    holder.cancel(force=True)
    LimitWaiters(geneva.environment).wake_for(["smtp"])

    assert waiting.reload().why() == (
        "Step 'send' is due and waits for a free worker on queue 'default'."
    )


def test_of_a_rewound_loop_it_tells_what_was_done_since(geneva: gd.Drive) -> None:
    workflow = importing(through(range(9), []))
    workflow.rewind("rows", to=4)
    with crash_after(items=3):
        drain(geneva)

    assert workflow.reload().why().endswith(" (2 items done since its rewind).")


@gd.job(name="test_why.call", retry=gd.Retry(max=3, backoff=60))
def call(number: int) -> None:
    if number == 0:
        raise ConnectionError("no answer")


def start_calls(*numbers: int) -> gd.WorkflowHandle[Any]:
    """Start a dynamic workflow whose nodes run at the same time."""
    w = gd.DynamicWorkflow()
    w.fan_out(numbers, name="call_{}", job=call, args=lambda number: {"number": number})
    return w.start()


def test_a_node_that_runs_later_is_counted_beside_more_due_nodes_than_are_named(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = start_calls(0, 1, 2, 3, 4)
    perform_next_step(workflow)

    assert workflow.why() == (
        "4 nodes are due ('call_1', 'call_2', 'call_3', ...), "
        "1 runs later, from 2026-03-01 12:01:00 UTC on."
    )


@pytest.mark.parametrize(
    ("nodes", "due"),
    [
        (["left"], "Step 'left' is due and waits for a free worker on queue 'default'."),
        (["left", "right"], "2 nodes are due ('left', 'right')."),
    ],
    ids=["one", "several"],
)
def test_a_node_whose_job_a_worker_lacks_says_what_to_start(
    geneva: gd.Drive, clock: StandingClock, nodes: list[str], due: str
) -> None:
    announce_worker(geneva, queues=None, types=[""])
    w = gd.DynamicWorkflow()
    w.fan_out(nodes, name="{}", job="test_why.elsewhere")
    workflow = w.start()
    clock.moment += timedelta(seconds=1)

    before = workflow.why()
    drain(geneva)

    assert before == due
    assert workflow.why() == (
        f"{due} A worker that has not imported the job of node 'left' leaves it to others: start "
        f"`geneva worker` with an app that imports it. If none does within ten minutes, the node "
        f"fails."
    )


UNSERVED = (
    "but no running worker serves dynamic workflows on queue 'default': start `geneva worker` "
    "with an app that imports the jobs."
)


@pytest.mark.parametrize(
    ("performed", "due"),
    [
        (2, "2 nodes are due ('call_1', 'call_2')"),
        (4, "3 nodes are due ('call_1', 'call_2', 'call_3')"),
    ],
    ids=["some", "all"],
)
def test_nodes_may_end_between_the_reads_that_name_and_count_them(
    geneva: gd.Drive, clock: StandingClock, performed: int, due: str
) -> None:
    workflow = start_calls(1, 2, 3, 4)
    record, active = read_oldest(geneva, workflow)
    for _ in range(performed):
        perform_next_step(workflow)

    assert geneva.explain(record, active) == f"{due}, {UNSERVED}"


def test_nodes_may_be_taken_back_between_the_reads_that_name_and_count_them(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    record, active = read_oldest(geneva, start_calls(1, 2, 3, 4))
    running = [one._replace(state=gd.StepState.IN_PROGRESS) for one in active]

    assert geneva.explain(record, running) == "4 nodes are due."


def read_oldest(
    drive: gd.Drive, workflow: gd.WorkflowHandle[Any]
) -> tuple[WorkflowRecord, list[ExecutionRecord]]:
    """Read a workflow and the three oldest of its active executions."""
    store = drive.store
    record = store.read(lambda connection: store.workflows.get(connection, workflow.id))
    assert record is not None
    active = store.read(lambda c: store.overviews.oldest_active(c, workflow.id, 3))
    return record, active
