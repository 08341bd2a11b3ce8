"""Every public function refuses junk with an error of our own.

To look longer than the suite does: GENEVA_JUNK_EXAMPLES=2000 pytest tests/drive/test_junk.py
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive import testing
from geneva_drive.declarative.actions import registry as document_functions
from geneva_drive.definition import registry
from geneva_drive.definition.dynamic import jobs, templates
from geneva_drive.definition.dynamic.templates import Template
from geneva_drive.definition.nodes.batch import BatchStep
from geneva_drive.definition.options import keywords
from geneva_drive.display import shown
from geneva_drive.drive.approvals.approvals import Approvals
from geneva_drive.drive.class_workflows import ClassWorkflows
from geneva_drive.drive.create_options import CreateOptions
from geneva_drive.drive.schedules import Schedules
from geneva_drive.drive.search.queries import ExecutionQuery, WorkflowQuery
from geneva_drive.errors import GenevaDriveError
from geneva_drive.settings import Settings
from tests.junk import Call, anything, arguments

EXAMPLES = int(os.environ.get("GENEVA_JUNK_EXAMPLES", "12"))

# Made by the library, not by its users; or taken by Python before we see it.
NOT_CALLED = {
    "PREVIOUS",
    "Approval",
    "ApprovalChanged",
    "ApprovalDecision",
    "ApprovalState",
    "AsyncBatch",
    "AsyncIterableStep",
    "Batch",
    "BatchChanged",
    "BatchError",
    "BatchProgress",
    "BatchResults",
    "Callback",
    "Checkpoint",
    "CheckpointYield",
    "Event",
    "EventPublished",
    "EventWaitChanged",
    "FailedItem",
    "FailureStrategy",
    "IterableStep",
    "IterationProgress",
    "JobNode",
    "Outcome",
    "PermanentError",
    "RecordBatch",
    "RetryableError",
    "Schedule",
    "ScheduleRun",
    "StepChanged",
    "StepExecution",
    "StepProgressed",
    "StepState",
    "StepYielded",
    "TelemetryEvent",
    "Workflow",
    "WorkflowChanged",
    "WorkflowHandle",
    "WorkflowState",
    "errors",
}

CREATE_OPTIONS = list(CreateOptions.__annotations__)
# Methods of a Drive that get records of the database.
FOR_OURSELVES = {"explain", "open_handle", "open_execution"}

KEPT: list[type[gd.Workflow]] = []  # classes are known weakly

# Methods of a handle that return when the workflow has ended.
WAITING = {"wait", "ended"}


class Order(gd.Workflow):
    type_name = "junk.Order"

    @gd.step
    def pay(self) -> None: ...

    @gd.resumable_step
    def ship(self, it: gd.IterableStep) -> None:
        for _ in it.iterate_over([1, 2, 3]):
            pass


class Contract(gd.Workflow):
    type_name = "junk.Contract"

    @gd.approval(role="lawyer", escalate_to="director")
    def sign(self, decision: gd.ApprovalDecision[Any]) -> None: ...


def build(w: gd.DynamicWorkflow, tables: Any) -> None:
    w.fan_out(tables, name="export_{}", job="junk.export")


def made_class(**members: Any) -> None:
    type("Made", (gd.Workflow,), members)


def decorated(made: Any) -> None:
    """Use what a decorator returned, as a member of a class."""
    made_class(pay=made(lambda self: None) if inspect.isfunction(made) else made)


def decorated_approval(made: Any) -> None:
    made_class(sign=made(lambda self, decision: None) if callable(made) else made)


def decorated_batch(made: Any) -> None:
    rows = made if isinstance(made, BatchStep) else made(lambda self: gd.Batches.none())
    made_class(
        rows=rows,
        process=rows.worker(lambda self, batch: None),
        summarize=rows.aggregate(lambda self, results: None),
    )


def decorated_map(made: Any) -> None:
    made_class(look=made(lambda self, item: None) if callable(made) else made)


def decorated_function(made: Any) -> None:
    if inspect.isfunction(made):
        made(lambda context: None)


def decorated_job(made: Any) -> None:
    job = made(lambda: None) if inspect.isfunction(made) else made
    gd.DynamicWorkflow().node("a", job=job)


def option(name: str) -> Callable[[Any], None]:
    return lambda made: decorated(gd.step(**{name: made}))


def waited(backoff: Any) -> None:
    for attempt in (1, 2, 1000):
        backoff(attempt)


def started(workflow: gd.DynamicWorkflow) -> None:
    workflow.start()


def of_hero(hero: gd.HeroRef) -> None:
    Order.create(hero)
    Order.for_hero(hero).count()


def read(query: Any) -> None:
    query.limit(2).all()
    query.count()


def counted(workflows: ClassWorkflows[Any]) -> None:
    workflows.query().count()


def entered(manager: AbstractContextManager[Any]) -> None:
    with manager:
        pass


def an_order() -> gd.WorkflowHandle[Order]:
    return Order.create()


def an_approval() -> gd.Approval:
    drive = gd.current_drive()
    testing.perform_next_step(Contract.create())
    found = drive.approvals.pending().first()
    assert found is not None
    return found


def the_approvals() -> Approvals:
    return gd.current_drive().approvals


def the_schedules() -> Schedules:
    # Defined here, or every other test of this process would have a schedule.
    class Sweep(gd.Workflow):
        type_name = "junk.Sweep"
        schedule = gd.cron("0 3 1 1 *")

        @gd.step
        def sweep(self) -> None: ...

    KEPT[:] = [Sweep]
    return gd.current_drive().schedules


def a_graph() -> gd.WorkflowHandle[Any]:
    w = gd.DynamicWorkflow()
    w.node("export", job="junk.export")
    return w.start()


def a_template() -> Template[Any]:
    return templates.get("junk.nightly") or gd.template(name="junk.nightly")(build)


def class_with(
    *,
    queue: Any = "default",
    priority: Any = 0,
    on_exception: Any = None,
    may_proceed_without_hero: Any = False,
    type_name: Any = None,
    member: Any = None,
    cancel: Any = None,
) -> None:
    made_class(
        queue=queue,
        priority=priority,
        on_exception=on_exception,
        may_proceed_without_hero=may_proceed_without_hero,
        type_name=type_name,
        member=member,
        stop=gd.cancel_if(cancel),
    )


def drive_with(url_or_engine: Any = "sqlite:///unused.db", **given: Any) -> None:
    gd.Drive(url_or_engine, **given).close()


def methods(of: Callable[[], Any], **then: Callable[[Any], object]) -> Iterator[Call]:
    """Yield a call of each public method of what `of` returns."""
    kind = inspect.signature(of, eval_str=True).return_annotation
    kind = getattr(kind, "__origin__", kind)
    for name in dir(kind):
        if (
            name[0] != "_"
            and name not in FOR_OURSELVES
            and callable(inspect.getattr_static(kind, name))
        ):
            yield Call(
                f"{of.__name__}.{name}",
                functools.partial(_method, of, name),
                CREATE_OPTIONS if name.endswith("create") else (),
                then.get(name, anything),
            )


def _method(of: Callable[[], Any], name: str) -> Callable[..., Any]:
    owner = of().cancel() if name in WAITING else of()
    method: Callable[..., Any] = getattr(owner, name)
    return method


def a_drive() -> gd.Drive:
    return gd.current_drive()


def a_query() -> WorkflowQuery[Order]:
    return Order.ongoing()


def with_handle(helper: Callable[..., Any]) -> Callable[..., Any]:
    """Pass a workflow where a helper needs one; otherwise it would refuse everything else."""
    takes_one = "workflow" in inspect.signature(helper).parameters
    return functools.partial(helper, an_order()) if takes_one else helper


def executions() -> ExecutionQuery:
    return gd.current_drive().executions()


def orders() -> ClassWorkflows[Order]:
    return Order.using(gd.current_drive())


def a_builder() -> gd.DynamicWorkflow:
    return gd.DynamicWorkflow()


def options_of(kind: type) -> list[str]:
    return [*kind.__annotations__, "colour"]


FUNCTIONS = [
    Call("step", lambda: gd.step, options_of(keywords.StepOptions), decorated),
    Call(
        "resumable_step",
        lambda: gd.resumable_step,
        options_of(keywords.ResumableStepOptions),
        decorated,
    ),
    Call("task", lambda: gd.task, options_of(keywords.TaskOptions), decorated),
    Call("decision", lambda: gd.decision, options_of(keywords.DecisionOptions), decorated),
    Call(
        "approval",
        lambda: functools.partial(gd.approval, role="manager"),
        [*options_of(keywords.ApprovalOptions), "form"],
        decorated_approval,
    ),
    Call("wait", lambda: gd.wait, options_of(keywords.WaitOptions), decorated),
    Call(
        "wait_for_event",
        lambda: functools.partial(gd.wait_for_event, "paid"),
        options_of(keywords.EventWaitOptions),
        decorated_approval,
    ),
    Call(
        "wait_for_callback",
        lambda: gd.wait_for_callback,
        options_of(keywords.CallbackWaitOptions),
        decorated_approval,
    ),
    Call("batch", lambda: gd.batch, options_of(keywords.BatchOptions), decorated_batch),
    Call("map", lambda: gd.map, options_of(keywords.MapOptions), decorated_map),
    Call("action", lambda: gd.action, (), decorated_function),
    Call("loader", lambda: gd.loader, (), decorated_function),
    Call("notifier", lambda: gd.notifier),
    Call("asgi", lambda: gd.asgi),
    Call("AppriseNotifier", lambda: gd.AppriseNotifier),
    Call("BatchRange", lambda: gd.BatchRange),
    *(
        Call("Batches", functools.partial(getattr, gd.Batches, name))
        for name in ("split", "workers", "ranges", "none", "over", "csv")
    ),
    Call("Tolerate", lambda: gd.Tolerate),
    Call("cron", lambda: gd.cron, then=lambda cron: made_class(schedule=cron)),
    Call("Actor", lambda: gd.Actor, then=lambda actor: an_approval().approve(actor)),
    Call("child", lambda: gd.child, options_of(keywords.ChildOptions), decorated),
    Call("removed_step", lambda: gd.removed_step, then=decorated),
    Call("cancel_if", lambda: gd.cancel_if, then=decorated),
    Call("job", lambda: gd.job, options_of(keywords.JobOptions), decorated_job),
    Call("template", lambda: gd.template),
    Call("exponential", lambda: gd.exponential, then=waited),
    Call("linear", lambda: gd.linear, then=waited),
    Call("ExceptionPolicy", lambda: gd.ExceptionPolicy, then=option("on_exception")),
    Call("Retry", lambda: gd.Retry, then=option("retry")),
    Call("Limit", lambda: gd.Limit, then=option("limit")),
    Call("HeroRef", lambda: gd.HeroRef, then=of_hero),
    Call("DynamicWorkflow", lambda: gd.DynamicWorkflow, then=started),
    Call("register_hero", lambda: gd.register_hero),
    Call("register_serializer", lambda: gd.register_serializer),
    Call("Drive", lambda: drive_with, [*Settings.__dataclass_fields__, "colour"]),
    Call("configure", lambda: drive_with, [*Settings.__dataclass_fields__, "colour"]),
    Call("current_drive", lambda: gd.current_drive),
]
METHODS = [
    *methods(a_drive, executions=read, workflows_of_template=read, workflows=counted),
    *methods(orders, for_hero=read),
    *methods(
        a_query,
        of_type=read,
        of_template=read,
        for_hero=read,
        limit=read,
        after=read,
        created_since=read,
    ),
    *methods(executions, limit=read),
    *methods(an_order),
    *methods(an_approval),
    *methods(the_approvals, pending=read),
    *methods(the_schedules),
    *methods(a_graph),
    *methods(a_builder),
    *methods(a_template, runs=read),
    Call("class", lambda: class_with),
    *(
        Call(
            f"Order.{name}",
            functools.partial(getattr, Order, name),
            CREATE_OPTIONS if name.endswith("create") else (),
        )
        for name in ("create", "get_or_create", "acreate", "find", "afind", "for_hero", "using")
    ),
]
HELPERS = [
    Call(name, functools.partial(with_handle, getattr(testing, name)), then=then)
    for name, then in {
        **dict.fromkeys(testing.__all__, anything),
        "time_travel": entered,
    }.items()
    if name != "crash_after"  # it watches for a point, whatever it is called
]


def test_every_public_function_is_called() -> None:
    assert {call.name for call in FUNCTIONS} | NOT_CALLED == set(gd.__all__)


@pytest.mark.parametrize("call", [*FUNCTIONS, *METHODS], ids=str)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(random=st.randoms())
def test_junk_is_refused_with_an_error_of_our_own(
    call: Call, random: Random, sqlite_drive: gd.Drive
) -> None:
    with (
        registry.isolated(),
        jobs.isolated(),
        templates.isolated(),
        document_functions.isolated(),
    ):
        attempt(call, random, GenevaDriveError)


@pytest.mark.parametrize("helper", HELPERS, ids=str)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(random=st.randoms())
def test_a_helper_for_tests_refuses_junk_or_fails_the_test(
    helper: Call, random: Random, sqlite_drive: gd.Drive
) -> None:
    store = sqlite_drive.store
    store.write(store.empty)  # some helpers run whatever is due

    attempt(helper, random, GenevaDriveError, AssertionError)


def attempt(call: Call, random: Random, *accepted: type[Exception]) -> None:
    by_place, by_name = arguments(random, call)
    try:
        returned = call.of()(*by_place, **by_name)
        call.then(asyncio.run(returned) if inspect.iscoroutine(returned) else returned)
    except accepted:
        pass
    except Exception as error:
        given_ = [*map(shown, by_place), *(f"{k}={shown(v)}" for k, v in by_name.items())]
        raise AssertionError(f"{call}({', '.join(given_)}) raised {error!r}") from error
