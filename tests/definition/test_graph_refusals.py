from __future__ import annotations

import re

import pytest

import geneva_drive as gd
from geneva_drive.definition.metaclass import reserved_names
from tests.definition.writing import refusal

TASK_OPTIONS = (
    "depends_on, keep_result, limit, max_reattempts, on_exception, priority, queue, renamed_from, "
    "retry, run_if, skip_if, terminal_action, timeout, transaction, wait"
)
DECISION_OPTIONS = TASK_OPTIONS.replace("keep_result, ", "")
REFUSED = {
    "two that wait for each other": (
        """
        class Order(gd.Workflow):
            type_name = "order"
            a = gd.task(lambda self: 0, depends_on="b")
            b = gd.task(lambda self: 0, depends_on=a)
        """,
        "Workflow 'order' has nodes that wait for each other: a -> b -> a. "
        "Remove one of these dependencies. (signup.py:1)",
    ),
    "a cycle through the chain": (
        """
        class Order(gd.Workflow):
            a = gd.step(lambda self: 0, depends_on="c")
            b = gd.step(lambda self: 0)
            c = gd.step(lambda self: 0)
        """,
        "Workflow 'Order' has nodes that wait for each other: a -> b -> c -> a. "
        "Remove one of these dependencies. (signup.py:1)",
    ),
    "a cycle through a removed step": (
        """
        class Order(gd.Workflow):
            a = gd.step(lambda self: 0, depends_on="gone")
            gone = gd.removed_step()
        """,
        "Workflow 'Order' has nodes that wait for each other: a -> gone -> a. "
        "Remove one of these dependencies. (signup.py:1)",
    ),
    "a task that waits for itself": (
        """
        class Order(gd.Workflow):
            @gd.task(depends_on="a")
            def a(self): ...
        """,
        "Order.a depends on itself. Name what it waits for. (signup.py:2)",
    ),
    "a name that is nearly right": (
        """
        class Order(gd.Workflow):
            check_fraud = gd.task(lambda self: 0)
            a = gd.step(lambda self: 0)
            @gd.step(also_depends_on="chek_fraud")
            def charge(self): ...
        """,
        "Order.charge depends on 'chek_fraud', and Order has no such node. "
        "Did you mean 'check_fraud'? The others are: check_fraud, a. (signup.py:4)",
    ),
    "a name of nothing": (
        """
        class Order(gd.Workflow):
            @gd.task(depends_on=["validate"])
            def charge(self): ...
        """,
        "Order.charge depends on 'validate', and Order has no such node. "
        "The others are: (none). (signup.py:2)",
    ),
    "a task of another class": (
        """
        class Other(gd.Workflow):
            a = gd.task(lambda self: 0)
        class Order(gd.Workflow):
            b = gd.task(lambda self: 0)
            c = gd.task(lambda self: 0, depends_on=Other.a)
        """,
        "Order.c depends on <task '<lambda>' at signup.py:2>, and Order has no such node. "
        "The others are: b. (signup.py:5)",
    ),
    "a dependency of a number": (
        """
        class Order(gd.Workflow):
            @gd.step(depends_on=["a", 7])
            def charge(self): ...
        """,
        "Step 'charge': depends_on takes a name, a decorated method or a list of these, not 7. "
        "(signup.py:2)",
    ),
    "a list in a list": (
        """
        class Order(gd.Workflow):
            @gd.resumable_step(also_depends_on=[["a"], "b"])
            def charge(self, it): ...
        """,
        "Step 'charge': also_depends_on takes a name, a decorated method or a list of these, "
        "not ['a']. (signup.py:2)",
    ),
    "both kinds of dependencies": (
        """
        class Order(gd.Workflow):
            @gd.step(depends_on="a", also_depends_on="b")
            def charge(self): ...
        """,
        "Step 'charge': depends_on and also_depends_on exclude each other. "
        "Leave out one of them. (signup.py:2)",
    ),
    "a task that names the previous step": (
        """
        class Order(gd.Workflow):
            @gd.task(depends_on=["a", gd.PREVIOUS])
            def check(self): ...
        """,
        "Task 'check': depends_on names gd.PREVIOUS, and a task has no place in the chain of "
        "steps. Name what it waits for. (signup.py:2)",
    ),
    "a decision that names the previous step": (
        """
        class Order(gd.Workflow):
            @gd.decision(depends_on=gd.PREVIOUS)
            def route(self): ...
        """,
        "Decision 'route': depends_on names gd.PREVIOUS, and a decision has no place in the chain "
        "of steps. Name what it waits for. (signup.py:2)",
    ),
    "a task that is inserted": (
        """
        class Order(gd.Workflow):
            @gd.task(after_step="a")
            def check(self): ...
        """,
        f"Task 'check': there is no option 'after_step'. The options are: {TASK_OPTIONS}. "
        "(signup.py:2)",
    ),
    "a decision that keeps its result": (
        """
        class Order(gd.Workflow):
            @gd.decision(keep_result=True)
            def route(self): ...
        """,
        "Decision 'route': there is no option 'keep_result'. "
        f"The options are: {DECISION_OPTIONS}. (signup.py:2)",
    ),
    "a step inserted beside a task": (
        """
        class Order(gd.Workflow):
            check = gd.task(lambda self: 0)
            a = gd.step(lambda self: 0)
            @gd.step(after_step=check)
            def charge(self): ...
        """,
        "after_step of Order.charge names 'check', which has no place in the chain, as it is a "
        "task. Name a step, or use depends_on. (signup.py:4)",
    ),
    "a step inserted beside nothing": (
        """
        class Order(gd.Workflow):
            check = gd.task(lambda self: 0)
            @gd.step(after_step="a")
            def charge(self): ...
        """,
        "after_step of Order.charge names 'a', which is not defined before it. "
        "Defined so far: (none). (signup.py:3)",
    ),
    "a task of a step's name": (
        """
        class Order(gd.Workflow):
            @gd.step
            def a(self): ...
            @gd.task
            def a(self): ...
        """,
        "Order.a is defined twice, and the second would silently replace the first. Give one of "
        "them another name. (signup.py:5)",
    ),
    "a task of the name of a list's item": (
        """
        class Order(gd.Workflow):
            checks = [gd.task(lambda self: 0)]
            @gd.task
            def checks_1(self): ...
        """,
        "Order.checks_1 is defined twice: by itself, and as an item of a list of tasks. "
        "Give one of them another name. (signup.py:3)",
    ),
    "a task in the place of a parent's step": (
        """
        class Order(gd.Workflow):
            a = gd.step(lambda self: 0)
        class Paid(Order):
            a = gd.task(lambda self: 0)
        """,
        "Paid.a is a step of its parent and cannot become a task. "
        "Choose another name. (signup.py:4)",
    ),
    "a step in the place of an item of a parent's list": (
        """
        class Order(gd.Workflow):
            checks = [gd.task(lambda self: 0)]
        class Paid(Order):
            checks_1 = gd.step(lambda self: 0)
        """,
        "Paid.checks_1 is a task of its parent and cannot become a step. "
        "Choose another name. (signup.py:4)",
    ),
    "a value in the place of a parent's task": (
        """
        class Order(gd.Workflow):
            a = gd.task(lambda self: 0)
        class Paid(Order):
            a = 3
        """,
        "Paid.a is a task of its parent and cannot become 3. Override it with a method, or write "
        "a = gd.removed_step(). (signup.py:3)",
    ),
    "a value in the place of a parent's list": (
        """
        class Order(gd.Workflow):
            checks = [gd.task(lambda self: 0)]
        class Paid(Order):
            checks = 3
        """,
        "Paid.checks is a list of tasks of its parent and cannot become 3. "
        "Override it with another list of tasks. (signup.py:3)",
    ),
    "a list of tasks and others": (
        """
        class Order(gd.Workflow):
            checks = [gd.task(lambda self: 0), 7]
        """,
        "Order.checks is a list of tasks, but its item 2 is 7. (signup.py:2)",
    ),
    "one task under two names": (
        """
        class Order(gd.Workflow):
            checks = [gd.task(lambda self: 0)] * 2
        """,
        "Order uses one task as both 'checks_1' and 'checks_2'. "
        "Make a task for each with gd.task(...). (signup.py:2)",
    ),
    "two of one former name": (
        """
        class Order(gd.Workflow):
            a = gd.step(lambda self: 0, renamed_from="x")
            b = gd.task(lambda self: 0, renamed_from="x")
        """,
        "renamed_from='x' of Order.b leads to 'a' already. "
        "Name what this task alone was called before. (signup.py:3)",
    ),
    "a task of a step": (
        """
        class Order(gd.Workflow):
            @gd.task
            @gd.step
            def a(self): ...
        """,
        "<step 'a' at signup.py:3> is a step already. (signup.py:2)",
    ),
    "a step of a decision": (
        """
        class Order(gd.Workflow):
            @gd.step
            @gd.decision
            def a(self): ...
        """,
        "<decision 'a' at signup.py:3> is a decision already. (signup.py:2)",
    ),
    "a task of text": (
        """
        class Order(gd.Workflow):
            a = gd.task("check")
        """,
        "A task is a method taking self, not str 'check'. (signup.py:2)",
    ),
    "a task of nothing": (
        """
        class Order(gd.Workflow):
            a = gd.step(lambda self: 0)
            b = gd.task(depends_on=a)
        """,
        "Order.b is not a task: gd.task(...) got no method. "
        "Decorate a method with it, or pass one: gd.task(method, ...). (signup.py:3)",
    ),
    "a loop of nothing": (
        """
        class Order(gd.Workflow):
            a = gd.resumable_step(wait=5)
        """,
        "Order.a is not a step: gd.resumable_step(...) got no method. "
        "Decorate a method with it, or pass one: gd.resumable_step(method, ...). (signup.py:2)",
    ),
    "a body that takes more than self": (
        """
        class Order(gd.Workflow):
            @gd.decision
            def route(self, order): ...
        """,
        "Decision 'route': 'route' is called with (self) but takes (self, order): "
        "missing a required argument: 'order'. (signup.py:2)",
    ),
    "a condition of no method": (
        """
        class Order(gd.Workflow):
            @gd.task(skip_if="is_known")
            def check(self): ...
        """,
        "Task 'check': skip_if='is_known' names no method of Order. (signup.py:2)",
    ),
    "a long name": (
        """
        class Order(gd.Workflow):
            vars()["a" * 192] = gd.task(lambda self: 0)
        """,
        f"The task name {'a' * 40!r}... of Order is 192 characters long; "
        "at most 191 can be stored. (signup.py:2)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_faulty_graph_is_refused_with_what_and_where(text: str, expected: str) -> None:
    assert refusal(text) == expected


@pytest.mark.parametrize("name", sorted(reserved_names(gd.Workflow)))
def test_a_task_named_like_a_public_member_is_refused(name: str) -> None:
    message = refusal(f"""
        class Order(gd.Workflow):
            @gd.task
            def {name}(self): ...
    """)

    assert message == (
        f"Order.{name} has the name of a member of gd.Workflow. "
        f"Choose another name for the task. (signup.py:2)"
    )


def test_a_plain_function_that_is_no_node_cannot_be_waited_for() -> None:
    message = refusal("""
        class Order(gd.Workflow):
            def total(self): ...
            @gd.task(depends_on=total)
            def check(self): ...
    """)

    assert re.sub(r"<function.*?>", "<it>", message) == (
        "Order.check depends on <it>, and Order has no such node. "
        "The others are: (none). (signup.py:3)"
    )
