"""The pytest plugin in a project of somebody else's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from textwrap import dedent

import pytest

IS_DEFAULT = """
    import geneva_drive as gd
    from geneva_drive.testing import speedrun

    class Greeting(gd.Workflow):
        @gd.step
        def greet(self): ...

    def test_it(geneva):
        assert gd.current_drive() is geneva
        assert speedrun(Greeting.create()).state == "finished"
"""

IS_EMPTY = """
    import geneva_drive as gd

    class Welcome(gd.Workflow):
        @gd.step
        def greet(self): ...

    def test_one(geneva):
        Welcome.create()
        assert Welcome.ready().count() == 1

    def test_two(geneva):
        Welcome.create()
        assert Welcome.ready().count() == 1
"""

OWN_DATABASE = """
    import pytest
    import geneva_drive as gd

    class Letter(gd.Workflow):
        @gd.step
        def greet(self): ...

    @pytest.fixture
    def geneva_database_url(tmp_path_factory):
        return f"sqlite:///{tmp_path_factory.getbasetemp() / 'shared.db'}"

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(geneva, number):
        Letter.create(gd.HeroRef("User", "1"))
        assert Letter.ready().count() == 1
        assert geneva.database_url.endswith("shared.db")
"""

CLASSES_OF_TESTS = """
    import geneva_drive as gd

    kept = []

    def test_one(geneva):
        class Farewell(gd.Workflow): ...
        kept.append(Farewell)

    def test_two(geneva):
        class Farewell(gd.Workflow): ...
        kept.append(Farewell)
"""

CLOCK = """
    from datetime import timedelta
    import geneva_drive as gd
    from geneva_drive.testing import drain

    class Reminder(gd.Workflow):
        @gd.step(wait=timedelta(days=2))
        def remind(self): ...

    def test_it(geneva, geneva_clock):
        workflow = Reminder.create()
        assert drain(geneva) == 0
        geneva_clock.advance(timedelta(days=2))
        assert drain(geneva) == 1
"""

FAILURE = """
    import geneva_drive as gd

    class Apology(gd.Workflow):
        @gd.step
        def greet(self): ...

    def test_one(geneva):
        Apology.create()
        assert False

    def test_two(geneva):
        assert Apology.ready().count() == 0
"""

PROJECT = {
    "is_default": IS_DEFAULT,
    "is_empty": IS_EMPTY,
    "own_database": OWN_DATABASE,
    "classes_of_tests": CLASSES_OF_TESTS,
    "clock": CLOCK,
    "failure": FAILURE,
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What pytest says of each test of the project, by module; run in one process."""
    folder = tmp_path_factory.mktemp("project")
    for name, source in PROJECT.items():
        (folder / f"test_{name}.py").write_text(dedent(source))
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), "--basetemp", str(folder / "temporary")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"},
    )
    said = re.findall(r"^test_(\w+)\.py::\S+ ([A-Z]+)", done.stdout, re.MULTILINE)
    return {name: [word for module, word in said if module == name] for name in PROJECT}


def test_the_plugin_is_found_and_its_fixture_is_a_migrated_drive_and_the_default(
    outcomes: dict[str, list[str]],
) -> None:
    assert outcomes["is_default"] == ["PASSED"]


def test_each_test_gets_an_empty_drive(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["is_empty"] == ["PASSED", "PASSED"]


def test_a_users_own_database_is_emptied_between_tests(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["own_database"] == ["PASSED", "PASSED"]


def test_classes_defined_in_a_test_are_forgotten_after_it(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["classes_of_tests"] == ["PASSED", "PASSED"]


def test_the_clock_moves_the_drives_time(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["clock"] == ["PASSED"]


def test_a_failing_test_leaves_the_next_one_a_fresh_drive(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["failure"] == ["FAILED", "PASSED"]
