from __future__ import annotations

import functools
import inspect
import re
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.dynamic.jobs import Job, JobNode
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import refusal, run_file

NODE = JobNode(id="n_1", name="receipt", args={"order_id": 7})
JOB_OPTIONS = (
    "keep_result, limit, max_reattempts, on_exception, priority, queue, retry, terminal_action, "
    "timeout, transaction, wait"
)


def job(text: str) -> Job[..., Any]:
    """Run a file that defines one job, `send`."""
    found: Job[..., Any] = run_file(text, "mail")["send"]
    return found


def test_a_job_is_known_by_its_module_and_function() -> None:
    send = job("""
        @gd.job
        def send(order_id): return order_id + 1
    """)

    assert send.name == "mail.send"
    assert jobs.get("mail.send") is send
    assert "mail.send" in jobs.names()
    assert jobs.get("mail.post") is None


def test_a_job_is_known_by_the_name_it_is_given() -> None:
    send = job("""
        @gd.job(name="send_receipt")
        def send(): ...
        post = gd.job(send.function, name="post_receipt")
    """)

    assert send.name == "send_receipt"
    assert {"post_receipt", "send_receipt"} <= set(jobs.names())


def test_a_job_is_still_the_function_it_was() -> None:
    send = job("""
        @gd.job(queue="mail")
        def send(order_id, copies=1):
            '''Send it.'''
            return [order_id] * copies
    """)

    assert send(7, copies=2) == [7, 7]
    assert send.__doc__ == "Send it."
    assert str(inspect.signature(send)) == "(order_id, copies=1)"
    assert repr(send) == "<job 'mail.send' at mail.py:1>"


def test_a_job_gets_its_arguments_and_what_it_asks_for() -> None:
    send = job("""
        @gd.job
        def send(order_id, *, workflow, node): return order_id, workflow, node.name, node.args
    """)

    assert send.call({"order_id": 7}, "the workflow", NODE) == (
        7,
        "the workflow",
        "receipt",
        {"order_id": 7},
    )


def test_a_job_that_does_not_ask_is_not_told() -> None:
    send = job("""
        @gd.job
        def send(order_id, **others): return others
    """)

    assert send.call({"order_id": 7, "copies": 2}, "the workflow", NODE) == {"copies": 2}


def test_a_positional_only_parameter_does_not_ask() -> None:
    send = job("""
        @gd.job
        def send(node=None, /): return node
    """)

    assert send.call({}, "the workflow", NODE) is None


def test_a_job_in_a_transaction_gets_the_session() -> None:
    send = job("""
        @gd.job(transaction=True)
        def send(session): return session
    """)

    assert send.call({}, "the workflow", NODE, session="the session") == "the session"


def test_calling_an_async_job_gives_its_coroutine() -> None:
    send = job("""
        @gd.job
        async def send(node): return node.id
    """)

    coroutine = send.call({}, "the workflow", NODE)

    assert send.is_async is True
    with pytest.raises(StopIteration) as returned:
        coroutine.send(None)
    assert returned.value.value == "n_1"


def test_defining_a_job_again_replaces_it() -> None:
    first = job("""
        @gd.job
        def send(): ...
    """)
    second = job("""
        @gd.job
        def send(): ...
    """)

    assert jobs.get("mail.send") is second
    assert second is not first


def test_a_callable_without_a_name_is_a_job_under_the_one_it_is_given() -> None:
    made = gd.job(functools.partial(int, base=2), name="parse")

    assert made("101") == 5
    assert jobs.get("parse") is made


def test_a_job_without_a_known_signature_takes_whatever_it_is_given() -> None:
    largest = gd.job(max, name="largest")

    class Order(gd.Workflow):
        pick = gd.task(job=largest, args={"default": 3})

    assert largest(1, 2) == 2
    assert definition_of(Order).require("pick").job_args == {"default": 3}


def test_a_task_may_be_a_job() -> None:
    names = run_file("""
        @gd.job(name="send_receipt")
        async def send(order_id, *, node): ...

        class Order(gd.Workflow):
            @gd.step
            def charge(self): ...
            receipt = gd.task(job=send, args={"order_id": 7}, depends_on=charge)
            copies = [gd.task(job=send, args={"order_id": n}) for n in range(2)]
            close = gd.step(lambda self: 0, depends_on=[receipt, "copies_2"])
    """)

    node = definition_of(names["Order"]).require(names["Order"].receipt)
    assert (node.kind, node.name, node.depends_on) == (NodeKind.TASK, "receipt", ("charge",))
    assert (node.job, node.job_args) == (names["send"], {"order_id": 7})
    assert node.is_async is True
    assert node.has_method is False
    assert names["Order"].compiled_dag()["nodes"]["receipt"] == {
        "name": "receipt",
        "depends_on": ["charge"],
        "job": "send_receipt",
        "args": {"order_id": 7},
    }
    assert names["Order"].compiled_dag()["nodes"]["close"] == {
        "name": "close",
        "depends_on": ["receipt", "copies_2"],
    }


def test_a_task_that_is_no_job_says_so() -> None:
    class Order(gd.Workflow):
        @gd.task
        def check(self) -> None: ...

    node = definition_of(Order).require("check")
    assert (node.job, node.job_args, node.child) == (None, {}, None)


def test_a_task_has_its_jobs_options_unless_it_has_its_own() -> None:
    names = run_file("""
        @gd.job(queue="mail", timeout=5, retry=gd.Retry(max=3))
        def send(): ...

        class Order(gd.Workflow):
            plain = gd.task(job=send)
            own = gd.task(job=send, queue="fast", on_exception="skip", skip_if=True)
    """)

    definition = definition_of(names["Order"])
    plain, own = definition.require("plain").options, definition.require("own").options
    assert (plain.queue, plain.timeout) == ("mail", timedelta(seconds=5))
    assert plain.policies == names["send"].options.policies
    assert (own.queue, own.timeout) == ("fast", timedelta(seconds=5))
    assert own.policies == (gd.ExceptionPolicy("skip"),)


def test_a_child_class_replaces_a_job_by_a_method_with_a_decorator() -> None:
    names = run_file("""
        @gd.job
        def send(): ...
        class Order(gd.Workflow):
            receipt = gd.task(job=send)
        class Loud(Order):
            @gd.task
            def receipt(self): ...
    """)

    assert definition_of(names["Loud"]).require("receipt").job is None
    assert definition_of(names["Order"]).require("receipt").job is names["send"]


REFUSED = {
    "a lambda": (
        "gd.job(lambda: 0)",
        "Job '<lambda>': other processes cannot find it by name, because it is not a top-level "
        'function of a module. Move it there, or pass a name: @gd.job(name="..."). (signup.py:1)',
    ),
    "a nested function": (
        """
        def outer():
            @gd.job
            def send(): ...
        outer()
        """,
        "Job 'send': other processes cannot find it by name, because it is not a top-level "
        'function of a module. Move it there, or pass a name: @gd.job(name="..."). (signup.py:2)',
    ),
    "two functions of one name": (
        """
        @gd.job(name="send")
        def a(): ...

        @gd.job(name="send")
        def b(): ...
        """,
        "The job name 'send' is taken by <job 'send' at signup.py:1>. Give one of them another "
        'name: @gd.job(name="..."). (signup.py:4)',
    ),
    "an empty name": (
        """
        @gd.job(name="")
        def send(): ...
        """,
        "Job 'send': the name must not be empty. (signup.py:1)",
    ),
    "a name of a number": (
        """
        @gd.job(name=7)
        def send(): ...
        """,
        "Job 7: the name must be text, got 7. (signup.py:1)",
    ),
    "a name that cannot be compared": (
        """
        class Array:
            def __eq__(self, other):
                raise ValueError("The truth value of an array is ambiguous.")
            __hash__ = None
            __repr__ = lambda self: "array([1, 2])"

        @gd.job(name=Array())
        def send(): ...
        """,
        "Job array([1, 2]): the name must be text, got array([1, 2]). (signup.py:7)",
    ),
    "an option of nodes": (
        """
        @gd.job(skip_if=True)
        def send(): ...
        """,
        f"Job 'send': there is no option 'skip_if'. The options are: {JOB_OPTIONS}. (signup.py:1)",
    ),
    "a bad option": (
        """
        @gd.job(name="send_it", wait=-1)
        def send(): ...
        """,
        "Job 'send_it': wait: -1 is negative. (signup.py:1)",
    ),
    "a generator": (
        """
        @gd.job
        def send(): yield
        """,
        "Job 'send': its body contains a yield, so calling it would not run it. (signup.py:1)",
    ),
    "a transaction without a session": (
        """
        @gd.job(transaction=True)
        def send(order_id): ...
        """,
        "Job 'send': transaction=True passes a session, and the function has no parameter "
        "'session'. (signup.py:1)",
    ),
    "a job of a job": (
        """
        @gd.job
        @gd.job
        def send(): ...
        """,
        "<job 'signup.send' at signup.py:2> is a job already. (signup.py:1)",
    ),
    "a job as a method": (
        """
        @gd.job
        def send(): ...
        gd.task(send)
        """,
        "<job 'signup.send' at signup.py:1> is a job and no method taking self. "
        "Write gd.task(job=...). (signup.py:3)",
    ),
    "a job of a class": (
        "gd.job(int)",
        "A job is a function, not type <class 'int'>. (signup.py:1)",
    ),
    "a job that is none": (
        "gd.task(job=print)",
        "job of a task takes a function decorated with @gd.job, not <built-in function print>. "
        "(signup.py:1)",
    ),
    "arguments without a job": (
        "gd.task(args={})",
        "args of a task needs job=: they are the arguments of the job. (signup.py:1)",
    ),
    "arguments of a list": (
        """
        @gd.job
        def send(order_id): ...
        gd.task(job=send, args=[7])
        """,
        "Task of job 'signup.send': args is a dict of the job's arguments, not [7]. (signup.py:3)",
    ),
    "arguments that are missing": (
        """
        @gd.job
        def send(order_id, *, node): ...
        gd.task(job=send)
        """,
        "Task of job 'signup.send': job 'signup.send' is called with () but takes "
        "(order_id, *, node): missing a required argument: 'order_id'. (signup.py:3)",
    ),
    "arguments that the engine gives": (
        """
        @gd.job
        def send(node): ...
        gd.task(job=send, args={"node": 7})
        """,
        "Task of job 'signup.send': args has 'node', which the engine passes to job "
        "'signup.send'. Give the parameter another name. (signup.py:3)",
    ),
    "a bad option of a task": (
        """
        @gd.job(queue="mail")
        def send(): ...
        gd.task(job=send, wait=-1)
        """,
        "Task of job 'signup.send': wait: -1 is negative. (signup.py:3)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_faulty_job_is_refused_with_what_and_where(text: str, expected: str) -> None:
    assert refusal(text) == expected


def test_a_task_calls_a_method_or_a_job() -> None:
    message = refusal("""
        @gd.job
        def send(): ...
        def check(workflow): ...
        gd.task(check, job=send)
    """)

    assert re.sub(r"<function.*?>", "<it>", message) == (
        "A task calls a method or a job, not both <it> and <job 'signup.send' at signup.py:1>. "
        "(signup.py:4)"
    )


def test_arguments_that_cannot_be_stored_are_refused() -> None:
    message = refusal("""
        @gd.job
        def send(order): ...
        gd.task(job=send, args={"order": object()})
    """)

    assert message.startswith(
        "Task of job 'signup.send': args['order'] is of type object, "
        "which cannot be stored as JSON. Use "
    )


def test_a_plain_method_cannot_stand_in_the_place_of_a_job() -> None:
    message = refusal("""
        @gd.job
        def send(): ...
        class Order(gd.Workflow):
            receipt = gd.task(job=send)
        class Loud(Order):
            def receipt(self): ...
    """)

    assert re.sub(r"<function.*?>", "<it>", message) == (
        "Loud.receipt is <task 'signup.send' at signup.py:4> of its parent and cannot become "
        "<it>. Override it with gd.task(...), or choose another name. (signup.py:6)"
    )
