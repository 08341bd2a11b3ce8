"""`drive.failures()` groups what failed by what is alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.failures import failures as failing
from geneva_drive.drive.failures.failures import FailureGroup
from geneva_drive.drive.failures.message_pattern import normalised
from geneva_drive.drive.views.execution_bodies import dead_letter_body
from geneva_drive.errors import InvalidInput
from geneva_drive.testing import drain
from tests.scheduling import set_clock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Charge(gd.Workflow):
    @gd.step
    def pay(self) -> None:
        if "fails" in self.context:
            raise ValueError(self.context["fails"])


class Stubborn(gd.Workflow):
    @gd.step(retry=gd.Retry(max=5, backoff=3600))
    def insist(self) -> None:
        raise KeyError("door")


@pytest.fixture
def noon(geneva: gd.Drive) -> gd.Drive:
    set_clock(geneva, NOON)
    return geneva


def fail(drive: gd.Drive, message: str) -> gd.WorkflowHandle[Charge]:
    workflow = Charge.using(drive).create(context={"fails": message})
    drain(drive)
    return workflow.reload()


def told(groups: list[FailureGroup]) -> list[tuple[Any, ...]]:
    return [(one.type, one.step, one.message, one.standing, one.count) for one in groups]


def test_failures_that_are_alike_are_one_group(noon: gd.Drive) -> None:
    first = fail(noon, "order 17 of 'ann' is gone")
    set_clock(noon, NOON + timedelta(minutes=5))
    second = fail(noon, "order 18 of 'bob' is gone")
    fail(noon, "no connection")

    both, alone = noon.failures()

    assert both == FailureGroup(
        type="Charge",
        step="pay",
        error_class="builtins.ValueError",
        message="order <number> of <quoted> is gone",
        standing=failing.Standing.PAUSED,
        count=2,
        is_count_exact=True,
        first=NOON,
        last=NOON + timedelta(minutes=5),
        sample_ids=(second.id, first.id),
        moments=(NOON, NOON + timedelta(minutes=5)),
    )
    assert told([alone]) == [("Charge", "pay", "no connection", "paused", 1)]


def test_the_latest_failures_of_a_group_have_their_tracebacks(noon: gd.Drive) -> None:
    first = fail(noon, "order 17 is gone")
    set_clock(noon, NOON + timedelta(minutes=5))
    second = fail(noon, "order 18 is gone")
    store, ids = noon.store, [first.id, second.id]

    with store.reading() as connection:
        found = store.failures.latest_of(connection, ids, "pay", "builtins.ValueError", 5)
        unknown = store.failures.latest_of(connection, ids, "pay", None, 5)

    assert [(one.workflow_id, one.message) for one in found] == [
        (second.id, "order 18 is gone"),
        (first.id, "order 17 is gone"),
    ]
    assert "in pay" in (found[0].backtrace or "")
    assert unknown == []


def test_a_workflow_that_stands_paused_is_there_whatever_its_age(noon: gd.Drive) -> None:
    fail(noon, "old and paused")
    ended = fail(noon, "old and ended")
    ended.cancel()
    set_clock(noon, NOON + timedelta(days=30))
    fail(noon, "new and ended").cancel()

    assert told(noon.failures(since="1h")) == [
        ("Charge", "pay", "old and paused", "paused", 1),
        ("Charge", "pay", "new and ended", "ended", 1),
    ]
    assert told(noon.failures(since=NOON))[1:] == [
        ("Charge", "pay", "new and ended", "ended", 1),
        ("Charge", "pay", "old and ended", "ended", 1),
    ]


def test_a_node_that_failed_several_times_counts_once_and_stands_as_its_last(
    noon: gd.Drive,
) -> None:
    workflow = Stubborn.using(noon).create()
    drain(noon)
    set_clock(noon, NOON + timedelta(hours=2))
    drain(noon)
    reattempting = told(noon.failures())
    set_clock(noon, NOON + timedelta(hours=3))
    workflow.reload().pause()
    workflow.reload().cancel()

    assert reattempting == [("Stubborn", "insist", "<quoted>", "reattempting", 1)]
    assert told(noon.failures()) == [("Stubborn", "insist", "<quoted>", "ended", 1)]


def test_a_failure_whose_step_went_on_later_has_ended(noon: gd.Drive) -> None:
    workflow = fail(noon, "a moment")
    workflow.skip()
    drain(noon)

    assert told(noon.failures()) == [("Charge", "pay", "a moment", "ended", 1)]


def test_more_failures_than_are_read_are_counted_at_least(
    noon: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failing, "_MOST_READ", 2)
    fail(noon, "no connection")
    fail(noon, "no connection")
    fail(noon, "no connection")

    [group] = noon.failures()

    assert (group.count, group.is_count_exact) == (3, False)


def test_a_dead_letter_knows_its_group(noon: gd.Drive) -> None:
    workflow = fail(noon, "order 17 is gone")
    entry = noon.dead_letters.add(workflow, actor="ann")

    assert dead_letter_body(entry)["failure"] == {
        "step": "pay",
        "error_class": "builtins.ValueError",
        "message": "order <number> is gone",
    }


def test_a_bad_window_is_refused(sqlite_drive: gd.Drive) -> None:
    with pytest.raises(InvalidInput, match=r"^failures\(since=\.\.\.\): "):
        sqlite_drive.failures(since="yesterday")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("order 17 is late", "order <number> is late"),
        ("HTTP 503 after 1.5s", "HTTP <number> after <number>s"),
        ("no 'a\\'b' and \"x y\" and `z`", "no <quoted> and <quoted> and <quoted>"),
        ("it's Ann's turn", "it's Ann's turn"),
        ("row 0a1b2c3d-0000-4000-8000-00000000000f", "row <id>"),
        ("at 0x7f61d68ebb00", "at <hex>"),
        ("commit 35c9885ab of defaced", "commit <hex> of defaced"),
        ("at 2026-03-02T12:00:00Z", "at <number>"),
        ("timed out (request 7f258c, req_1Ab9Kz)", "timed out (request <token>, <token>)"),
        ("no utf8 on x86_64 after 10ms", "no utf8 on x86_64 after <number>ms"),
        ("utf8 and sha256 stay", "utf8 and sha256 stay"),
        ("first line\nsecond 2", "first line"),
        ("'" + "x" * 100_000, "'" + "x" * 299),
        (None, ""),
    ],
)
def test_a_message_is_normalised(message: str | None, expected: str) -> None:
    assert normalised(message) == expected
