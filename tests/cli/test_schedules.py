"""`geneva schedules` and its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen
from tests.scheduling import set_clock


@pytest.fixture
def report(standing: gd.Drive) -> Iterator[type[gd.Workflow]]:
    """A schedule that a worker has seen, at 03:04 on a Friday; its class lives with the test."""

    class Report(gd.Workflow):
        schedule = gd.cron("0 9 * * 1-5", timezone="Europe/Amsterdam")

        @gd.step(wait="30d")
        def send(self) -> None: ...

    drain(standing)
    yield Report  # noqa: PT022 - classes are known weakly; this frame keeps it


def drain_at(drive: gd.Drive, hour: int) -> None:
    set_clock(drive, datetime(2026, 1, 2, hour, 0, 1, tzinfo=UTC))
    drain(drive)


def test_schedules_are_listed_with_their_next_and_last_runs(
    standing: gd.Drive, report: type[gd.Workflow], run: Run
) -> None:
    class Cleanup(gd.Workflow):
        schedule = gd.cron("0 3 * * *")

    drain_at(standing, 8)
    standing.schedules.pause(report, actor="ann")

    result = run("schedules")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Type     Cron         Time zone         Next run (UTC)       Last run (UTC)                  State
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────
        Cleanup  0 3 * * *    UTC               2026-01-03 03:00:00                                  active
        Report   0 9 * * 1-5  Europe/Amsterdam                       2026-01-02 08:00:00 workflow 1  paused by ann
    """)  # noqa: E501 - as wide as a pipe


def test_a_schedule_that_no_worker_has_seen_is_listed_as_such(standing: gd.Drive, run: Run) -> None:
    class Cleanup(gd.Workflow):
        schedule = gd.cron("0 4 * * *")

    assert screen(run("schedules")).splitlines()[-1].split("  ")[-1] == "no worker has seen it"


def test_without_schedules_the_way_to_one_is_told(geneva: gd.Drive, run: Run) -> None:
    assert run("schedules").stdout == (
        "No schedules found. A workflow class has one if it sets schedule = gd.cron(...); name the "
        "module with --app. A document has one if its trigger is a schedule.\n"
    )


def test_a_schedule_is_paused_and_resumed(
    standing: gd.Drive, report: type[gd.Workflow], run: Run
) -> None:
    paused = json.loads(run("schedules", "pause", "Report", "--json").stdout)
    resumed = json.loads(run("schedules", "resume", "Report", "--json").stdout)
    shown = run("schedules", "pause", "Report", "--actor", "bob", "--reason", "Strike.")

    assert (paused["paused_by"], paused["paused_at"], paused["next_at"]) == (
        "ada",
        "2026-01-02T03:04:05Z",
        None,
    )
    assert resumed == {
        "type": "Report",
        "cron": "0 9 * * 1-5",
        "timezone": "Europe/Amsterdam",
        "overlap": "skip",
        "missed": "latest",
        "jitter_seconds": None,
        "next_at": "2026-01-02T08:00:00Z",
        "paused_at": None,
        "paused_by": None,
        "paused_reason": None,
        "seen_at": "2026-01-02T03:04:05Z",
        "queued_count": 0,
        "last_run": None,
    }
    assert "paused by bob: Strike." in " ".join(shown.stdout.split())


def test_a_run_by_hand_says_what_became_of_it(
    standing: gd.Drive, report: type[gd.Workflow], run: Run
) -> None:
    first = run("schedules", "run", "Report")
    second = json.loads(run("schedules", "run", "Report", "--json").stdout)
    drain_at(standing, 8)

    assert first.stdout == "Report: workflow 1\n"
    assert (second["state"], second["skipped_reason"], second["blocked_by"]) == (
        "skipped",
        "overlap",
        1,
    )
    assert screen(run("schedules", "runs", "Report")) == drawn("""
        At (UTC)             Result                            By
        ───────────────────────────────────────────────────────────────
        2026-01-02 08:00:00  skipped: overlap with workflow 1  schedule
        2026-01-02 03:04:05  skipped: overlap with workflow 1  ada
        2026-01-02 03:04:05  workflow 1                        ada
    """)
    listed = json.loads(run("schedules", "runs", "Report", "--json", "--limit", "2").stdout)
    assert [one["at"] for one in listed["items"]] == [
        "2026-01-02T08:00:00Z",
        "2026-01-02T03:04:05.000001Z",
    ]


def test_a_schedule_that_has_not_run_says_so(report: type[gd.Workflow], run: Run) -> None:
    assert run("schedules", "runs", "Report").stdout == "It has not run yet.\n"


def test_the_next_moments_are_printed_in_local_time_and_in_utc(
    report: type[gd.Workflow], run: Run
) -> None:
    assert screen(run("schedules", "next", "Report", "--count", "2")) == drawn("""
        Local time                    UTC
        ─────────────────────────────────────────────────
        Fri 2026-01-02 09:00:00  CET  2026-01-02 08:00:00
        Mon 2026-01-05 09:00:00  CET  2026-01-05 08:00:00
    """)
    assert json.loads(run("schedules", "next", "Report", "--count", "1", "--json").stdout) == {
        "items": ["2026-01-02T09:00:00+01:00"]
    }


def test_doctor_names_schedules_that_no_worker_serves(
    standing: gd.Drive, report: type[gd.Workflow], run: Run
) -> None:
    alone = _checks(run)["schedules"]
    with standing.worker():
        served = _checks(run)["schedules"]
    standing.schedules.pause(report)

    assert (alone["finding"], alone["found"], alone["way_out"]) == (
        "problem",
        "No live worker has the class of Report, so its runs do not start.",
        "Start a worker whose --app imports it, or `geneva schedules pause TYPE`.",
    )
    assert (served["finding"], served["found"]) == ("ok", "Workers serve every schedule.")
    assert "schedules" not in _checks(run)


def _checks(run: Run) -> dict[str, dict[str, str]]:
    checks = json.loads(run("doctor", "--json").stdout)["checks"]
    return {check["name"]: check for check in checks}
