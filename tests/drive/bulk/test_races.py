"""A bulk beside operators who command the same workflows."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.bulk import bulk_run, selection
from geneva_drive.errors import InvalidStateError
from geneva_drive.testing import perform_next_step

COUNT = 40


class Letter(gd.Workflow):
    @gd.step(wait="1h")
    def send(self) -> None: ...


def test_each_workflow_is_paused_by_the_bulk_or_by_the_operator(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_run, "_PORTION", 5)
    letters = [Letter.using(geneva).create() for _ in range(COUNT)]
    bulk = geneva.bulk("pause", {"type": "Letter"}, actor="bulk")
    won: list[Any] = []

    def operate() -> None:
        for one in reversed(letters):
            try:
                one.pause(actor="bob")
            except InvalidStateError:
                return
            won.append(one.id)

    operator = threading.Thread(target=operate)
    operator.start()
    perform_next_step(bulk)
    operator.join()

    entries = {one.id: [each.actor for each in one.reload().audit_entries] for one in letters}
    assert entries == {one.id: ["bob" if one.id in won else "bulk"] for one in letters}
    result = bulk.reload().result
    assert (result["applied"], result["passed_over"]) == (COUNT - len(won), len(won))


@pytest.mark.databases("postgresql", "mysql")  # only one transaction writes at a time
def test_a_workflow_that_changes_between_look_and_lock_is_passed_over(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Letter.using(geneva).create() for _ in range(2))
    bulk = geneva.bulk("cancel", {"type": "Letter", "state": "ready"})
    found = selection.Selection.portion

    def portion(self: Any, *args: Any) -> Any:
        answer = found(self, *args)
        # In a transaction of its own, as another process would.
        act = threading.Thread(target=second.pause, kwargs={"actor": "bob"})
        act.start()
        act.join()
        return answer

    monkeypatch.setattr(selection.Selection, "portion", portion)
    perform_next_step(bulk)

    assert [str(one.reload().state) for one in (first, second)] == ["canceled", "paused"]
    assert bulk.reload().result["passed_over"] == 1
