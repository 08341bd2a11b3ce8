"""What is wrong with an approval is refused when its class is created, with its file and line."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.definition.writing import refusal


def refused(*arguments: str, body: str = "def sign(self, decision): ...", rest: str = "") -> str:
    """The error of a class with one approval, which stands in line 3."""
    listed = ", ".join(arguments)
    text = (
        f"class Contract(gd.Workflow):\n"
        f"    draft = gd.step(lambda self: None)\n"
        f"    @gd.approval({listed})\n"
        f"    {body}\n"
        f"{indent(rest, '    ')}\n"
    )
    return refusal(text)


LEGAL = 'role="legal"'

REFUSED = {
    "nobody decides": (
        [],
        'it needs role or approvers, which say who decides. Write @gd.approval(role="manager") '
        'or @gd.approval(approvers=["ann@example.org"]).',
    ),
    "role and approvers": (
        [LEGAL, 'approvers=["ann"]'],
        "role and approvers exclude each other. Leave out one of them.",
    ),
    "role that is no text": (["role=7"], "role must be text, got 7."),
    "role that is empty": (['role=""'], "role must not be empty."),
    "role that is too long": (
        ['role="a" * 192'],
        "role must be at most 191 characters long, got 192.",
    ),
    "one approver as text": (
        ['approvers="ann"'],
        "approvers must be a list of texts, got 'ann'. Write approvers=['ann'].",
    ),
    "approvers that are no list": (["approvers=7"], "approvers must be a list of texts, got 7."),
    "approvers that are no text": (
        ["approvers=['ann', 7]"],
        "Each of the approvers must be text, got 7.",
    ),
    "no approvers": (
        ["approvers=[]"],
        "approvers is empty, so the request could never be decided.",
    ),
    "an approver twice": (
        ["approvers=['ann', 'bob', 'ann']"],
        "approvers has 'ann' twice. Name each once.",
    ),
    "too few approvers": (
        ["approvers=['ann', 'bob']", "quorum=2", "reject_quorum=2"],
        "quorum=2 and reject_quorum=2 need at least 3 approvers, got 2: with fewer, all of them "
        "could vote without a decision.",
    ),
    "quorum of none": ([LEGAL, "quorum=0"], "quorum must be at least 1, got 0."),
    "quorum that is no number": (
        [LEGAL, "quorum=True"],
        "quorum must be a whole number, got True.",
    ),
    "reject_quorum of none": (
        [LEGAL, "reject_quorum=0"],
        "reject_quorum must be at least 1, got 0.",
    ),
    "deny_self that is no flag": (
        [LEGAL, "deny_self='yes'"],
        "deny_self must be True or False, got 'yes'.",
    ),
    "one choice as text": (
        [LEGAL, "choices='approve'"],
        "choices must be a list of texts, got 'approve'. Write choices=['approve'].",
    ),
    "no choices": (
        [LEGAL, "choices=[]"],
        "choices has no word that approves: []. Every word except 'reject' approves: add one, "
        "such as 'approve'.",
    ),
    "only a choice that rejects": (
        [LEGAL, "choices=['reject']"],
        "choices has no word that approves: ['reject']. Every word except 'reject' approves: "
        "add one, such as 'approve'.",
    ),
    "a choice twice": (
        [LEGAL, "choices=['yes', 'yes']"],
        "choices has 'yes' twice. Name each once.",
    ),
    "an empty choice": (
        [LEGAL, "choices=['', 'reject']"],
        "Each of the choices must not be empty.",
    ),
    "ask that is no text": ([LEGAL, "ask=7"], "ask must be text, got 7."),
    "ask with another name": (
        [LEGAL, "ask='Pay {amount}?'"],
        "ask refers to 'amount', and can only refer to hero and context, as in {hero.total} or "
        "{context[total]}. For braces in the text, write {{ and }}.",
    ),
    "ask with another name in a width": (
        [LEGAL, "ask='Pay {hero.total:{width}}?'"],
        "ask refers to 'width', and can only refer to hero and context, as in {hero.total} or "
        "{context[total]}. For braces in the text, write {{ and }}.",
    ),
    "ask with empty braces": (
        [LEGAL, "ask='Pay {}?'"],
        "ask has braces that are empty or numbered, and can only refer to hero and context, as in "
        "{hero.total} or {context[total]}. For braces in the text, write {{ and }}.",
    ),
    "ask with an open brace": (
        [LEGAL, "ask='Pay {hero.total?'"],
        "ask is not text for str.format: expected '}' before end of string. For braces in the "
        "text, write {{ and }}.",
    ),
    "show that is no dictionary": (
        [LEGAL, "show=['order']"],
        "show must be a dictionary with text as keys, got ['order'].",
    ),
    "show with a dictionary in it": (
        [LEGAL, "show={'order': {'id': 7}}"],
        "show must be flat, and 'order' is a dict. Write each fact under a name of its own, or as "
        "text.",
    ),
    "show that cannot be stored": (
        [LEGAL, "show={'order': object}"],
        "show['order'] is of type type, which cannot be stored as JSON. Use text, numbers, "
        "booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID, bytes or "
        "Enum members. For a record, store its key; for other types, call gd.register_serializer.",
    ),
    "a form that is no record": (
        [LEGAL, "form=int"],
        "form takes a dataclass or a pydantic model, not int.",
    ),
    "a form that is a dictionary": (
        [LEGAL, "form={'amount': int}"],
        "form takes a dataclass or a pydantic model, not {'amount': <class 'int'>}.",
    ),
    "initial without a form": (
        [LEGAL, "initial={'amount': 3}"],
        "initial needs form, whose fields it fills in. Pass a dataclass or pydantic model as form.",
    ),
    "timeout of nothing": ([LEGAL, "timeout=0"], "timeout must be longer than zero, got 0."),
    "timeout that is no duration": (
        [LEGAL, "timeout='soon'"],
        "timeout: 'soon' is not a duration (a timedelta, seconds, or text such as '30s').",
    ),
    "escalation to nobody": (
        [LEGAL, "timeout=60", "on_timeout='escalate'"],
        "on_timeout='escalate' needs escalate_to, the role that decides after the deadline.",
    ),
    "escalation to what is no role": (
        [LEGAL, "escalate_to=['director']"],
        "escalate_to must be text, got ['director'].",
    ),
    "on_timeout without a deadline": (
        [LEGAL, "on_timeout='pause'"],
        "on_timeout='pause' needs timeout: without a deadline it never happens.",
    ),
    "a task for a deadline that there is not": (
        [LEGAL, "on_timeout='remind'"],
        "on_timeout='remind' needs timeout: without a deadline it never happens.",
    ),
    "on_reject that is no word": (
        [LEGAL, "on_reject=None"],
        "on_reject takes 'cancel', 'continue' or a task that depends on the approval, not None.",
    ),
    "on_timeout that is no word": (
        [LEGAL, "timeout=60", "on_timeout=5"],
        "on_timeout takes 'reject', 'approve', 'escalate', 'pause' or a task that depends on the "
        "approval, not 5.",
    ),
    "on_reject that is misspelled": (
        [LEGAL, "on_reject='cancle'"],
        "on_reject takes 'cancel', 'continue' or a task that depends on the approval, and Contract "
        "has no task 'cancle'. Did you mean 'cancel'?",
    ),
    "on_timeout that names nothing": (
        [LEGAL, "timeout=60", "on_timeout='remind'"],
        "on_timeout takes 'reject', 'approve', 'escalate', 'pause' or a task that depends on the "
        "approval, and Contract has no task 'remind'.",
    ),
    "on_reject that names a step": (
        [LEGAL, "on_reject='draft'"],
        "on_reject names 'draft', which is a step, not a task. Declare it with "
        "@gd.task(depends_on='sign').",
    ),
    "on_reject that names the step": (
        [LEGAL, "on_reject=draft"],
        "on_reject names 'draft', which is a step, not a task. Declare it with "
        "@gd.task(depends_on='sign').",
    ),
    "on_reject that names the approval itself": (
        [LEGAL, "on_reject='sign'"],
        "on_reject names 'sign', which is an approval, not a task. Declare it with "
        "@gd.task(depends_on='sign').",
    ),
    "a kept result": (
        [LEGAL, "keep_result=True"],
        "keep_result is not an option of an approval: its decision is always kept, and result_of "
        "reads it.",
    ),
    "an unknown option": (
        [LEGAL, "aks='Sign?'"],
        "there is no option 'aks'. Did you mean 'ask'? The options are: after_step, "
        "also_depends_on, approvers, ask, before_step, choices, deny_self, depends_on, "
        "escalate_to, form, initial, limit, max_reattempts, on_exception, on_reject, on_timeout, "
        "priority, queue, quorum, reject_quorum, renamed_from, retry, role, run_if, show, skip_if, "
        "terminal_action, timeout, transaction, wait.",
    ),
    "a condition that names no method": (
        [LEGAL, "skip_if='is_signed'"],
        "skip_if='is_signed' names no method of Contract.",
    ),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_options_that_an_approval_cannot_have_are_refused(arguments: list[str], words: str) -> None:
    assert refused(*arguments) == f"Approval 'sign': {words} (signup.py:3)"


def test_a_form_that_pydantic_cannot_read_is_refused() -> None:
    words = refusal("""
        from tests.definition.test_context_types import Early

        class Contract(gd.Workflow):
            @gd.approval(role="legal", form=Early)
            def sign(self, decision): ...
        """)

    assert words == (
        "Approval 'sign': the form Early cannot be checked. name 'Later' is not defined "
        "(signup.py:4)"
    )


@pytest.mark.parametrize(
    "option", ["role", "approvers", "quorum", "ask", "show", "initial", "timeout"]
)
def test_a_callable_that_takes_no_workflow_is_refused(option: str) -> None:
    assert refused(f"{option}=lambda: None") == (
        f"Approval 'sign': {option}: '<lambda>' is called with (self) but takes (): too many "
        f"positional arguments. (signup.py:3)"
    )


def test_a_callable_that_is_async_is_refused() -> None:
    words = refusal("""
        async def manager_of(self): ...

        class Contract(gd.Workflow):
            @gd.approval(role=manager_of)
            def sign(self, decision): ...
        """)

    assert words == (
        "Approval 'sign': role takes a plain function, and 'manager_of' is async. (signup.py:4)"
    )


BODIES = {
    "without a decision": (
        LEGAL,
        "def sign(self): ...",
        "'sign' is called with (self, decision) but takes (self): too many positional arguments. "
        "Add the parameter decision, as in sign(self, decision).",
    ),
    "without a session": (
        'role="legal", transaction=True',
        "def sign(self, decision): ...",
        "'sign' is called with (self, decision, session) but takes (self, decision): too many "
        "positional arguments. Add the parameter session, as in sign(self, decision, session).",
    ),
    "with a session and no transaction": (
        LEGAL,
        "def sign(self, decision, session): ...",
        "'sign' is called with (self, decision) but takes (self, decision, session): missing a "
        "required argument: 'session'. Pass transaction=True to receive a session.",
    ),
    "with a yield": (
        LEGAL,
        "def sign(self, decision): yield",
        "its body contains a yield, so calling it would not run it.",
    ),
    "async in a transaction": (
        'role="legal", transaction=True',
        "async def sign(self, decision, session): ...",
        "transaction=True needs a plain function, as its session belongs to one thread. Write def "
        "instead of async def, or leave out transaction.",
    ),
}


@pytest.mark.parametrize(("options", "body", "words"), BODIES.values(), ids=BODIES)
def test_a_body_that_cannot_be_called_with_a_decision_is_refused(
    options: str, body: str, words: str
) -> None:
    assert refused(options, body=body) == f"Approval 'sign': {words} (signup.py:3)"


def test_a_bare_approval_is_told_to_say_who_decides() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            @gd.approval
            def sign(self, decision): ...
        """)

    assert words == (
        "Approval 'sign': it needs role or approvers, which say who decides. Write "
        '@gd.approval(role="manager") or @gd.approval(approvers=["ann@example.org"]). '
        "(signup.py:2)"
    )


def test_an_approval_without_a_method_is_refused() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            sign = gd.approval(role="legal")
        """)

    assert words == (
        "Contract.sign is not an approval: gd.approval(...) got no method. Decorate a method with "
        "it, or pass one: gd.approval(method, ...). (signup.py:2)"
    )


def test_what_is_no_method_cannot_become_an_approval() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            sign = gd.approval("legal")
        """)

    assert words == "An approval is a method taking self, not str 'legal'. (signup.py:2)"


def test_a_task_that_does_not_depend_on_the_approval_is_no_branch_of_it() -> None:
    words = refused(
        LEGAL,
        "on_reject='apologize'",
        rest="@gd.task(depends_on='draft')\ndef apologize(self): ...",
    )

    assert words == (
        "Approval 'sign': on_reject names the task 'apologize', which does not depend on the "
        "approval. Declare it with @gd.task(depends_on='sign'). (signup.py:3)"
    )


def test_a_branch_that_a_child_class_removes_is_refused() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            @gd.approval(role="legal", on_reject="apologize")
            def sign(self, decision): ...
            @gd.task(depends_on=sign)
            def apologize(self): ...

        class Curt(Contract):
            apologize = gd.removed_step()
        """)

    assert words == (
        "Approval 'sign': on_reject takes 'cancel', 'continue' or a task that depends on the "
        "approval, and Curt has no task 'apologize'. (signup.py:2)"
    )


def test_a_method_that_takes_no_decision_cannot_override_an_approval() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            @gd.approval(role="legal")
            def sign(self, decision): ...

        class Curt(Contract):
            def sign(self): ...
        """)

    assert words == (
        "Curt.sign: 'sign' is called with (self, decision) but takes (self): too many positional "
        "arguments. Add the parameter decision, as in sign(self, decision). (signup.py:6)"
    )


def test_a_task_cannot_become_an_approval() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            @gd.task
            def sign(self): ...

        class Strict(Contract):
            @gd.approval(role="legal")
            def sign(self, decision): ...
        """)

    assert words == (
        "Strict.sign is a task of its parent and cannot become an approval. Choose another name. "
        "(signup.py:6)"
    )


def test_a_step_that_wants_a_decision_is_pointed_to_approvals() -> None:
    words = refusal("""
        class Contract(gd.Workflow):
            @gd.step
            def sign(self, decision): ...
        """)

    assert words == (
        "Step 'sign': 'sign' is called with (self) but takes (self, decision): missing a required "
        "argument: 'decision'. Use @gd.approval to receive `decision`. (signup.py:2)"
    )
