"""Twenty people in five processes want to decide the same: one does, and the others are told."""

from __future__ import annotations

from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.approval_races import Course, assert_whole, run_all
from tests.scenarios.conftest import StartProcess

pytestmark = pytest.mark.scenario


def test_of_twenty_acts_on_one_approval_exactly_one_takes_effect(
    geneva: gd.Drive, approvals: ModuleType, start: StartProcess
) -> None:
    course = Course(geneva, approvals, start, processes=5)

    run_all(course)

    course.stop()
    assert_whole(geneva)
