"""Bad arguments are refused when they are passed, by an error that says what to pass."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic.templates import Template
from geneva_drive.errors import GenevaDriveError, NodeNotFound, StepConfigurationError

FORMS = (
    "Write it as sqlite:///file.db, postgresql://user:password@host/name or "
    "mysql://user:password@host/name."
)
STATES = (
    "'pending', 'scheduled', 'in_progress', 'suspended', 'waiting', 'completed', 'failed', "
    "'skipped' or 'canceled'"
)
TOO_LONG = "x" * 192


class Mute:
    def __repr__(self) -> NoReturn:
        raise RuntimeError("no words")


class Order(gd.Workflow):
    type_name = "bad_input.Order"

    @gd.step
    def pay(self) -> None: ...


def a_template() -> Template[Any]:
    return Template("nightly", lambda w: None, "here")


Act = Callable[[Any], object]

REFUSED: dict[str, tuple[Act, str]] = {
    "queue-with-nul": (
        lambda drive: Order.create(queue="mail\x00"),
        "queue must not contain NUL or lone surrogates, got 'mail\\x00'.",
    ),
    "queue-with-a-lone-surrogate": (
        lambda drive: Order.create(queue="\ud800"),
        "queue must not contain NUL or lone surrogates, got '\\ud800'.",
    ),
    "queue-of-a-worker": (
        lambda drive: drive.worker(queues=["mail\x00"]),
        "The name of a worker's queue must not contain NUL or lone surrogates, got 'mail\\x00'.",
    ),
    "queue-with-a-limit-of-a-worker": (
        lambda drive: drive.worker(queues={"\ud800": 2}),
        "The name of a worker's queue must not contain NUL or lone surrogates, got '\\ud800'.",
    ),
    "queue-of-executions": (
        lambda drive: drive.executions(queue="\ud800"),
        "executions(queue=...) must not contain NUL or lone surrogates, got '\\ud800'.",
    ),
    "type-of-executions": (
        lambda drive: drive.executions(type=Order),
        f"executions(type=...) must be text, got {Order!r}.",
    ),
    "hero-type-that-is-too-long": (
        lambda drive: Order.create(gd.HeroRef(TOO_LONG, "7")),
        "The type of a HeroRef must be at most 191 characters long, got 192.",
    ),
    "hero-type-of-a-loader-that-is-too-long": (
        lambda drive: gd.register_hero(TOO_LONG, print),
        "The name of a hero type must be at most 191 characters long, got 192.",
    ),
    "job-of-a-node-that-is-too-long": (
        lambda drive: gd.DynamicWorkflow().node("a", job=TOO_LONG),
        "Node 'a': the name of a job must be at most 191 characters long, got 192.",
    ),
    "job-of-a-fan-out-that-is-too-long": (
        lambda drive: gd.DynamicWorkflow().fan_out([1], name="a{}", job=TOO_LONG),
        "fan_out: the name of a job must be at most 191 characters long, got 192.",
    ),
    "type-of-a-child-that-is-too-long": (
        lambda drive: gd.DynamicWorkflow().workflow("a", TOO_LONG),
        "Node 'a': the type of a child workflow must be at most 191 characters long, got 192.",
    ),
    "allow-multiple": (
        lambda drive: Order.create(allow_multiple=[]),  # type: ignore[arg-type]
        "create(allow_multiple=...) must be True or False, got [].",
    ),
    "state-that-is-no-text": (
        lambda drive: drive.executions(state={}),
        f"executions(state=...) must be {STATES}, got {{}}.",
    ),
    "state-that-is-unknown": (
        lambda drive: drive.executions(state="done"),
        f"executions(state=...) must be {STATES}, got 'done'.",
    ),
    "limit-of-workflows": (
        lambda drive: Order.ready().limit(None),  # type: ignore[arg-type]
        "The argument of limit() must be a whole number, got None.",
    ),
    "limit-of-executions": (
        lambda drive: drive.executions().limit(None),
        "The argument of limit() must be a whole number, got None.",
    ),
    "limit-that-no-database-takes": (
        lambda drive: drive.executions().limit(2**63),
        "The argument of limit() must be at most 9223372036854775807, got 9223372036854775808.",
    ),
    "moment-without-a-zone": (
        lambda drive: Order.ready().created_since(datetime(2026, 1, 1)),  # noqa: DTZ001 - naive
        "The argument of created_since() must be a datetime with a time zone, got "
        "datetime.datetime(2026, 1, 1, 0, 0).",
    ),
    "no-concurrency": (
        lambda drive: drive.worker(concurrency=None),
        "A worker's concurrency must be a whole number, got None.",
    ),
    "concurrency-of-a-float": (
        lambda drive: drive.worker(concurrency=1e308),
        "A worker's concurrency must be a whole number, got 1e+308.",
    ),
    "concurrency-of-no-machine": (
        lambda drive: drive.worker(concurrency=10**9),
        "A worker's concurrency must be at most 10000, got 1000000000.",
    ),
    "queues-of-a-number": (
        lambda drive: drive.worker(queues=5),
        "queues must be a list of names, not 5.",
    ),
    "items-of-a-fan-out": (
        lambda drive: gd.DynamicWorkflow().fan_out(None, name="a{}", job="b"),  # type: ignore[arg-type]
        "fan_out takes an iterable of items, got None.",
    ),
    "name-of-a-fan-out": (
        lambda drive: gd.DynamicWorkflow().fan_out([1], name=7, job="b"),  # type: ignore[arg-type]
        "fan_out: the name is a format such as 'node_{}' or a function of the item, not 7.",
    ),
    "drive-of-a-class": (
        lambda drive: Order.using(None),  # type: ignore[arg-type]
        "The argument of using() must be a gd.Drive, got None.",
    ),
    "drive-of-a-template": (
        lambda drive: a_template().using(None),  # type: ignore[arg-type]
        "The argument of using() must be a gd.Drive, got None.",
    ),
    "drive-of-a-dynamic-workflow": (
        lambda drive: gd.DynamicWorkflow(drive="sqlite://"),  # type: ignore[arg-type]
        "drive must be a gd.Drive, got 'sqlite://'.",
    ),
    "class-of-workflows": (
        lambda drive: drive.workflows(None),
        "workflows() takes a workflow class, got None.",
    ),
    "graph-to-start": (
        lambda drive: drive.start_dynamic(Order),
        f"start_dynamic() takes a gd.DynamicWorkflow, got {Order!r}.",
    ),
    "progress-of-prune": (
        lambda drive: drive.prune("1d", progress="{}"),
        "prune(progress=...) must be a function, got '{}'.",
    ),
    "force-of-cancel": (
        lambda drive: Order.create().cancel(force="yes"),  # type: ignore[arg-type]
        "cancel(force=...) must be True or False, got 'yes'.",
    ),
    "url-with-a-lone-surrogate": (
        lambda drive: gd.Drive("postgresql://ada:secret@h\udcff/shop"),
        f"'postgresql://ada:***@h\\udcff/shop' is not a database URL. {FORMS}",
    ),
    "url-with-nul": (
        lambda drive: gd.Drive("sqlite:///shop\x00.db"),
        f"'sqlite:///shop\\x00.db' is not a database URL. {FORMS}",
    ),
    "url-of-a-number": (
        lambda drive: gd.configure(7),  # type: ignore[arg-type]
        f"7 is not a database URL. {FORMS}",
    ),
    "url-with-an-unreadable-option": (
        lambda drive: gd.Drive("sqlite:///shop.db?timeout=soon"),
        "The database URL has an option that cannot be read: could not convert string to float: "
        "'soon'.",
    ),
    "session-factory": (
        lambda drive: gd.Drive("sqlite:///unused.db", session_factory=7),
        "Setting session_factory must be a callable that returns a session, such as a "
        "sessionmaker, got 7.",
    ),
    "value-whose-repr-fails": (
        lambda drive: Order.create(context=Mute()),  # type: ignore[arg-type]
        "The context of a workflow must be a dictionary with text as keys, got "
        "<Mute that cannot be put into words>.",
    ),
    "id-whose-repr-fails": (
        lambda drive: Order.find(Mute()),
        "There is no bad_input.Order workflow with id <Mute that cannot be put into words>. "
        "`geneva list` shows all workflows.",
    ),
    "value-whose-repr-is-huge": (
        lambda drive: Order.create(context=[0] * 10**6),  # type: ignore[arg-type]
        f"The context of a workflow must be a dictionary with text as keys, got [{'0, ' * 65}0....",
    ),
    "number-with-too-many-digits": (
        lambda drive: Order.create(priority=10**5000),
        "priority must be at most 2147483647, got <int that cannot be put into words>.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_argument_is_refused(sqlite_drive: gd.Drive, case: str) -> None:
    act, message = REFUSED[case]

    with pytest.raises(GenevaDriveError) as refusal:
        act(sqlite_drive)

    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("declare", "fault"),
    [
        pytest.param(
            lambda: gd.exponential(factor="x"),  # type: ignore[arg-type]
            "The factor of a back-off must be a number, got 'x'.",
            id="factor",
        ),
        pytest.param(
            lambda: gd.exponential(factor=float("inf")),
            "The factor of a back-off must be finite, got inf.",
            id="infinite-factor",
        ),
        pytest.param(
            lambda: gd.exponential(jitter=None),  # type: ignore[arg-type]
            "The jitter of a back-off must be a number, got None.",
            id="jitter",
        ),
        pytest.param(
            lambda: gd.child(TOO_LONG),
            "gd.child: the name of a type must be at most 191 characters long, got 192.",
            id="child",
        ),
        pytest.param(
            lambda: gd.job(name=10**5000)(print),  # type: ignore[call-overload]
            "Job <int that cannot be put into words>: the name must be text, got "
            "<int that cannot be put into words>.",
            id="job",
        ),
    ],
)
def test_a_bad_declaration_is_refused(declare: Callable[[], object], fault: str) -> None:
    with pytest.raises(StepConfigurationError) as refusal:
        declare()

    assert refusal.value.what == fault


def test_a_node_is_not_looked_for_by_a_name_that_no_database_takes(
    sqlite_drive: gd.Drive,
) -> None:
    w = gd.DynamicWorkflow()
    w.node("export", job="bad_input.export")
    workflow = w.start()

    with pytest.raises(NodeNotFound) as refusal:
        workflow.reattempt("\ud800")

    assert str(refusal.value) == (
        f"Workflow {workflow.id} has no node with the name or id '\\ud800'. "
        f"`geneva show {workflow.id}` lists its nodes."
    )


def test_names_as_long_as_their_columns_are_taken(sqlite_drive: gd.Drive) -> None:
    name = "x" * 191

    order = Order.create(gd.HeroRef(name, "7"))
    w = gd.DynamicWorkflow()
    w.node("a", job=name)

    assert Order.for_hero(gd.HeroRef(name, "7")).ids() == [order.id]
    assert [node["job"] for node in w.start().dag["nodes"].values()] == [name]
