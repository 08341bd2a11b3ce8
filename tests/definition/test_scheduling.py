"""What of a job's options is stored with its nodes."""

from __future__ import annotations

from datetime import timedelta

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic import job_options, jobs
from geneva_drive.definition.dynamic.job_options import Scheduling


def test_nothing_is_stored_of_a_job_without_such_options() -> None:
    with jobs.isolated():

        @gd.job(name="plain", retry=gd.Retry(max=3), keep_result=True)
        def plain() -> None: ...

    assert plain.scheduling.dump() is None


def test_only_what_was_given_is_stored() -> None:
    with jobs.isolated():

        @gd.job(name="limited", priority=0, limit=gd.Limit(concurrency=2))
        def limited() -> None: ...

    assert limited.scheduling.dump() == '{"priority": 0, "is_limited": true}'


@pytest.mark.parametrize(
    "given",
    [
        Scheduling(queue="mail", is_limited=False),
        Scheduling(priority=-5, is_limited=True),
        Scheduling(wait=timedelta(days=400, microseconds=1), is_limited=False),
    ],
    ids=["queue", "priority and limit", "wait"],
)
def test_what_is_stored_is_read_back_as_it_was(given: Scheduling) -> None:
    text = given.dump()

    assert text is not None
    assert job_options.load(text) == given
