# ruff: noqa: RUF012 - lists of policies stand in class bodies as users write them
from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.options.policies import ExceptionAction, HandlerPolicy, Policy
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import options, refusal, run_file


def policies_of(option: Any) -> tuple[Policy, ...]:
    class Signup(gd.Workflow):
        @gd.step(on_exception=option)
        def welcome(self) -> None: ...

    found: tuple[Policy, ...] = options(Signup, "welcome").policies
    return found


@pytest.mark.parametrize("action", ["pause", "cancel", "skip"])
def test_an_action_alone_answers_every_error(action: str) -> None:
    [policy] = policies_of(action)

    assert isinstance(policy, gd.ExceptionPolicy)
    assert (policy.action, policy.matching, policy.max_reattempts) == (action, None, None)
    assert policy.matches(ValueError()) is True


def test_the_word_reattempt_alone_means_a_hundred_reattempts() -> None:
    [policy] = policies_of("reattempt")

    assert policy == gd.ExceptionPolicy("reattempt", max_reattempts=100)


def test_max_reattempts_and_terminal_action_complete_the_word_reattempt() -> None:
    class Signup(gd.Workflow):
        @gd.step(on_exception="reattempt", max_reattempts=5, terminal_action="skip")
        def limited(self) -> None: ...

        @gd.step(on_exception="reattempt", max_reattempts=None)
        def endless(self) -> None: ...

        @gd.step(on_exception="reattempt", terminal_action="cancel")
        def given_up(self) -> None: ...

    assert options(Signup, "limited").policies == (
        gd.ExceptionPolicy("reattempt", max_reattempts=5, terminal_action="skip"),
    )
    assert options(Signup, "endless").policies == (
        gd.ExceptionPolicy("reattempt", max_reattempts=None),
    )
    assert options(Signup, "given_up").policies == (
        gd.ExceptionPolicy("reattempt", max_reattempts=100, terminal_action="cancel"),
    )


def test_a_policy_of_its_own_has_no_limit_unless_it_says_so() -> None:
    policy = gd.ExceptionPolicy("reattempt")

    assert (policy.max_reattempts, policy.terminal_action) == (None, "pause")
    assert policy.wait_before(1) == timedelta(0)


def test_a_policy_matches_a_class_and_its_children() -> None:
    policy = gd.ExceptionPolicy("skip", matching=LookupError)

    assert policy.matches(KeyError("k")) is True
    assert policy.matches(ValueError("v")) is False
    assert policy.is_blanket is False


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_a_policy_matches_any_of_several_classes(kind: type) -> None:
    policy = gd.ExceptionPolicy("skip", matching=kind([KeyError, TimeoutError]))

    assert policy.matches(TimeoutError()) is True
    assert policy.matches(KeyError()) is True
    assert policy.matches(ValueError()) is False


def test_a_policy_matches_by_a_callable_of_the_error() -> None:
    policy = gd.ExceptionPolicy("skip", matching=lambda error: "429" in str(error))

    assert policy.matches(ValueError("HTTP 429")) is True
    assert policy.matches(ValueError("HTTP 500")) is False


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (5, timedelta(seconds=5)),
        (timedelta(minutes=2), timedelta(minutes=2)),
        (lambda attempt: attempt * 10, timedelta(seconds=30)),
        (lambda attempt: timedelta(hours=attempt), timedelta(hours=3)),
        (gd.exponential(jitter=0), timedelta(seconds=4)),
        (gd.linear(jitter=0), timedelta(seconds=3)),
    ],
    ids=["seconds", "timedelta", "callable", "callable of spans", "exponential", "linear"],
)
def test_a_policy_waits_before_the_reattempt(wait: Any, expected: timedelta) -> None:
    policy = gd.ExceptionPolicy("reattempt", wait=wait)

    assert policy.wait_before(3) == expected


def test_a_list_keeps_its_order() -> None:
    specific = gd.ExceptionPolicy("skip", matching=KeyError)

    def decide(workflow: gd.Workflow[Any], error: BaseException) -> None: ...

    found = policies_of([specific, decide, "cancel"])

    assert found == (specific, HandlerPolicy(decide), gd.ExceptionPolicy("cancel"))


def test_a_blanket_policy_in_front_of_a_steps_list_stays_there() -> None:
    specific = gd.ExceptionPolicy("skip", matching=KeyError)

    assert policies_of(["cancel", specific]) == (gd.ExceptionPolicy("cancel"), specific)


def test_a_callable_answers_every_error() -> None:
    def decide(workflow: gd.Workflow[Any], error: BaseException) -> None: ...

    [policy] = policies_of(decide)

    assert isinstance(policy, HandlerPolicy)
    assert (policy.handler, policy.is_blanket, policy.matches(ValueError())) == (decide, True, True)


def test_retry_is_short_for_a_reattempt_policy() -> None:
    class Signup(gd.Workflow):
        @gd.step(retry=gd.Retry(max=3, backoff="exponential"))
        def welcome(self) -> None: ...

    assert options(Signup, "welcome").policies == (
        gd.ExceptionPolicy("reattempt", wait=gd.exponential(), max_reattempts=3),
    )


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        (
            gd.Retry(),
            gd.ExceptionPolicy("reattempt", wait=gd.exponential(), max_reattempts=3),
        ),
        (
            gd.Retry(max=None, backoff="linear"),
            gd.ExceptionPolicy("reattempt", wait=gd.linear(), max_reattempts=None),
        ),
        (
            gd.Retry(max=1, backoff=timedelta(minutes=1)),
            gd.ExceptionPolicy("reattempt", wait=60, max_reattempts=1),
        ),
        (
            gd.Retry(matching=TimeoutError, backoff=1, terminal_action="skip"),
            gd.ExceptionPolicy("reattempt", TimeoutError, 1, 3, "skip"),
        ),
    ],
    ids=["defaults", "linear and endless", "a fixed wait", "of one class"],
)
def test_retry_has_the_parts_of_a_policy(retry: gd.Retry, expected: gd.ExceptionPolicy) -> None:
    assert retry.policy == expected


def test_a_class_has_policies_of_its_own() -> None:
    class Signup(gd.Workflow):
        on_exception = ["reattempt", gd.ExceptionPolicy("skip", matching=KeyError)]

    assert definition_of(Signup).policies == (
        gd.ExceptionPolicy("skip", matching=KeyError),
        gd.ExceptionPolicy("reattempt", max_reattempts=100),
    )


def test_a_class_may_write_its_handler_as_a_method() -> None:
    signup = run_file("""
        class Signup(gd.Workflow):
            def on_exception(self, error):
                self.skip()
    """)["Signup"]

    assert definition_of(signup).policies == (HandlerPolicy(vars(signup)["on_exception"]),)


def test_a_childs_policies_come_before_its_parents_and_specific_before_blanket() -> None:
    class Signup(gd.Workflow):
        on_exception = [
            gd.ExceptionPolicy("cancel", matching=KeyError),
            gd.ExceptionPolicy("skip"),
        ]

    class PaidSignup(Signup):
        on_exception = [
            gd.ExceptionPolicy("pause"),
            gd.ExceptionPolicy("skip", matching=TimeoutError),
        ]

    assert definition_of(PaidSignup).policies == (
        gd.ExceptionPolicy("skip", matching=TimeoutError),
        gd.ExceptionPolicy("cancel", matching=KeyError),
        gd.ExceptionPolicy("pause"),
        gd.ExceptionPolicy("skip"),
    )
    assert definition_of(Signup).policies == (
        gd.ExceptionPolicy("cancel", matching=KeyError),
        gd.ExceptionPolicy("skip"),
    )


def test_a_child_without_policies_has_its_parents() -> None:
    class Signup(gd.Workflow):
        on_exception = "skip"

    class PaidSignup(Signup): ...

    assert definition_of(PaidSignup).policies == (gd.ExceptionPolicy("skip"),)


def test_an_action_is_the_enum_of_actions() -> None:
    assert gd.ExceptionPolicy("skip").action is ExceptionAction.SKIP


ACTIONS = "'pause', 'cancel', 'skip' or 'reattempt'"
NOT_RETRY = (
    f"on_exception must be {ACTIONS}, got 'retry'. To run the step again, write "
    f"retry=gd.Retry(max=3) instead, or on_exception='reattempt'."
)
REFUSED = {
    "the word of another library": ("on_exception='retry'", NOT_RETRY),
    "an unknown action in a list": (
        "on_exception=['skip', 'ignore']",
        f"on_exception must be {ACTIONS}, got 'ignore'.",
    ),
    "a number": (
        "on_exception=3",
        "on_exception takes an action, a gd.ExceptionPolicy, a callable or a list of these, not 3.",
    ),
    "a number in a list": (
        "on_exception=['skip', 3]",
        "on_exception takes an action, a gd.ExceptionPolicy, a callable or a list of these, not 3.",
    ),
    "an exception class": (
        "on_exception=KeyError",
        "on_exception takes an action, a gd.ExceptionPolicy, a callable or a list of these, "
        "not <class 'KeyError'>.",
    ),
    "a handler of the error alone": (
        "on_exception=lambda error: None",
        "on_exception: '<lambda>' is called with (self, error) but takes (error): "
        "too many positional arguments.",
    ),
    "no reattempt": (
        "on_exception='reattempt', max_reattempts=0",
        "max_reattempts must be at least 1, got 0. "
        "Pass None for no limit; for no reattempt at all, use another action.",
    ),
    "half a reattempt": (
        "on_exception='reattempt', max_reattempts=1.5",
        "max_reattempts must be a whole number, got 1.5. "
        "Pass None for no limit; for no reattempt at all, use another action.",
    ),
    "reattempts of a boolean": (
        "on_exception='reattempt', max_reattempts=True",
        "max_reattempts must be a whole number, got True. "
        "Pass None for no limit; for no reattempt at all, use another action.",
    ),
    "an endless terminal action": (
        "on_exception='reattempt', terminal_action='reattempt'",
        "terminal_action must be 'pause', 'cancel' or 'skip', got 'reattempt'.",
    ),
    "a limit without a policy": (
        "max_reattempts=3",
        'max_reattempts needs on_exception="reattempt"; for a gd.ExceptionPolicy, pass it to the '
        "policy.",
    ),
    "a limit of another action": (
        "on_exception='skip', terminal_action='cancel'",
        'terminal_action needs on_exception="reattempt"; for a gd.ExceptionPolicy, pass it to '
        "the policy.",
    ),
    "a limit beside a policy": (
        "on_exception=gd.ExceptionPolicy('reattempt'), max_reattempts=3",
        'max_reattempts needs on_exception="reattempt"; for a gd.ExceptionPolicy, pass it to the '
        "policy.",
    ),
    "retry beside on_exception": (
        "retry=gd.Retry(), on_exception='skip'",
        "retry is shorthand for a whole policy: leave out on_exception, max_reattempts and "
        "terminal_action, or write a list of gd.ExceptionPolicy.",
    ),
    "retry beside max_reattempts": (
        "retry=gd.Retry(), max_reattempts=3",
        "retry is shorthand for a whole policy: leave out on_exception, max_reattempts and "
        "terminal_action, or write a list of gd.ExceptionPolicy.",
    ),
    "retry of a number": (
        "retry=5",
        "retry takes a gd.Retry, not 5: write retry=gd.Retry(max=5).",
    ),
    "retry of a word": (
        "retry='always'",
        "retry takes a gd.Retry, not 'always': write retry=gd.Retry(max=3).",
    ),
}


@pytest.mark.parametrize(("option", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_policy_is_refused_with_the_step_and_its_place(option: str, words: str) -> None:
    message = refusal(f"""
        class Signup(gd.Workflow):
            @gd.step({option})
            def remind(self): ...
    """)

    assert message == f"Step 'remind': {words} (signup.py:2)"


def test_an_async_handler_is_refused() -> None:
    message = refusal("""
        async def decide(self, error): ...
        class Signup(gd.Workflow):
            @gd.step(on_exception=decide)
            def remind(self): ...
    """)

    assert message == (
        "Step 'remind': on_exception takes a plain function, and 'decide' is async. (signup.py:3)"
    )


def test_a_bad_policy_of_a_class_is_refused_with_the_class() -> None:
    message = refusal("""
        class Signup(gd.Workflow):
            on_exception = "retry"
    """)

    assert message == f"Signup: {NOT_RETRY} (signup.py:1)"


EXPRESSIONS = {
    "an unknown action": (
        "gd.ExceptionPolicy('stop')",
        f"on_exception must be {ACTIONS}, got 'stop'.",
    ),
    "a wait of a policy that does not reattempt": (
        "gd.ExceptionPolicy('skip', wait=3)",
        "wait, max_reattempts and terminal_action belong to a policy that reattempts; "
        "this one says 'skip'.",
    ),
    "a limit of a policy that does not reattempt": (
        "gd.ExceptionPolicy('pause', max_reattempts=3)",
        "wait, max_reattempts and terminal_action belong to a policy that reattempts; "
        "this one says 'pause'.",
    ),
    "an end of a policy that does not reattempt": (
        "gd.ExceptionPolicy('pause', terminal_action='skip')",
        "wait, max_reattempts and terminal_action belong to a policy that reattempts; "
        "this one says 'pause'.",
    ),
    "matching a number": (
        "gd.ExceptionPolicy('skip', matching=404)",
        "matching takes exception classes or a callable of the error, not 404.",
    ),
    "matching no exception": (
        "gd.ExceptionPolicy('skip', matching=str)",
        "matching takes exception classes, not <class 'str'>.",
    ),
    "matching an instance in a list": (
        "gd.ExceptionPolicy('skip', matching=[KeyError, ValueError()])",
        "matching takes exception classes, not ValueError().",
    ),
    "matching nothing": (
        "gd.ExceptionPolicy('skip', matching=[])",
        "matching names no exception class, so it would never match.",
    ),
    "matching by a callable of nothing": (
        "gd.ExceptionPolicy('skip', matching=lambda: True)",
        "matching: '<lambda>' is called with (error) but takes (): too many positional arguments.",
    ),
    "a negative wait": (
        "gd.ExceptionPolicy('reattempt', wait=-1)",
        "The wait of an exception policy: -1 is negative.",
    ),
    "a wait by a callable of nothing": (
        "gd.ExceptionPolicy('reattempt', wait=lambda: 1)",
        "wait: '<lambda>' is called with (attempt) but takes (): too many positional arguments.",
    ),
    "no reattempt": (
        "gd.ExceptionPolicy('reattempt', max_reattempts=0)",
        "max_reattempts must be at least 1, got 0. "
        "Pass None for no limit; for no reattempt at all, use another action.",
    ),
    "an unknown backoff": (
        "gd.Retry(backoff='quadratic')",
        "The backoff of a Retry is 'exponential', 'linear', a duration or a callable, "
        "not 'quadratic'.",
    ),
    "an argument of another library": (
        "gd.Retry(max=2, wait=0.2)",
        "gd.Retry has no argument 'wait'. Its arguments are max, backoff, matching and "
        "terminal_action. backoff is the wait before a reattempt: seconds, 'exponential' or "
        "'linear'. max counts the reattempts after the first run: max=2 means at most 3 runs.",
    ),
    "the word of another library": ("gd.ExceptionPolicy('retry')", NOT_RETRY),
    "a retry without reattempts": (
        "gd.Retry(max=0)",
        "max_reattempts must be at least 1, got 0. "
        "Pass None for no limit; for no reattempt at all, use another action.",
    ),
    "a shrinking backoff": (
        "gd.exponential(factor=0.5)",
        "The factor of a back-off must be at least 1, got 0.5.",
    ),
    "a negative base": (
        "gd.exponential(base=-1)",
        "The base of a back-off: -1 is negative.",
    ),
    "a cap of text": (
        "gd.linear(cap='never')",
        "The cap of a back-off: 'never' is not a duration (a timedelta, seconds, or text such as "
        "'30s').",
    ),
    "a negative increment": (
        "gd.linear(increment=-2)",
        "The increment of a back-off: -2 is negative.",
    ),
    "too much jitter": (
        "gd.linear(jitter=1.5)",
        "The jitter of a back-off must be at most 1, got 1.5.",
    ),
}


@pytest.mark.parametrize(("expression", "words"), EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_a_bad_policy_outside_a_step_is_refused_with_its_place(expression: str, words: str) -> None:
    assert refusal(f"\n\npolicy = {expression}") == f"{words} (signup.py:1)"


def test_policies_are_shared_by_steps_without_harm() -> None:
    names = run_file("""
        patient = gd.ExceptionPolicy("reattempt", wait=5, max_reattempts=3)
        class Signup(gd.Workflow):
            a = gd.step(lambda self: 0, on_exception=patient)
            b = gd.step(lambda self: 0, on_exception=[patient, "skip"])
    """)

    assert options(names["Signup"], "a").policies == (names["patient"],)
    assert options(names["Signup"], "b").policies == (
        names["patient"],
        gd.ExceptionPolicy("skip"),
    )
