"""The origin's checklist, box by box: each test's docstring quotes the words of one checkbox.

Rails words are read as their Python counterparts: ActiveRecord is SQLAlchemy, a generator is
`migrate()`, an initializer is `gd.configure`, `finished!` is `finish`.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, Table, Uuid, insert, inspect, select
from sqlalchemy.exc import IntegrityError

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.drive import default_drive
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun, time_travel
from tests.heroes import Country, Parcel, User, save
from tests.looking import history, last, waits

CHECKLIST = """
    ActiveRecord-backed workflows (STI)
    Polymorphic hero association
    Step DSL (named and anonymous)
    Wait times between steps
    State machine (ready/performing/finished/canceled/paused)
    Lock-guarded execution
    Single execution guarantee per workflow
    Class-inheritable DSL (steps, cancel_if, job_options)
    Named steps with blocks
    Anonymous steps with auto-naming
    Instance method steps (`step :method_name`)
    Inline method definition (`step def method_name`)
    Step ordering (before_step/after_step)
    skip_if with symbols/callables/booleans
    skip_if evaluated at execution time (not scheduling)
    cancel_if for blanket conditions
    Class-inheritable cancel_if
    cancel! - mark workflow canceled
    pause! - pause for manual intervention
    reattempt! - retry current step with optional wait
    skip! - skip current step, proceed to next
    finished! - mark workflow complete
    resume! - resume paused workflow
    Forward scheduler (enqueue jobs early)
    PerformStepJob for step execution
    set_step_job_options for queue/priority
    Class-inheritable job options
    on_exception: :pause! (default)
    on_exception: :cancel!
    on_exception: :reattempt!
    on_exception: :skip!
    Store error message/backtrace
    One workflow per hero by default
    allow_multiple flag for concurrent workflows
    Database-enforced constraints (PostgreSQL, MySQL, SQLite)
    State scopes (ready, paused, finished, etc.)
    for_hero scope
    active scope
    before_step_starts(step_name)
    Generator for installation
    Migration templates with database detection
    Schema analyzer for PK type detection
    Configuration initializer
    Step execution history preserved
    Outcome column for debugging
    Error message/backtrace storage
    speedrun_workflow helper
    Reload between steps in tests
"""


def test_every_checkbox_has_a_test_that_names_it() -> None:
    boxes = [line.strip() for line in CHECKLIST.strip().splitlines()]
    tests = [value for name, value in vars(sys.modules[__name__]).items() if name[:5] == "test_"]
    quoted = [test.__doc__ for test in tests if test.__doc__]

    assert len(boxes) == 48
    assert sorted(quoted) == sorted(boxes)


class Delivery(gd.Workflow[Any]):
    type_name = "parity.Delivery"

    @gd.step
    def pack(self) -> None:
        if self.context.get("torn"):
            raise ValueError("torn")

    @gd.step
    def ship(self) -> None: ...


def one_step(body: Callable[[Any], object], **options: Any) -> gd.WorkflowHandle[Any]:
    """Perform the first of two steps, which has this body."""

    class TwoSteps(gd.Workflow):
        @gd.step(**options)
        def first(self) -> None:
            body(self)

        @gd.step
        def second(self) -> None: ...

    workflow = TwoSteps.create()
    perform_next_step(workflow)
    return workflow


def test_workflows_are_rows_of_one_table_told_apart_by_type(geneva: gd.Drive) -> None:
    """ActiveRecord-backed workflows (STI)"""

    class Express(Delivery): ...

    Delivery.create()
    Express.create()

    table = geneva.store.tables.workflows
    with geneva.engine.connect() as connection:
        types = connection.scalars(select(table.c.type).order_by(table.c.id)).all()
    assert types == ["parity.Delivery", "Express"]
    assert [w.workflow_class for w in Delivery.ready()] == [Delivery, Express]


def test_a_hero_is_any_record_of_any_table(geneva: gd.Drive, users: None) -> None:
    """Polymorphic hero association"""
    heroes = [save(geneva, User(name="Ada")), save(geneva, Parcel()), Country(code="NL")]
    save(geneva, heroes[2])

    loaded = [type(Delivery.create(hero).hero) for hero in heroes]

    assert loaded == [User, Parcel, Country]


def test_steps_are_named_by_their_method_or_made_in_code(geneva: gd.Drive) -> None:
    """Step DSL (named and anonymous)"""

    class Both(gd.Workflow):
        @gd.step
        def named(self) -> None: ...

        others = [gd.step(lambda self: None), gd.step(lambda self: None)]  # noqa: RUF012 - read by the class

    workflow = speedrun(Both.create())

    assert [row[0] for row in history(workflow)] == ["named", "others_1", "others_2"]


def test_a_step_waits_as_long_as_it_says(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    """Wait times between steps"""

    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step(wait=timedelta(days=2))
        def remind(self) -> None: ...

    workflow = Signup.create()
    drain(geneva)
    assert waits(workflow) == [timedelta(days=2)]
    assert drain(geneva) == 0

    geneva_clock.advance(timedelta(days=2))
    assert drain(geneva) == 1
    assert workflow.reload().state == "finished"


def test_a_workflow_goes_through_its_states(geneva: gd.Drive) -> None:
    """State machine (ready/performing/finished/canceled/paused)"""
    seen: list[str] = []

    class Look(gd.Workflow):
        @gd.step
        def look(self) -> None:
            seen.append(gd.Workflow.find(self.id).state)

    workflow = Look.create()
    seen += [workflow.state, workflow.pause().state, workflow.resume().state]
    seen += [speedrun(workflow).state, Look.create().cancel().state]

    assert seen == ["ready", "paused", "ready", "performing", "finished", "canceled"]
    with pytest.raises(gd.errors.InvalidStateError):
        workflow.pause()


def test_an_execution_is_run_by_the_one_that_holds_its_claim(geneva: gd.Drive) -> None:
    """Lock-guarded execution"""
    runs: list[int] = []
    inside, go_on = threading.Event(), threading.Event()

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            runs.append(self.attempt)
            inside.set()
            go_on.wait(30)

    workflow = Slow.create()
    with geneva.worker(concurrency=1):
        assert inside.wait(30)
        second_claims = drain(geneva)
        go_on.set()

    assert second_claims == 0
    assert runs == [1]
    assert history(workflow) == [("work", "completed", "success")]


def test_a_workflow_has_one_active_execution_at_a_time(geneva: gd.Drive) -> None:
    """Single execution guarantee per workflow"""
    workflow = Delivery.create()
    table = geneva.store.tables.step_executions
    with geneva.engine.connect() as connection:
        row = dict(connection.execute(select(table)).mappings().one())
    second = {k: v for k, v in row.items() if k not in {"id", "active"}}
    second |= {"step_name": "ship", "node_id": "ship"}

    with pytest.raises(IntegrityError), geneva.engine.begin() as connection:
        connection.execute(insert(table), second)

    assert len(workflow.current_executions) == 1


def test_a_child_inherits_steps_conditions_and_job_options(geneva: gd.Drive) -> None:
    """Class-inheritable DSL (steps, cancel_if, job_options)"""

    class Shipping(gd.Workflow):
        queue = "shipping"

        @gd.cancel_if
        def called_off(self) -> bool:
            return bool(self.context.get("called_off"))

        @gd.step
        def pack(self) -> None: ...

    class Express(Shipping):
        @gd.step
        def fly(self) -> None: ...

    workflow = speedrun(Express.create())
    assert [row[0] for row in history(workflow)] == ["pack", "fly"]
    assert last(workflow).queue == "shipping"
    assert speedrun(Express.create(context={"called_off": True})).state == "canceled"


def test_a_named_step_runs_its_body(geneva: gd.Drive) -> None:
    """Named steps with blocks"""
    ran: list[str] = []
    workflow = one_step(lambda self: ran.append("first"))

    assert ran == ["first"]
    assert history(workflow)[0] == ("first", "completed", "success")


def test_steps_made_in_code_are_named_after_their_attribute(geneva: gd.Drive) -> None:
    """Anonymous steps with auto-naming"""
    polled: list[int] = []

    class Poll(gd.Workflow):
        polls = [gd.step(lambda self: polled.append(1), wait=60) for _ in range(3)]  # noqa: RUF012 - read by the class

    workflow = speedrun(Poll.create())

    assert [row[0] for row in history(workflow)] == ["polls_1", "polls_2", "polls_3"]
    assert polled == [1, 1, 1]


def test_a_method_defined_elsewhere_becomes_a_step(geneva: gd.Drive) -> None:
    """Instance method steps (`step :method_name`)"""
    ran: list[str] = []

    class Greeting(gd.Workflow):
        def say_hello(self) -> None:
            ran.append("hello")

        greet = gd.step(say_hello)

    workflow = speedrun(Greeting.create())

    assert ran == ["hello"]
    assert history(workflow) == [("greet", "completed", "success")]


def test_a_step_is_defined_where_it_is_declared_and_can_be_called(geneva: gd.Drive) -> None:
    """Inline method definition (`step def method_name`)"""

    class Sum(gd.Workflow):
        @gd.step
        def add(self) -> int:
            return 3

    workflow = speedrun(Sum.create())

    assert history(workflow) == [("add", "completed", "success")]
    assert Sum().add() == 3


def test_a_step_is_put_before_or_after_another(geneva: gd.Drive) -> None:
    """Step ordering (before_step/after_step)"""

    class Ordered(Delivery):
        @gd.step(before_step="pack")
        def reserve(self) -> None: ...

        @gd.step(after_step=Delivery.pack)
        def weigh(self) -> None: ...

    workflow = speedrun(Ordered.create())

    assert [row[0] for row in history(workflow)] == ["reserve", "pack", "weigh", "ship"]


@pytest.mark.parametrize(
    "condition", ["needless", lambda self: True, True], ids=["method", "callable", "boolean"]
)
def test_a_step_is_skipped_by_a_method_a_callable_or_a_boolean(
    geneva: gd.Drive, condition: Any
) -> None:
    """skip_if with symbols/callables/booleans"""

    class Skipping(gd.Workflow):
        def needless(self) -> bool:
            return True

        @gd.step(skip_if=condition)
        def work(self) -> None:
            pytest.fail("the body ran")

    workflow = speedrun(Skipping.create())

    assert history(workflow) == [("work", "skipped", "skipped_by_condition")]


def test_a_condition_is_asked_when_the_step_runs(geneva: gd.Drive) -> None:
    """skip_if evaluated at execution time (not scheduling)"""
    asked: list[str] = []
    workflow = one_step(lambda self: None, skip_if=lambda self: asked.append("asked"))
    assert asked == ["asked"]

    class Later(gd.Workflow):
        @gd.step(wait=60, skip_if=lambda self: asked.append("asked again"))
        def work(self) -> None: ...

    Later.create()
    drain(geneva)
    assert asked == ["asked"]
    assert workflow.state == "ready"


def test_a_cancel_condition_holds_for_every_step(geneva: gd.Drive) -> None:
    """cancel_if for blanket conditions"""

    class Guarded(gd.Workflow):
        @gd.cancel_if
        def second_is_next(self) -> bool:
            return self.handle.current_step_name == "second"

        @gd.step
        def first(self) -> None: ...

        @gd.step
        def second(self) -> None: ...

    workflow = speedrun(Guarded.create())

    assert workflow.state == "canceled"
    assert history(workflow) == [
        ("first", "completed", "success"),
        ("second", "canceled", "canceled_by_condition"),
    ]


def test_a_childs_cancel_conditions_join_its_parents(geneva: gd.Drive) -> None:
    """Class-inheritable cancel_if"""

    class Parent(gd.Workflow):
        parents = gd.cancel_if(lambda self: self.context["by"] == "parent")

    class Child(Parent):
        own = gd.cancel_if(lambda self: self.context["by"] == "child")

        @gd.step
        def work(self) -> None: ...

    states = [speedrun(Child.create(context={"by": by})).state for by in ("parent", "child", "")]

    assert states == ["canceled", "canceled", "finished"]


def test_cancel_ends_the_workflow(geneva: gd.Drive) -> None:
    """cancel! - mark workflow canceled"""
    workflow = one_step(lambda self: self.cancel())

    assert workflow.state == "canceled"
    assert history(workflow) == [("first", "canceled", "canceled_by_flow_control")]


def test_pause_waits_for_a_person(geneva: gd.Drive) -> None:
    """pause! - pause for manual intervention"""
    workflow = one_step(lambda self: self.pause(reason="please look"))

    assert (workflow.state, workflow.paused_reason) == ("paused", "please look")
    assert drain(geneva) == 0


@pytest.mark.parametrize("wait", [None, 90], ids=["now", "later"])
def test_reattempt_runs_the_step_again(geneva: gd.Drive, wait: int | None) -> None:
    """reattempt! - retry current step with optional wait"""
    workflow = one_step(lambda self: self.reattempt(wait=wait))

    assert history(workflow) == [
        ("first", "completed", "reattempted"),
        ("first", "scheduled", None),
    ]
    assert waits(workflow) == [timedelta(seconds=wait or 0)]


def test_skip_goes_on_with_the_next_step(geneva: gd.Drive) -> None:
    """skip! - skip current step, proceed to next"""
    workflow = one_step(lambda self: self.skip())

    assert history(workflow) == [
        ("first", "skipped", "skipped_by_flow_control"),
        ("second", "scheduled", None),
    ]


def test_finish_completes_the_workflow_early(geneva: gd.Drive) -> None:
    """finished! - mark workflow complete"""
    workflow = one_step(lambda self: self.finish())

    assert workflow.state == "finished"
    assert history(workflow) == [("first", "completed", "success")]


def test_resume_runs_the_step_that_failed_again(geneva: gd.Drive) -> None:
    """resume! - resume paused workflow"""
    workflow = speedrun(Delivery.create(context={"torn": True}))
    speedrun(workflow.resume(data={"torn": False}))

    assert workflow.state == "finished"
    assert [row[0] for row in history(workflow)] == ["pack", "pack", "ship"]


def test_a_step_is_put_into_the_queue_as_soon_as_it_is_known(geneva: gd.Drive) -> None:
    """Forward scheduler (enqueue jobs early)"""

    class Later(gd.Workflow):
        @gd.step(wait=timedelta(days=30), queue="slow")
        def work(self) -> None: ...

    workflow = Later.create()

    assert geneva.executions(state="scheduled", queue="slow").ids() == [last(workflow).id]
    with time_travel(timedelta(days=30)):
        assert drain(geneva) == 1


def test_a_worker_performs_steps(geneva: gd.Drive) -> None:
    """PerformStepJob for step execution"""
    workflow = Delivery.create()

    geneva.worker(concurrency=2).run_until_idle()

    assert workflow.reload().state == "finished"
    assert all(execution.worker_id for execution in workflow.step_executions)


def test_queue_and_priority_are_set_on_the_class_and_the_step(geneva: gd.Drive) -> None:
    """set_step_job_options for queue/priority"""

    class Mailing(gd.Workflow):
        queue = "mail"
        priority = 10

        @gd.step
        def write(self) -> None: ...

        @gd.step(queue="urgent", priority=20)
        def send(self) -> None: ...

    workflow = speedrun(Mailing.create())

    assert [(e.queue, e.priority) for e in workflow.step_executions] == [
        ("mail", 10),
        ("urgent", 20),
    ]


def test_a_child_inherits_queue_and_priority_and_may_change_one(geneva: gd.Drive) -> None:
    """Class-inheritable job options"""

    class Mailing(gd.Workflow):
        queue = "mail"
        priority = 10

        @gd.step
        def send(self) -> None: ...

    class Premium(Mailing):
        queue = "premium"

    execution = last(Premium.create())

    assert (execution.queue, execution.priority) == ("premium", 10)


@pytest.mark.parametrize(
    "options", [{}, {"on_exception": "pause"}], ids=["by default", "when told"]
)
def test_an_error_pauses_the_workflow(geneva: gd.Drive, options: Any) -> None:
    """on_exception: :pause! (default)"""
    workflow = one_step(lambda self: 1 / 0, **options)

    assert workflow.state == "paused"
    assert history(workflow) == [("first", "failed", "paused_by_exception")]


def test_an_error_may_cancel_the_workflow(geneva: gd.Drive) -> None:
    """on_exception: :cancel!"""
    workflow = one_step(lambda self: 1 / 0, on_exception="cancel")

    assert workflow.state == "canceled"
    assert history(workflow) == [("first", "failed", "canceled_by_exception")]


def test_an_error_may_run_the_step_again(geneva: gd.Drive) -> None:
    """on_exception: :reattempt!"""
    workflow = one_step(lambda self: 1 / (self.attempt - 1), on_exception="reattempt")
    speedrun(workflow)

    assert workflow.state == "finished"
    assert history(workflow)[:2] == [
        ("first", "failed", "reattempted_by_exception"),
        ("first", "completed", "success"),
    ]


def test_an_error_may_be_passed_over(geneva: gd.Drive) -> None:
    """on_exception: :skip!"""
    workflow = one_step(lambda self: 1 / 0, on_exception="skip")

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("first", "skipped", "skipped_by_exception"),
        ("second", "scheduled", None),
    ]


def test_the_error_of_a_failed_step_is_stored(geneva: gd.Drive) -> None:
    """Store error message/backtrace"""
    execution = one_step(lambda self: 1 / 0).step_executions[0]

    assert execution.error_class == "builtins.ZeroDivisionError"
    assert execution.error_message == "division by zero"
    assert "Traceback (most recent call last)" in (execution.error_backtrace or "")


def test_a_hero_has_one_ongoing_workflow_of_a_class(geneva: gd.Drive) -> None:
    """One workflow per hero by default"""
    hero = gd.HeroRef("Pilot", "ada")
    first = Delivery.create(hero)

    with pytest.raises(gd.errors.AlreadyRunning) as refusal:
        Delivery.create(hero)

    assert refusal.value.existing == first
    speedrun(first)
    assert Delivery.create(hero).state == "ready"


def test_several_workflows_of_a_hero_may_be_allowed(geneva: gd.Drive) -> None:
    """allow_multiple flag for concurrent workflows"""
    hero = gd.HeroRef("Pilot", "ada")
    Delivery.create(hero, allow_multiple=True)
    Delivery.create(hero, allow_multiple=True)

    assert Delivery.for_hero(hero).ongoing().count() == 2


def test_the_database_refuses_a_second_ongoing_workflow(geneva: gd.Drive) -> None:
    """Database-enforced constraints (PostgreSQL, MySQL, SQLite)"""
    Delivery.create(gd.HeroRef("Pilot", "ada"))
    table = geneva.store.tables.workflows
    with geneva.engine.connect() as connection:
        row = dict(connection.execute(select(table)).mappings().one())
    again = {name: value for name, value in row.items() if name not in {"id", "ongoing"}}

    with pytest.raises(IntegrityError), geneva.engine.begin() as connection:
        connection.execute(insert(table), again)


def test_workflows_are_found_by_their_state(geneva: gd.Drive) -> None:
    """State scopes (ready, paused, finished, etc.)"""
    ready, paused = Delivery.create(), Delivery.create().pause()
    finished, canceled = speedrun(Delivery.create()), Delivery.create().cancel()

    assert Delivery.ready().ids() == [ready.id]
    assert Delivery.paused().ids() == [paused.id]
    assert Delivery.finished().ids() == [finished.id]
    assert Delivery.canceled().ids() == [canceled.id]
    assert Delivery.performing().ids() == []


def test_workflows_are_found_by_their_hero(geneva: gd.Drive, users: None) -> None:
    """for_hero scope"""
    ada, grace = save(geneva, User(name="Ada")), save(geneva, User(name="Grace"))
    workflow = Delivery.create(ada)
    Delivery.create(grace)

    assert Delivery.for_hero(ada).ids() == [workflow.id]


def test_ongoing_workflows_are_those_that_have_not_ended(geneva: gd.Drive) -> None:
    """active scope"""
    ready, paused = Delivery.create(), Delivery.create().pause()
    speedrun(Delivery.create())
    Delivery.create().cancel()

    assert Delivery.ongoing().ids() == [ready.id, paused.id]


def test_a_hook_is_called_before_each_step(geneva: gd.Drive) -> None:
    """before_step_starts(step_name)"""
    called: list[str] = []

    class Hooked(Delivery):
        def before_step_starts(self, step_name: str) -> None:
            called.append(step_name)

    speedrun(Hooked.create())

    assert called == ["pack", "ship"]


def test_one_call_installs_the_tables(empty_database_url: str) -> None:
    """Generator for installation"""
    drive = gd.Drive(empty_database_url)

    first = drive.migrate()
    again = drive.migrate()

    assert (first[0], first[1]) == (None, again[0])
    assert Delivery.using(drive).create().state == "ready"
    drive.close()


def test_the_migration_is_written_for_the_database_it_finds(
    empty_database_url: str, database: str
) -> None:
    """Migration templates with database detection"""
    drive = gd.Drive(empty_database_url)
    sql = drive.migration_sql()
    drive.migrate()
    drive.close()

    assert "CREATE TABLE geneva_drive_workflows" in re.sub(r"[\"`]", "", sql)
    # MySQL has no partial index: a generated column stands in for it there.
    assert ("GENERATED ALWAYS AS" in sql) is (database == "mysql")
    assert bool(re.search(r"CREATE UNIQUE INDEX .* WHERE", sql)) is (database != "mysql")


def test_keys_follow_those_of_the_existing_schema(empty_database_url: str) -> None:
    """Schema analyzer for PK type detection"""
    drive = gd.Drive(empty_database_url)
    theirs = MetaData()
    Table("accounts", theirs, Column("id", Uuid(), primary_key=True))
    theirs.create_all(drive.engine)

    drive.migrate()
    workflow = speedrun(Delivery.using(drive).create())

    assert type(workflow.id).__name__ == "UUID"
    assert Delivery.using(drive).find(str(workflow.id)) == workflow
    assert "accounts" in inspect(drive.engine).get_table_names()
    drive.close()


def test_one_call_configures_the_process(empty_database_url: str) -> None:
    """Configuration initializer"""
    drive = gd.configure(empty_database_url, lease="90s")
    drive.migrate()

    assert Delivery.create().drive is drive
    assert drive.settings.lease == timedelta(seconds=90)
    default_drive.use(None)


def test_every_attempt_stays_in_the_history(geneva: gd.Drive) -> None:
    """Step execution history preserved"""
    workflow = Delivery.create(context={"torn": True})
    with crash_after("claim"):
        drain(geneva)
    drain(geneva)
    workflow.reload().skip()
    drain(geneva)

    assert [(e.step_name, e.attempt_number) for e in workflow.execution_history] == [
        ("pack", 1),
        ("pack", 2),
        ("pack", 3),
        ("ship", 1),
    ]


def test_how_an_execution_ended_is_told_for_people(geneva: gd.Drive) -> None:
    """Outcome column for debugging"""
    workflow = speedrun(Delivery.create(context={"torn": True}))
    workflow.skip()
    speedrun(workflow)

    table = geneva.store.tables.step_executions
    with geneva.engine.connect() as connection:
        outcomes = connection.scalars(select(table.c.outcome).order_by(table.c.id)).all()
    assert outcomes == ["paused_by_exception", "skipped_by_operator", "success"]


def test_the_error_is_found_in_the_audit_trail(geneva: gd.Drive) -> None:
    """Error message/backtrace storage"""
    workflow = speedrun(Delivery.create(context={"torn": True}))
    speedrun(workflow.resume(data={"torn": False}))

    first, second, _ = workflow.execution_history
    assert (first.error_message, second.error_message) == ("torn", None)
    assert 'raise ValueError("torn")' in (first.error_backtrace or "")


def test_a_speedrun_ignores_waits(geneva: gd.Drive) -> None:
    """speedrun_workflow helper"""

    class Patient(gd.Workflow):
        @gd.step(wait=timedelta(days=365))
        def work(self) -> None: ...

    assert speedrun(Patient.create()).state == "finished"


def test_a_speedrun_looks_again_between_steps(geneva: gd.Drive) -> None:
    """Reload between steps in tests"""
    workflow = one_step(lambda self: gd.Workflow.find(self.id).pause())

    speedrun(workflow)

    assert workflow.state == "paused"
    assert history(workflow)[1] == ("second", "scheduled", None)
