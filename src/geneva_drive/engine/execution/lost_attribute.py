"""Explain an AttributeError about an attribute that another step set on its own instance."""

from __future__ import annotations

import inspect
from typing import Any

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.workflow import Workflow


def explain(
    error: BaseException, definition: Definition, node: Node, instance: Workflow[Any, Any]
) -> None:
    """Extend the message of an AttributeError if another step names the attribute too."""
    if not isinstance(error, AttributeError) or error.obj is not instance or len(error.args) != 1:
        return
    for other in definition.nodes:
        if other.has_method and other.name != node.name and _names(other, error.name):
            error.args = (
                f"{error.args[0]}. If step {other.name!r} sets it: each execution has a new "
                f"instance of {definition.workflow_class.__name__}, so attributes of self do not "
                f"last. Save the value in the database, or return it from {other.name!r} with "
                f"keep_result=True and read it with self.result_of({other.name!r}).",
            )
            return


def _names(node: Node, attribute: str | None) -> bool:
    code = getattr(inspect.unwrap(node.function), "__code__", None)
    return code is not None and attribute in code.co_names
