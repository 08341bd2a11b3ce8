"""Which policy answers an error, and what a policy may be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import error_of, history, last, waits


def failing(
    error: BaseException, *, on_class: Any = None, on_parent: Any = None, **options: Any
) -> gd.WorkflowHandle[Any]:
    """Perform a step that raises `error`, of a class with a parent."""

    class Shipping(gd.Workflow):
        on_exception = on_parent

    class Delivery(Shipping):
        on_exception = on_class

        @gd.step(**options)
        def pack(self) -> None:
            raise error

    workflow = Delivery.create()
    perform_next_step(workflow)
    return workflow


def outcome(workflow: gd.WorkflowHandle[Any]) -> str | None:
    return workflow.step_executions[0].outcome


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError(), "skipped_by_exception"),
        (ConnectionError(), "skipped_by_exception"),
        (OSError(), "paused_by_exception"),
    ],
    ids=lambda value: str(value) or type(value).__name__,
)
def test_a_policy_matches_a_class_and_its_subclasses(
    geneva: gd.Drive, error: OSError, expected: str
) -> None:
    policy = gd.ExceptionPolicy("skip", matching=ConnectionError)

    assert outcome(failing(error, on_exception=policy)) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyError(), "canceled_by_exception"),
        (TimeoutError(), "canceled_by_exception"),
        (ValueError(), "paused_by_exception"),
    ],
    ids=["the first class", "the second class", "another class"],
)
def test_a_policy_may_match_several_classes(
    geneva: gd.Drive, error: Exception, expected: str
) -> None:
    policy = gd.ExceptionPolicy("cancel", matching=[KeyError, TimeoutError])

    assert outcome(failing(error, on_exception=policy)) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("busy"), "skipped_by_exception"),
        (ValueError("broken"), "paused_by_exception"),
    ],
    ids=str,
)
def test_a_policy_may_match_by_a_function_of_the_error(
    geneva: gd.Drive, error: Exception, expected: str
) -> None:
    policy = gd.ExceptionPolicy("skip", matching=lambda e: str(e) == "busy")

    assert outcome(failing(error, on_exception=policy)) == expected


def test_the_first_policy_of_a_list_that_matches_wins(geneva: gd.Drive) -> None:
    policies = [
        gd.ExceptionPolicy("cancel", matching=KeyError),
        gd.ExceptionPolicy("skip", matching=LookupError),
        gd.ExceptionPolicy("reattempt", matching=IndexError),
    ]

    assert outcome(failing(IndexError(), on_exception=policies)) == "skipped_by_exception"


def test_a_list_may_end_in_a_plain_action(geneva: gd.Drive) -> None:
    policies = [gd.ExceptionPolicy("cancel", matching=KeyError), "skip"]

    assert outcome(failing(ValueError(), on_exception=policies)) == "skipped_by_exception"


def test_the_policy_of_the_class_answers_where_the_step_has_none(geneva: gd.Drive) -> None:
    assert outcome(failing(ValueError(), on_class="skip")) == "skipped_by_exception"


def test_the_policy_of_the_step_stands_before_that_of_the_class(geneva: gd.Drive) -> None:
    workflow = failing(ValueError(), on_exception="cancel", on_class="skip")

    assert outcome(workflow) == "canceled_by_exception"


def test_the_class_answers_what_no_policy_of_the_step_matches(geneva: gd.Drive) -> None:
    policy = gd.ExceptionPolicy("cancel", matching=KeyError)

    workflow = failing(ValueError(), on_exception=policy, on_class="skip")

    assert outcome(workflow) == "skipped_by_exception"


def test_a_childs_policies_stand_before_its_parents(geneva: gd.Drive) -> None:
    workflow = failing(
        KeyError(),
        on_class=gd.ExceptionPolicy("skip", matching=LookupError),
        on_parent=gd.ExceptionPolicy("cancel", matching=KeyError),
    )

    assert outcome(workflow) == "skipped_by_exception"


def test_a_parents_policies_are_inherited(geneva: gd.Drive) -> None:
    workflow = failing(
        ValueError(), on_class=gd.ExceptionPolicy("skip", matching=KeyError), on_parent="cancel"
    )

    assert outcome(workflow) == "canceled_by_exception"


def test_a_childs_blanket_policy_does_not_hide_what_its_parent_says_of_an_error(
    geneva: gd.Drive,
) -> None:
    workflow = failing(
        KeyError(), on_class="skip", on_parent=gd.ExceptionPolicy("cancel", matching=KeyError)
    )

    assert outcome(workflow) == "canceled_by_exception"


def test_a_specific_policy_of_the_class_stands_before_its_blanket_one(geneva: gd.Drive) -> None:
    workflow = failing(
        KeyError(), on_class=["skip", gd.ExceptionPolicy("cancel", matching=KeyError)]
    )

    assert outcome(workflow) == "canceled_by_exception"


def test_a_handler_is_called_with_the_workflow_and_the_error(geneva: gd.Drive) -> None:
    seen: list[tuple[Any, str]] = []

    def handler(self: gd.Workflow[Any], error: Exception) -> None:
        seen.append((self.id, str(error)))
        self.skip()

    workflow = failing(ValueError("torn"), on_exception=handler)

    assert seen == [(workflow.id, "torn")]
    assert outcome(workflow) == "skipped_by_flow_control"


def test_a_handler_that_ends_in_no_verb_pauses_the_workflow(geneva: gd.Drive) -> None:
    workflow = failing(ValueError("torn"), on_exception=lambda self, error: None)

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == ("builtins.ValueError", "torn")


def test_a_handler_may_choose_the_wait_of_a_reattempt(geneva: gd.Drive) -> None:
    workflow = failing(
        ValueError(), on_exception=lambda self, error: self.reattempt(wait=timedelta(hours=1))
    )

    assert outcome(workflow) == "reattempted"
    assert waits(workflow) == [timedelta(hours=1)]


def test_a_handler_of_the_class_serves_all_its_steps(geneva: gd.Drive) -> None:
    workflow = failing(ValueError(), on_class=lambda self, error: self.cancel())

    assert outcome(workflow) == "canceled_by_flow_control"


def test_an_error_in_a_handler_pauses_the_workflow_and_shows_both_errors(
    geneva: gd.Drive,
) -> None:
    def handler(self: gd.Workflow[Any], error: Exception) -> None:
        raise KeyError("handler")

    workflow = failing(ValueError("torn"), on_exception=handler)

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == ("builtins.KeyError", "'handler'")
    assert "ValueError: torn" in (last(workflow).error_backtrace or "")


def test_an_error_in_a_matcher_pauses_the_workflow_and_shows_both_errors(
    geneva: gd.Drive,
) -> None:
    policy = gd.ExceptionPolicy("skip", matching=lambda e: e.args[7] == "busy")

    workflow = failing(ValueError("torn"), on_exception=policy)

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == ("builtins.IndexError", "tuple index out of range")
    assert "ValueError: torn" in (last(workflow).error_backtrace or "")


def test_an_error_in_a_back_off_pauses_the_workflow(geneva: gd.Drive) -> None:
    policy = gd.ExceptionPolicy("reattempt", wait=lambda attempt: 1 / 0)

    workflow = failing(ValueError("torn"), on_exception=policy)

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == ("builtins.ZeroDivisionError", "division by zero")


@pytest.mark.parametrize("place", ["cancel_if", "skip_if", "before_step_starts", "after_step_ends"])
def test_an_error_in_a_condition_or_hook_goes_through_the_steps_policy_and_counts(
    geneva: gd.Drive, place: str
) -> None:
    def act(where: str) -> None:
        if where == place:
            raise ValueError(place)

    class Delivery(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> None:
            act("cancel_if")

        def needless(self) -> None:
            act("skip_if")

        def before_step_starts(self, step_name: str) -> None:
            act("before_step_starts")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            act("after_step_ends")

        @gd.step(
            skip_if="needless", on_exception="reattempt", max_reattempts=1, terminal_action="cancel"
        )
        def pack(self) -> None: ...

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [
        ("pack", "failed", "reattempted_by_exception"),
        ("pack", "failed", "canceled_by_exception"),
    ]
    assert error_of(last(workflow)) == ("builtins.ValueError", place)


def test_a_policy_may_match_an_error_that_is_no_exception(geneva: gd.Drive) -> None:
    class Alarm(BaseException):
        """Not an Exception, and not ours either."""

    workflow = failing(Alarm(), on_exception=gd.ExceptionPolicy("skip", matching=Alarm))

    assert outcome(workflow) == "skipped_by_exception"
