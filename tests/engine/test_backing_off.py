"""How long a policy waits before the next attempt."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain, perform_next_step
from tests.looking import history, waits


def failing(error: Exception, policy: gd.ExceptionPolicy) -> gd.WorkflowHandle[Any]:
    class Delivery(gd.Workflow):
        @gd.step(on_exception=policy)
        def pack(self) -> None:
            raise error

    return Delivery.create()


def seconds_between_attempts(workflow: gd.WorkflowHandle[Any], attempts: int) -> list[float]:
    for _ in range(attempts):
        perform_next_step(workflow)
    return [wait.total_seconds() for wait in waits(workflow)]


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (None, [0, 0, 0]),
        (30, [30, 30, 30]),
        (timedelta(minutes=1), [60, 60, 60]),
        (gd.exponential(base=1, factor=2, cap=3, jitter=0), [1, 2, 3]),
        (gd.linear(base=5, increment=10, cap=60, jitter=0), [5, 15, 25]),
        (lambda attempt: attempt * 7, [7, 14, 21]),
        (lambda attempt: timedelta(hours=attempt), [3600, 7200, 10800]),
    ],
    ids=["none", "seconds", "timedelta", "exponential", "linear", "function", "function of spans"],
)
def test_a_reattempt_is_scheduled_after_the_policys_wait(
    geneva: gd.Drive, wait: Any, expected: list[float]
) -> None:
    workflow = failing(ValueError(), gd.ExceptionPolicy("reattempt", wait=wait))

    assert seconds_between_attempts(workflow, 3) == expected


def test_jitter_stays_within_its_share(geneva: gd.Drive) -> None:
    policy = gd.ExceptionPolicy("reattempt", wait=gd.exponential(base=100, cap=100, jitter=0.1))

    [wait] = seconds_between_attempts(failing(ValueError(), policy), 1)

    assert 90 <= wait <= 110


def test_a_reattempt_runs_once_its_time_has_come(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = failing(ValueError(), gd.ExceptionPolicy("reattempt", wait=60, max_reattempts=1))
    drain(geneva)
    geneva_clock.advance(timedelta(seconds=50))

    assert drain(geneva) == 0

    geneva_clock.advance(timedelta(seconds=11))

    assert drain(geneva) == 1
    assert workflow.reload().state == "paused"


@pytest.mark.parametrize("retry_after", [90, timedelta(seconds=90)], ids=repr)
def test_a_retryable_error_sets_the_wait(geneva: gd.Drive, retry_after: timedelta | int) -> None:
    error = gd.RetryableError("slow down", retry_after=retry_after)

    workflow = failing(error, gd.ExceptionPolicy("reattempt", wait=5))

    assert seconds_between_attempts(workflow, 1) == [90]


def test_a_retryable_error_without_a_time_leaves_the_policys_wait(geneva: gd.Drive) -> None:
    workflow = failing(gd.RetryableError("again"), gd.ExceptionPolicy("reattempt", wait=5))

    assert seconds_between_attempts(workflow, 1) == [5]


def test_a_retryable_error_counts_like_any_other(geneva: gd.Drive) -> None:
    error = gd.RetryableError("slow down", retry_after=90)
    workflow = failing(error, gd.ExceptionPolicy("reattempt", max_reattempts=1))

    seconds_between_attempts(workflow, 2)

    assert history(workflow) == [
        ("pack", "failed", "reattempted_by_exception"),
        ("pack", "failed", "paused_by_exception"),
    ]


@pytest.mark.parametrize("backoff", ["exponential", "linear"])
def test_a_retrys_back_off_starts_at_about_a_second(geneva: gd.Drive, backoff: Any) -> None:
    workflow = failing(ValueError(), gd.Retry(max=3, backoff=backoff).policy)

    [wait] = seconds_between_attempts(workflow, 1)

    assert 0.9 <= wait <= 1.1


def test_a_back_off_counts_the_failures_of_its_own_policy(geneva: gd.Drive) -> None:
    errors: Callable[[], Exception] = iter([KeyError(), KeyError(), ValueError()]).__next__

    class Delivery(gd.Workflow):
        @gd.step(
            on_exception=[
                gd.ExceptionPolicy("reattempt", matching=KeyError, wait=lambda n: n * 10),
                gd.ExceptionPolicy("reattempt", wait=lambda n: n * 100),
            ]
        )
        def pack(self) -> None:
            raise errors()

    assert seconds_between_attempts(Delivery.create(), 3) == [10, 20, 100]
