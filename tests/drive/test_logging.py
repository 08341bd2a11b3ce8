"""Lines in the log: each carries the ids of what it is about."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import speedrun

ADA = gd.HeroRef("Pilot", "ada")


class Delivery(gd.Workflow[Any]):
    type_name = "test_logging.Delivery"

    @gd.step
    def pack(self) -> None:
        self.logger.info("packed in %s box", self.context.get("box", "a"))


def test_every_state_change_is_a_line(geneva: gd.Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="geneva_drive")
    workflow = speedrun(Delivery.create(ADA))
    execution = workflow.step_executions[0].id

    prefix = f"test_logging.Delivery workflow={workflow.id} hero=Pilot/ada"
    step = f"[{prefix} step=pack execution={execution}]"
    lines = [record.getMessage() for record in caplog.records if record.name == "geneva_drive"]
    assert lines == [
        f"[{prefix}] workflow new -> ready",
        f"{step} step new -> scheduled",
        f"{step} step scheduled -> in_progress",
        f"{step} step in_progress -> completed (success)",
        f"{step} workflow ready -> finished (success)",
    ]


def test_a_line_carries_the_ids_as_fields(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="geneva_drive")
    workflow = Delivery.create(ADA)

    record: Any = caplog.records[-1]
    assert record.geneva_type == "test_logging.Delivery"
    assert record.geneva_workflow_id == workflow.id
    assert (record.geneva_hero_type, record.geneva_hero_id) == ("Pilot", "ada")
    assert record.geneva_step_name == "pack"
    assert record.geneva_execution_id == workflow.step_executions[0].id


def test_a_failed_step_is_a_warning(geneva: gd.Drive, caplog: pytest.LogCaptureFixture) -> None:
    class Torn(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise ValueError("torn")

    caplog.set_level(logging.WARNING, logger="geneva_drive")
    workflow = speedrun(Torn.create())
    execution = workflow.step_executions[0].id

    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        (
            "WARNING",
            f"[Torn workflow={workflow.id} step=pack execution={execution}] "
            f"step in_progress -> failed (paused_by_exception): ValueError: torn",
        )
    ]


def test_a_steps_own_logger_carries_the_ids(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="tests")
    workflow = speedrun(Delivery.create(ADA, context={"box": "a red"}))
    execution = workflow.step_executions[0].id

    [record] = [r for r in caplog.records if r.name == "tests.drive.test_logging.Delivery"]
    fields: Any = record
    assert record.getMessage() == (
        f"[test_logging.Delivery workflow={workflow.id} hero=Pilot/ada step=pack "
        f"execution={execution}] packed in a red box"
    )
    assert fields.geneva_workflow_id == workflow.id
    assert fields.geneva_execution_id == execution
    assert fields.geneva_step_name == "pack"
    assert (fields.geneva_hero_type, fields.geneva_hero_id) == ("Pilot", "ada")


def test_a_percent_sign_in_an_id_spoils_no_line(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    speedrun(Delivery.create(gd.HeroRef("Rate", "5%d")))

    [line] = [r.getMessage() for r in caplog.records if r.name.startswith("tests.")]
    assert "hero=Rate/5_d" in line
    assert line.endswith("packed in a box")


def test_a_steps_own_fields_are_kept_beside_the_ids(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    class Weigh(gd.Workflow):
        @gd.step
        def weigh(self) -> None:
            self.logger.warning("heavy", extra={"weight": 40})

    speedrun(Weigh.create())

    record: Any = next(r for r in caplog.records if r.getMessage().endswith("heavy"))
    assert (record.weight, record.geneva_step_name) == (40, "weigh")
