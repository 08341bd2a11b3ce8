"""What must hold of the load, whatever trouble its database was in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from sqlalchemy import select

import geneva_drive as gd
from tests.scenarios.trouble import batch
from tests.scenarios.trouble.ledger import Body, BodyRun, Ledger

# A checkpoint that follows an item takes at most this long where nothing is wrong.
CHECKPOINT_SECONDS = 1.0
MOST_LINES = 6  # that a worker may log in one trouble
# The line of each step that was given back, and the answer to SIGTERM.
OTHER_LINES = ("WARNING:geneva_drive:[", "Stopping: ")
ENDINGS = {
    ("completed", "success"),
    ("skipped", "skipped_by_condition"),
    ("failed", "recovered"),
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """A time in which the database was in trouble."""

    began: float
    ended: float

    def interrupted(self, run: BodyRun, checkpoint_seconds: float) -> bool:
        """True if a run was going on at some time in this trouble."""
        is_over_before = run.ended is not None and run.ended + checkpoint_seconds < self.began
        return run.began < self.ended and not is_over_before


def assert_whole(
    drive: gd.Drive,
    application: ModuleType,
    ledger: Ledger,
    keys: Sequence[str],
    troubles: Sequence[Trouble],
) -> None:
    """Compare what is recorded with what was asked for, and with what the bodies noted."""
    runs = ledger.runs()
    ended = {body for body, each in runs.items() if any(run.ended for run in each)}
    expected = batch.expected_bodies(keys)
    _assert_none("Steps were blamed for the trouble", _blamed_executions(drive))
    _assert_same("Workflows", _states(drive), _expected_states(keys))
    _assert_none("Bodies never ran to their end", expected - ended)
    _assert_none("Bodies ran that should not", runs.keys() - expected)
    _assert_same("Effects", _effects(drive, application), batch.expected_effects(keys))
    # A transactional body is judged by its effect: after a deadlock, or a statement that took too
    # long on a busy machine, it is rolled back and runs again, trouble or not.
    judged = {body: each for body, each in runs.items() if not batch.is_transactional(body)}
    _assert_none("Bodies ran again without being interrupted", _repeated(judged, troubles))


def assert_logs_are_short(logs: Sequence[str], troubles: Sequence[Trouble]) -> None:
    """The workers met the trouble, and wrote a few lines about it: no error and no traceback."""
    written = [_lines(log) for log in logs]
    assert any(written), "No worker noticed that its database was in trouble."
    for log, lines in zip(logs, written, strict=True):
        assert "Traceback" not in log, "A worker logged a traceback."
        _assert_none("Errors were logged", [line for line in lines if line.startswith("ERROR")])
        most = MOST_LINES * len(troubles)
        assert len(lines) <= most, f"A worker logged {len(lines)} lines, more than {most}."


def _lines(log: str) -> list[str]:
    return [line for line in log.splitlines() if not line.startswith(OTHER_LINES)]


def _blamed_executions(drive: gd.Drive) -> list[str]:
    """Return a line for each execution that ended, or waits, in another way than it should."""
    found = []
    for execution in drive.executions():
        if (execution.state, execution.outcome) not in ENDINGS:
            workflow = gd.Workflow.using(drive).find(execution.workflow_id)
            error = str(execution.error_message).splitlines()[0]
            found.append(
                f"{workflow.context['key']} {execution.step_name} (attempt "
                f"{execution.attempt_number}): {execution.state} / {execution.outcome}; "
                f"{execution.error_class}: {error}; {workflow.why()}"
            )
    return found


def _states(drive: gd.Drive) -> Counter[tuple[str, str]]:
    workflows = gd.Workflow.using(drive).query()
    return Counter((workflow.context["key"], str(workflow.state)) for workflow in workflows)


def _expected_states(keys: Sequence[str]) -> Counter[tuple[str, str]]:
    return Counter((key, "finished") for key in batch.expected_workflows(keys))


def _effects(drive: gd.Drive, application: ModuleType) -> Counter[Body]:
    effect = application.Effect
    with drive.engine.connect() as connection:
        rows = connection.execute(select(effect.workflow_key, effect.body))
        return Counter((row[0], row[1]) for row in rows)


def _repeated(runs: dict[Body, list[BodyRun]], troubles: Sequence[Trouble]) -> list[str]:
    """Return a line for each run that no trouble interrupted, and after which another came."""
    found = []
    for body, each in runs.items():
        seconds = CHECKPOINT_SECONDS if batch.ends_with_a_checkpoint(body) else 0
        found += [
            f"{' '.join(body)}: {run}, {troubles}"
            for run in each[:-1]
            if not any(trouble.interrupted(run, seconds) for trouble in troubles)
        ]
    return found


def _assert_same(
    what: str, found: Counter[tuple[str, str]], expected: Counter[tuple[str, str]]
) -> None:
    _assert_none(f"{what} are missing", (expected - found).items())
    _assert_none(f"{what} are there once more than they should", (found - expected).items())


def _assert_none(what: str, found: Iterable[object]) -> None:
    lines = sorted(str(each) for each in found)
    assert lines == [], "\n".join([f"{what}:", *lines])
