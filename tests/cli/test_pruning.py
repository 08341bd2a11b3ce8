"""`geneva prune`."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run, WriteApp


def _finish(count: int) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    for _ in range(count):
        speedrun(Short.create())


@pytest.mark.parametrize(
    ("count", "words"),
    [
        pytest.param(1, "Deleted 1 workflow.\n", id="one"),
        pytest.param(2, "Deleted 2 workflows.\n", id="two"),
    ],
)
def test_prune_deletes_what_ended_longer_ago(
    geneva: gd.Drive, geneva_clock: ShiftedClock, run: Run, count: int, words: str
) -> None:
    _finish(count)
    geneva_clock.advance(timedelta(days=91))

    result = run("prune", "--older-than", "90d")

    assert (result.exit_code, result.stdout) == (0, words)
    assert geneva.workflows(gd.Workflow).query().count() == 0


def test_prune_keeps_what_ended_lately(
    geneva: gd.Drive, geneva_clock: ShiftedClock, run: Run
) -> None:
    _finish(1)
    geneva_clock.advance(timedelta(days=89))

    result = run("prune", "--older-than", "90d", "--json")

    assert json.loads(result.stdout) == {"deleted": 0}
    assert geneva.workflows(gd.Workflow).query().count() == 1


def test_without_older_than_the_setting_retention_rules(
    geneva: gd.Drive, geneva_clock: ShiftedClock, run: Run, write_app: WriteApp
) -> None:
    geneva_clock.advance(timedelta(hours=-2))
    _finish(1)
    app = write_app(
        "retaining_app",
        f"import geneva_drive as gd\ngd.configure({geneva.database_url!r}, retention='1h')\n",
    )

    result = run("--app", app, "prune", "--json")

    assert json.loads(result.stdout) == {"deleted": 1}
