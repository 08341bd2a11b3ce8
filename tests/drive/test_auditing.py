"""Every command leaves one entry: who did what, when and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import speedrun


class Delivery(gd.Workflow[Any]):
    type_name = "test_auditing.Delivery"

    @gd.step
    def pack(self) -> None: ...

    @gd.step
    def ship(self) -> None: ...


def test_each_command_writes_one_entry(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    workflow.pause(reason="stock-taking", actor="ada")
    workflow.resume(reason="counted", actor="grace")
    workflow.resume_at("ship", reason="is packed", actor="ada")
    workflow.skip(reason="fetched by hand", actor="grace")

    assert [(e.command, e.actor, e.reason) for e in workflow.audit_entries] == [
        ("pause", "ada", "stock-taking"),
        ("resume", "grace", "counted"),
        ("resume_at", "ada", "is packed"),
        ("skip", "grace", "fetched by hand"),
    ]


def test_a_cancel_is_audited(geneva: gd.Drive) -> None:
    workflow = Delivery.create().cancel(reason="sold out", actor="ada")

    assert [(e.command, e.actor, e.reason) for e in workflow.audit_entries] == [
        ("cancel", "ada", "sold out")
    ]


def test_actor_and_reason_may_be_left_out(geneva: gd.Drive) -> None:
    [entry] = Delivery.create().pause().audit_entries

    assert (entry.actor, entry.reason) == (None, None)


def test_an_entry_tells_the_moment_of_the_command(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Delivery.create().pause()
    geneva_clock.advance(timedelta(hours=2))
    workflow.resume()

    paused, resumed = workflow.audit_entries
    assert resumed.at == workflow.updated_at
    assert timedelta(hours=2) <= resumed.at - paused.at < timedelta(hours=2, minutes=1)
    assert resumed.at.utcoffset() == timedelta(0)


def test_steps_write_no_entries(geneva: gd.Drive) -> None:
    assert speedrun(Delivery.create()).audit_entries == []


def test_a_refused_command_writes_no_entry(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    with pytest.raises(gd.errors.InvalidStateError):
        workflow.resume(actor="ada")

    assert workflow.audit_entries == []


def test_text_that_no_database_takes_is_made_safe(geneva: gd.Drive) -> None:
    workflow = Delivery.create().pause(reason="a NUL \x00", actor="ada \x00")

    [entry] = workflow.audit_entries
    assert entry.reason == workflow.paused_reason == "a NUL \N{SYMBOL FOR NULL}"
    assert entry.actor == "ada \N{SYMBOL FOR NULL}"


@pytest.mark.parametrize("argument", ["reason", "actor"])
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("pause", {}),
        ("resume", {}),
        ("resume_at", {"step": "pack"}),
        ("cancel", {}),
        ("skip", {}),
        ("reattempt", {"node": "pack"}),
        ("rewind", {"node": "pack"}),
        ("freeze_dag", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_actor_or_a_reason_that_is_no_text_is_refused(
    geneva: gd.Drive, command: str, arguments: dict[str, Any], argument: str
) -> None:
    workflow = Delivery.create()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        getattr(workflow, command)(**arguments, **{argument: 5})

    assert str(refusal.value) == f"{command}({argument}=...) must be text, got 5."
    assert workflow.reload().audit_entries == []


def test_an_actors_name_that_is_too_long_is_refused(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        workflow.pause(actor="x" * 256)

    assert str(refusal.value) == "The actor must be at most 255 characters long, got 256."
    assert workflow.reload().state == "ready"
