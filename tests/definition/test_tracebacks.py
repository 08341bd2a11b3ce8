"""Definition errors end at the user's own line, without frames of the library."""

from __future__ import annotations

import traceback

import pytest

from geneva_drive.errors import StepConfigurationError
from tests.definition.writing import run_file

WRONG = {
    "a step with options": (
        """
        class Signup(gd.Workflow):
            @gd.step(wait=-1)
            def remind(self): ...
        """,
        ["<module>:1", "Signup:2"],
    ),
    "a step of something else": ("a = gd.step(3)", ["<module>:1"]),
    "a task": ("a = gd.task(lambda self: 0, wait=-1)", ["<module>:1"]),
    "a task of a job": ("a = gd.task(job=3)", ["<module>:1"]),
    "a resumable step": ("a = gd.resumable_step(3)", ["<module>:1"]),
    "a decision": ("a = gd.decision(3)", ["<module>:1"]),
    "a child": ("a = gd.child(3)", ["<module>:1"]),
    "a removed step": ("a = gd.removed_step(depends_on=3)", ["<module>:1"]),
    "a condition": ("a = gd.cancel_if(3)", ["<module>:1"]),
    "a policy": ("a = gd.ExceptionPolicy('retry')", ["<module>:1"]),
    "a retry": ("a = gd.Retry(max_attempts=3)", ["<module>:1"]),
    "an exponential back-off": ("a = gd.exponential(factor=0)", ["<module>:1"]),
    "a linear back-off": ("a = gd.linear(jitter=2)", ["<module>:1"]),
    "a job": ("a = gd.job(3)", ["<module>:1"]),
    "a job with options": ("a = gd.job(wait=-1)(print)", ["<module>:1"]),
    "a template": ("a = gd.template(3)", ["<module>:1"]),
    "a template with a name": ("a = gd.template(name='a')(3)", ["<module>:1"]),
    "two steps of one name": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def remind(self): ...
            @gd.step
            def remind(self): ...
        """,
        ["<module>:1", "Signup:5"],
    ),
    "a class": (
        """
        class Signup(gd.Workflow):
            on_exception = "retry"
        """,
        ["<module>:1"],
    ),
}


@pytest.mark.parametrize(("text", "places"), WRONG.values(), ids=WRONG.keys())
def test_a_definition_error_ends_at_the_users_line(text: str, places: list[str]) -> None:
    with pytest.raises(StepConfigurationError) as caught:
        run_file(text)

    frames = traceback.extract_tb(caught.value.__traceback__)
    # The first two frames are this test's own.
    assert [f"{frame.name}:{frame.lineno}" for frame in frames[2:]] == places


def test_the_printed_traceback_shows_only_the_users_code() -> None:
    text = """
        def define():
            class Signup(gd.Workflow):
                @gd.step(wait=-1)
                def remind(self): ...

        define()
    """

    with pytest.raises(StepConfigurationError) as caught:
        run_file(text)

    printed = "".join(traceback.format_exception(caught.value)).splitlines()
    assert printed[-4:] == [
        '  File "signup.py", line 6, in <module>',
        '  File "signup.py", line 2, in define',
        '  File "signup.py", line 3, in Signup',
        "geneva_drive.errors.StepConfigurationError: Step 'remind': wait: -1 is negative. "
        "(signup.py:3)",
    ]
