"""The ledger of the soak's storm finds what the library's own history would not tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.scenarios import programs
from tests.soak.storm_ledger import Answer, assert_the_storm_is_on_record


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv(programs.FOLDER, str(folder))
    yield folder
    programs.notes.cache_clear()


@pytest.fixture
def skipping(geneva: gd.Drive, effects: None, load: ModuleType, notes: Path) -> Answer:
    """A workflow that ran to its end, and the one command that it was given."""
    workflow = load.Load.create().skip(actor="client")
    drain(geneva)
    return Answer(workflow_id=workflow.id, command="skip", actor="client", is_accepted=True)


def test_a_storm_that_is_on_record_is_whole(
    geneva: gd.Drive, load: ModuleType, notes: Path, skipping: Answer
) -> None:
    assert_the_storm_is_on_record(geneva, notes, [skipping], load.STEPS, 1)


def test_a_command_that_was_accepted_and_is_not_on_record_is_found(
    geneva: gd.Drive, load: ModuleType, notes: Path, skipping: Answer
) -> None:
    lost = replace(skipping, actor="another client")

    with pytest.raises(AssertionError):
        assert_the_storm_is_on_record(geneva, notes, [skipping, lost], load.STEPS, 1)


def test_a_command_that_was_refused_and_is_on_record_is_found(
    geneva: gd.Drive, load: ModuleType, notes: Path, skipping: Answer
) -> None:
    refused = replace(skipping, is_accepted=False)

    with pytest.raises(AssertionError):
        assert_the_storm_is_on_record(geneva, notes, [refused], load.STEPS, 1)


@pytest.mark.parametrize("step", ["one", "two"], ids=["skipped", "done before"])
def test_a_body_that_ran_and_should_not_have_is_found(
    geneva: gd.Drive, load: ModuleType, notes: Path, skipping: Answer, step: str
) -> None:
    line = f"{skipping.workflow_id} {step} 1 2025-01-01T00:00:00+00:00\n"
    (notes / "another process").write_text(line)

    with pytest.raises(AssertionError):
        assert_the_storm_is_on_record(geneva, notes, [skipping], load.STEPS, 1)
