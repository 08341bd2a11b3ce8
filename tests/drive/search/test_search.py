"""Operators find workflows by what they ask of them, page by page, newest first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.search import search as searching
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.drive.search.queries import WorkflowQuery
from geneva_drive.drive.search.search import count, search
from geneva_drive.errors import InvalidInput
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from geneva_drive.testing import drain
from tests.scheduling import set_clock

Handle = gd.WorkflowHandle[Any]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Payment(gd.Workflow):
    queue = "money"

    @gd.step
    def charge(self) -> None:
        if self.context.get("fails") == "value":
            raise ValueError("no funds")
        if self.context.get("fails") == "key":
            raise KeyError("card")

    @gd.step(wait=timedelta(days=2))
    def settle(self) -> None: ...


class Refund(gd.Workflow):
    @gd.approval(role="manager")
    def agree(self, decision: gd.ApprovalDecision[Any]) -> None: ...


class Parcel(gd.Workflow):
    @gd.wait_for_event("parcel.arrived")
    def arrival(self, event: gd.Event) -> None: ...


class Family(gd.Workflow):
    parcel = gd.child(Parcel)


@pytest.fixture
def crowd(geneva: gd.Drive) -> gd.Drive:
    """Workflows that stand in every way, created an hour apart."""
    moment = NOON

    def create(kind: type[gd.Workflow], hero_id: str, **options: Any) -> Handle:
        nonlocal moment
        moment += timedelta(hours=1)
        set_clock(geneva, moment)
        hero = gd.HeroRef("Purchase" if kind is Payment else "Case", hero_id)
        return kind.using(geneva).create(hero=hero, **options)

    create(Payment, "A-1")
    create(Payment, "A-2", context={"fails": "value"})
    create(Payment, "A-20", context={"fails": "key"}, queue="slow")
    create(Refund, "B-1")
    create(Parcel, "B-2")
    create(Family, "B-3")
    canceled = create(Payment, "A-4")
    canceled.cancel()
    drain(geneva)
    create(Payment, "A-5")
    create(Payment, "A-6").pause(reason="audit", actor="ann")
    create(Payment, "ä%_1")
    return geneva


def found(drive: gd.Drive, **where: Any) -> list[Any]:
    return [one.id for one in search(drive, SearchFilter.of(where), limit=100).items]


def expected(drive: gd.Drive, is_wanted: Callable[[Handle], bool]) -> list[Any]:
    """The ids of the workflows whose handles say so, newest first."""
    every: WorkflowQuery[Any] = WorkflowQuery(drive, WorkflowFilter(is_newest_first=True))
    return [one.id for one in every if is_wanted(one)]


def last_error(workflow: Handle) -> str | None:
    failed = [one for one in workflow.step_executions if one.state == "failed"]
    return failed[-1].error_class if failed else None


CASES: list[tuple[dict[str, Any], Callable[[Handle], bool], int]] = [
    ({"state": "paused"}, lambda w: w.state == "paused", 6),
    ({"state": "ready"}, lambda w: w.state == "ready", 4),
    ({"state": "canceled"}, lambda w: w.state == "canceled", 1),
    *(
        ({"needs": need}, lambda w, need=need: w.needs == need, size)
        for need, size in {
            "operator": 3,
            "worker": 2,
            "person": 1,
            "event": 2,
            "child": 1,
            "timer": 1,
            "none": 1,
        }.items()
    ),
    ({"type": "Payment"}, lambda w: w.type == "Payment", 7),
    (
        {"type": "Payment", "state": "paused"},
        lambda w: (w.type, w.state) == ("Payment", "paused"),
        3,
    ),
    ({"step": "settle"}, lambda w: w.next_step_name == "settle", 1),
    ({"step": "agree"}, lambda w: w.next_step_name == "agree", 1),
    ({"queue": "money"}, lambda w: w.queue == "money", 6),
    ({"queue": "slow"}, lambda w: w.queue == "slow", 1),
    *(
        ({"paused_reason": reason}, lambda w, reason=reason: w.paused_reason == reason, size)
        for reason, size in {"audit": 1, "approval_required": 1, "waiting_for_event": 2}.items()
    ),
    ({"error_class": "builtins.ValueError"}, lambda w: last_error(w) == "builtins.ValueError", 1),
    (
        {"error_class": "builtins.KeyError", "state": "paused"},
        lambda w: last_error(w) == "builtins.KeyError",
        1,
    ),
    ({"hero_type": "Purchase"}, lambda w: w.hero_type == "Purchase", 7),
    ({"hero_type": "Case", "hero_id": "B-2"}, lambda w: w.hero_id == "B-2", 1),
    ({"hero_id": "B-3"}, lambda w: w.hero_id == "B-3", 1),
    ({"q": "A-2"}, lambda w: (w.hero_id or "").startswith("A-2"), 2),
    ({"q": "ä%"}, lambda w: w.hero_id == "ä%_1", 1),
    ({"created_after": "2026-03-02T20:00:00Z"}, lambda w: w.created_at >= hour(8), 3),
    ({"created_before": NOON + timedelta(hours=2)}, lambda w: w.created_at < hour(2), 1),
]


def hour(count: int) -> datetime:
    return NOON + timedelta(hours=count)


def test_filters_find_what_the_handles_say(crowd: gd.Drive) -> None:
    wanted = [expected(crowd, is_wanted) for _, is_wanted, _ in CASES]

    assert [len(ids) for ids in wanted] == [size for _, _, size in CASES]
    assert [found(crowd, **where) for where, _, _ in CASES] == wanted
    assert [str(count(crowd, SearchFilter.of(where))) for where, _, _ in CASES] == [
        str(size) for _, _, size in CASES
    ]


def test_single_pages_add_up_to_the_whole_list(crowd: gd.Drive) -> None:
    whole = [found(crowd, **where) for where, _, _ in CASES]

    assert [paged(crowd, **where) for where, _, _ in CASES] == whole


def paged(drive: gd.Drive, **where: Any) -> list[Any]:
    """The ids of a list that is read one workflow at a time."""
    page = search(drive, SearchFilter.of(where), limit=1)
    ids = [one.id for one in page.items]
    while page.next_cursor is not None:
        page = search(drive, SearchFilter.of(where), limit=1, cursor=page.next_cursor)
        ids += [one.id for one in page.items]
    return ids


def test_a_span_of_time_is_listed_by_creation_and_not_by_id(geneva: gd.Drive) -> None:
    made = {}
    for hours in (1, 5, 3, 3, 9, 2):  # as clocks of several machines may differ
        set_clock(geneva, hour(hours))
        made[Payment.using(geneva).create().id] = hours

    ids = paged(geneva, created_after=hour(2), created_before=hour(9))

    assert [made[one] for one in ids] == [5, 3, 3, 2]
    assert len(set(ids)) == 4


def test_a_workflow_is_found_by_its_id(crowd: gd.Drive) -> None:
    newest = found(crowd)[0]

    assert found(crowd, q=str(newest)) == [newest]


def test_pages_stay_where_they_are_while_workflows_are_created(crowd: gd.Drive) -> None:
    wanted = SearchFilter.of({"type": "Payment"})
    every = found(crowd, type="Payment")

    first = search(crowd, wanted, limit=3)
    Payment.using(crowd).create()
    second = search(crowd, wanted, limit=3, cursor=first.next_cursor)
    third = search(crowd, wanted, limit=3, cursor=second.next_cursor)

    pages = [[one.id for one in page.items] for page in (first, second, third)]
    assert pages == [every[:3], every[3:6], every[6:]]
    assert third.next_cursor is None


def test_a_large_count_is_not_exact(crowd: gd.Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "COUNTED", 6)

    assert str(count(crowd, SearchFilter.of({"type": "Payment"}))) == "6+"
    assert str(count(crowd, SearchFilter.of({"queue": "money"}))) == "6"


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "=", "YWZ0ZXI6", "YWZ0ZXI6JyBPUiAxPTE", "YWZ0ZXI6NUB4", "\x00", "é", "a" * 5_000, 5],
)
def test_a_hostile_cursor_is_refused(cursor: Any, sqlite_drive: gd.Drive) -> None:
    with pytest.raises(InvalidInput, match=r"^cursor must be the next_cursor of an earlier page"):
        search(sqlite_drive, SearchFilter(), cursor=cursor)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            {"stat": "x"},
            "where: there is no filter 'stat'. Did you mean 'state'? The filters are: ",
        ),
        ({"state": "bad"}, "where: state must be 'ready', 'performing', "),
        ({"needs": 5}, "where: needs must be 'operator', 'worker', "),
        ({"type": ""}, "where: type must not be empty."),
        ({"type": "x\x00"}, "where: type must not contain NUL or lone surrogates, got "),
        ({"created_after": "soon"}, "where: created_after must be a moment such as "),
        ({"created_after": "2026-01-01"}, "where: created_after must be a datetime with a time "),
        ("state=paused", "where must be a dictionary of filters, got 'state=paused'."),
    ],
)
def test_a_bad_filter_is_named(where: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        SearchFilter.of(where)

    assert str(raised.value).startswith(message)


def test_a_filter_is_the_same_when_it_is_written_and_read() -> None:
    wanted = SearchFilter.of({"state": "paused", "created_after": NOON, "q": "A-1"})

    assert SearchFilter.of(wanted.written) == wanted
