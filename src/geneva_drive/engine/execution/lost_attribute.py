"""Explains an AttributeError about an attribute that another step has set on its own instance."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from typing import Any

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.workflow import Workflow


def explain(
    error: BaseException, definition: Definition, node: Node, instance: Workflow[Any]
) -> None:
    """Extend the message of an AttributeError if another step assigns the attribute."""
    if not isinstance(error, AttributeError) or error.obj is not instance or len(error.args) != 1:
        return
    for other in definition.nodes:
        if other.has_method and other.name != node.name and _assigns(other.function, error.name):
            error.args = (
                f"{error.args[0]}. Step {other.name!r} sets self.{error.name}, but each execution "
                f"has a new instance of {definition.workflow_class.__name__}. Save the value in "
                f"the database, or return it from {other.name!r} with keep_result=True and read "
                f"it with self.result_of({other.name!r}).",
            )
            return


def _assigns(function: Callable[..., Any], attribute: str | None) -> bool:
    """True if the function assigns `self.<attribute>`, also with an operator such as +=."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not code.co_argcount:
        return False
    receiver = code.co_varnames[0]
    loaded: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_ATTR" and instruction.argval == attribute:
            # Python 3.13 loads two variables with one instruction.
            last = loaded[-1] if isinstance(loaded, tuple) else loaded
            if last in (receiver, "SWAP"):
                return True
        # An operator such as += swaps the receiver behind the new value.
        loaded = "SWAP" if instruction.opname == "SWAP" else instruction.argval
    return False
