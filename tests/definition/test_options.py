from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.definition.options.keywords import StepOptions
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import options, refusal

KNOWN = (
    "after_step, also_depends_on, before_step, depends_on, keep_result, limit, max_reattempts, "
    "on_exception, priority, queue, renamed_from, retry, run_if, skip_if, terminal_action, "
    "timeout, transaction, wait"
)


def test_a_step_without_options_has_the_defaults() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    opts = options(Signup, "welcome")
    assert (opts.wait, opts.timeout, opts.condition) == (timedelta(0), None, None)
    assert (opts.policies, opts.queue, opts.priority) == ((), None, None)
    assert (opts.transaction, opts.keep_result, opts.renamed_from) == (False, False, None)


def test_every_option_may_be_given_as_none_or_its_default() -> None:
    class Signup(gd.Workflow):
        @gd.step(
            wait=None,
            skip_if=None,
            run_if=None,
            on_exception=None,
            retry=None,
            timeout=None,
            before_step=None,
            after_step=None,
            queue=None,
            priority=None,
            limit=None,
            transaction=False,
            keep_result=False,
            renamed_from=None,
        )
        def explicit(self) -> None: ...

        @gd.step
        def implicit(self) -> None: ...

    assert options(Signup, "explicit") == options(Signup, "implicit")


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (timedelta(days=2), timedelta(days=2)),
        (90, timedelta(seconds=90)),
        (0.5, timedelta(milliseconds=500)),
        (0, timedelta(0)),
    ],
    ids=["a timedelta", "seconds", "parts of a second", "no time"],
)
def test_wait_and_timeout_take_spans_of_time(wait: float | timedelta, expected: timedelta) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=wait)
        def welcome(self) -> None: ...

        @gd.step(timeout=timedelta(seconds=1))
        def remind(self) -> None: ...

    assert options(Signup, "welcome").wait == expected
    assert options(Signup, "remind").timeout == timedelta(seconds=1)


def test_job_options_of_a_step_stand_beside_those_of_its_class() -> None:
    class Signup(gd.Workflow):
        queue = "mail"
        priority = 10

        @gd.step
        def welcome(self) -> None: ...

        @gd.step(queue="s", priority=-5)
        def remind(self) -> None: ...

    definition = definition_of(Signup)
    assert (definition.queue, definition.priority) == ("mail", 10)
    assert (options(Signup, "welcome").queue, options(Signup, "welcome").priority) == (None, None)
    assert (options(Signup, "remind").queue, options(Signup, "remind").priority) == ("s", -5)


def test_job_options_have_defaults() -> None:
    class Signup(gd.Workflow): ...

    assert (definition_of(Signup).queue, definition_of(Signup).priority) == ("default", 0)


def test_the_longest_queue_name_and_the_widest_priorities_are_taken() -> None:
    class Signup(gd.Workflow):
        queue = "q" * 191
        priority = 2**31 - 1

        @gd.step(queue="p" * 191, priority=-(2**31) + 1)
        def welcome(self) -> None: ...

    assert options(Signup, "welcome").priority == -2147483647


def test_flags_are_kept() -> None:
    class Signup(gd.Workflow):
        @gd.step(transaction=True)
        def book(self, session: Session) -> None: ...

        @gd.step(keep_result=True)
        def total(self) -> int:
            return 3

    assert options(Signup, "book").transaction is True
    assert options(Signup, "total").keep_result is True


def test_a_body_in_a_transaction_may_take_the_session_under_any_name() -> None:
    class Signup(gd.Workflow):
        @gd.step(transaction=True)
        def positional(self, database: Session, /) -> None: ...

        @gd.step(transaction=True)
        def variadic(self, *rest: Any) -> None: ...

    assert definition_of(Signup).step_names == ("positional", "variadic")


def test_the_known_options_are_those_of_the_documentation() -> None:
    assert ", ".join(sorted(StepOptions.__annotations__)) == KNOWN


REFUSED = {
    "unknown": (
        "wiat=3",
        f"there is no option 'wiat'. Did you mean 'wait'? The options are: {KNOWN}.",
    ),
    "negative wait": ("wait=-1", "wait: -1 is negative."),
    "wait of text": (
        "wait='soon'",
        "wait: 'soon' is not a duration (a timedelta, seconds, or text such as '30s').",
    ),
    "wait of a boolean": ("wait=True", "wait: True is not a duration."),
    "wait of no number": ("wait=float('nan')", "wait: nan is not a duration."),
    "endless wait": ("wait=float('inf')", "wait: inf is too long a time."),
    "wait beyond all calendars": ("wait=10**12", "wait: 1000000000000 is too long a time."),
    "no timeout": ("timeout=0", "timeout must be longer than zero, got 0."),
    "negative timeout": ("timeout=-0.5", "timeout: -0.5 is negative."),
    "both conditions": (
        "skip_if=True, run_if=True",
        "skip_if and run_if exclude each other. Leave out one of them.",
    ),
    "empty queue": ("queue=''", "queue must not be empty."),
    "queue of a number": ("queue=7", "queue must be text, got 7."),
    "long queue": (
        "queue='q' * 192",
        "queue must be at most 191 characters long, got 192.",
    ),
    "priority of text": (
        "priority='high'",
        "priority must be a whole number, got 'high'.",
    ),
    "priority of a boolean": (
        "priority=True",
        "priority must be a whole number, got True.",
    ),
    "wide priority": (
        "priority=2**31",
        "priority must be at most 2147483647, got 2147483648.",
    ),
    "transaction of text": ("transaction='yes'", "transaction must be True or False, got 'yes'."),
    "keep_result of a number": ("keep_result=1", "keep_result must be True or False, got 1."),
    "empty former name": ("renamed_from=''", "renamed_from must not be empty."),
    "former name of a number": ("renamed_from=3", "renamed_from must be text, got 3."),
    "transaction without a session": (
        "transaction=True",
        "'remind' is called with (self, session) but takes (self): too many positional arguments. "
        "Add the parameter session, as in remind(self, session).",
    ),
}


@pytest.mark.parametrize(("option", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_option_is_refused_with_the_step_and_its_place(option: str, words: str) -> None:
    message = refusal(f"""
        class Signup(gd.Workflow):
            @gd.step
            def welcome(self): ...
            @gd.step({option})
            def remind(self): ...
    """)

    assert message == f"Step 'remind': {words} (signup.py:4)"


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("queue = ''", "queue must not be empty."),
        ("priority = 'high'", "priority must be a whole number, got 'high'."),
        (
            "may_proceed_without_hero = 'yes'",
            "may_proceed_without_hero must be True or False, got 'yes'.",
        ),
        (
            "def __init__(self, user): ...",
            "each execution makes an instance without arguments: missing a required argument: "
            "'user'. Read what the steps need from self.hero or self.context.",
        ),
    ],
    ids=["queue", "priority", "may_proceed_without_hero", "__init__"],
)
def test_a_bad_option_of_a_class_is_refused_with_the_class(attribute: str, words: str) -> None:
    message = refusal(f"""
        x = 1
        class Signup(gd.Workflow):
            {attribute}
    """)

    assert message == f"Signup: {words} (signup.py:2)"


def test_a_transaction_needs_a_plain_function() -> None:
    message = refusal("""
        class Signup(gd.Workflow):
            @gd.step(transaction=True)
            async def book(self, session): ...
    """)

    assert message == (
        "Step 'book': transaction=True needs a plain function, as its session belongs to one "
        "thread. Write def instead of async def, or leave out transaction. (signup.py:2)"
    )


def test_the_place_of_a_step_made_in_code_is_where_it_is_made() -> None:
    message = refusal("""
        def check(workflow): ...

        class Signup(gd.Workflow):
            polls = [
                gd.step(check, wait=-5),
            ]
    """)

    assert message == "Step 'check': wait: -5 is negative. (signup.py:5)"
