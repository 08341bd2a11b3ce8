"""`geneva bulk`."""

from __future__ import annotations

import json

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.cli.conftest import Run


class Letter(gd.Workflow):
    @gd.step(wait="1h")
    def send(self) -> None: ...


@pytest.fixture
def letters(geneva: gd.Drive) -> list[gd.WorkflowHandle[Letter]]:
    return [Letter.using(geneva).create() for _ in range(2)]


def test_a_dry_run_prints_the_count_and_the_first(
    run: Run, letters: list[gd.WorkflowHandle[Letter]]
) -> None:
    result = run("bulk", "cancel", "--where", "type=Letter", "--dry-run")

    assert result.exit_code == 0
    assert result.stdout.startswith("2 workflows will be canceled.\n")
    assert [one.reload().state for one in letters] == ["ready", "ready"]


def test_a_dry_run_as_json_is_the_body_of_the_rest_api(
    run: Run, letters: list[gd.WorkflowHandle[Letter]]
) -> None:
    result = run("bulk", "cancel", "--where", "type=Letter", "--dry-run", "--json")

    body = json.loads(result.stdout)
    assert (body["count"], [one["id"] for one in body["sample"]]) == (2, [1, 2])


def test_a_bulk_starts_with_yes_and_names_its_counts(
    run: Run, geneva: gd.Drive, letters: list[gd.WorkflowHandle[Letter]]
) -> None:
    started = run("bulk", "pause", "--where", "type=Letter", "--reason", "strike", "--yes")
    drain(geneva)
    shown = run("show", "3", "--json")

    assert started.stdout.startswith(
        "Bulk 3 is ready: 0 of 2 done, 0 applied, 0 passed over, 0 failed again.\n"
    )
    assert json.loads(shown.stdout)["bulk"]["applied"] == 2
    entries = [entry for one in letters for entry in one.reload().audit_entries]
    assert [(one.actor, one.reason) for one in entries] == [("ada", "strike")] * 2


def test_a_bulk_waits_for_its_end_while_a_worker_lives(
    run: Run, geneva: gd.Drive, letters: list[gd.WorkflowHandle[Letter]]
) -> None:
    with geneva.worker(concurrency=1):
        result = run("bulk", "pause", "--where", "type=Letter", "--yes", "--json")

    body = json.loads(result.stdout)
    assert (body["state"], body["total"], body["done"]) == ("finished", 2, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ("--where", "type=Letter"),
            "2 workflows will be canceled. There is no terminal to confirm it at: pass --yes.",
            id="unasked",
        ),
        pytest.param((), "bulk(where=...) is empty, which would select every", id="everything"),
        pytest.param(("--where", "Letter"), "must have the form KEY=VALUE", id="no key"),
        pytest.param(("--where", "typ=Letter"), "Did you mean 'type'?", id="misspelled"),
        pytest.param(
            ("--where", "type=Letter", "--first", "1"), "cancel runs none", id="first of cancel"
        ),
    ],
)
def test_a_bulk_that_is_not_meant_changes_nothing(
    run: Run,
    geneva: gd.Drive,
    letters: list[gd.WorkflowHandle[Letter]],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    result = run("bulk", "cancel", *arguments)

    assert result.exit_code == 2
    assert words in result.stderr
    assert geneva.workflows(gd.Workflow).query().count() == 2
