"""The pytest plugin in a project of somebody else's."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

WORKFLOW = """
    import geneva_drive as gd
    from geneva_drive.testing import speedrun

    class Greeting(gd.Workflow):
        @gd.step
        def greet(self): ...
"""


@pytest.fixture
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load ours by name: those of the development tools take most of the time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "geneva_drive.testing.plugin")


def outcomes(pytester: pytest.Pytester, source: str) -> dict[str, int]:
    pytester.makepyfile(source)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes()


def test_the_plugin_is_found_and_its_fixture_is_a_migrated_drive_and_the_default(
    pytester: pytest.Pytester,
) -> None:
    assert outcomes(
        pytester,
        WORKFLOW
        + """
    def test_it(geneva):
        assert gd.current_drive() is geneva
        assert speedrun(Greeting.create()).state == "finished"
    """,
    ) == {"passed": 1}


@pytest.mark.usefixtures("no_other_plugins")
def test_each_test_gets_an_empty_drive(pytester: pytest.Pytester) -> None:
    assert outcomes(
        pytester,
        WORKFLOW
        + """
    def test_one(geneva):
        Greeting.create()
        assert Greeting.ready().count() == 1

    def test_two(geneva):
        Greeting.create()
        assert Greeting.ready().count() == 1
    """,
    ) == {"passed": 2}


@pytest.mark.usefixtures("no_other_plugins")
def test_a_users_own_database_is_emptied_between_tests(pytester: pytest.Pytester) -> None:
    assert outcomes(
        pytester,
        WORKFLOW
        + """
    import pytest

    @pytest.fixture
    def geneva_database_url(tmp_path_factory):
        return f"sqlite:///{tmp_path_factory.getbasetemp() / 'shared.db'}"

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(geneva, number):
        Greeting.create(gd.HeroRef("User", "1"))
        assert Greeting.ready().count() == 1
        assert geneva.database_url.endswith("shared.db")
    """,
    ) == {"passed": 2}


@pytest.mark.usefixtures("no_other_plugins")
def test_classes_defined_in_a_test_are_forgotten_after_it(pytester: pytest.Pytester) -> None:
    assert outcomes(
        pytester,
        """
    import geneva_drive as gd

    kept = []

    def test_one(geneva):
        class Greeting(gd.Workflow): ...
        kept.append(Greeting)

    def test_two(geneva):
        class Greeting(gd.Workflow): ...
        kept.append(Greeting)
    """,
    ) == {"passed": 2}


@pytest.mark.usefixtures("no_other_plugins")
def test_the_clock_moves_the_drives_time(pytester: pytest.Pytester) -> None:
    assert outcomes(
        pytester,
        """
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
    """,
    ) == {"passed": 1}


@pytest.mark.usefixtures("no_other_plugins")
def test_a_failing_test_leaves_the_next_one_a_fresh_drive(pytester: pytest.Pytester) -> None:
    assert outcomes(
        pytester,
        WORKFLOW
        + """
    def test_one(geneva):
        Greeting.create()
        assert False

    def test_two(geneva):
        assert Greeting.ready().count() == 0
    """,
    ) == {"failed": 1, "passed": 1}
