"""The items of a map: the result of a step, or the return value of a method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler import call_signatures
from geneva_drive.definition.nodes.declaration import DeclaredNode
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow

Source = str | DeclaredNode | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class MapItems:
    """A step, the name of a step or a method, or a callable taking the workflow."""

    source: Source

    def call(self, workflow: Workflow[Any, Any]) -> Any:
        """Call the method or callable, and return its items; not for a map over a step's result."""
        match self.source:
            case str() as name:
                answer = getattr(workflow, name)()
            case DeclaredNode() as step:
                raise AssertionError(f"the items are the result of {step!r}")
            case function:
                answer = function(workflow)
        # A coroutine is not a list, and Python would warn that it was never awaited.
        if inspect.iscoroutine(answer):
            answer.close()
            raise StepConfigurationError(
                f"items takes a plain function, and {shown(self.source)} returned a coroutine. "
                f"Fetch the items in a step with keep_result=True, and pass that step."
            )
        return answer


_WAY_OUT = " Write @gd.map(items) above the method that is called with each item."


def parse(source: object) -> MapItems:
    if isinstance(source, str) and source:
        return MapItems(source)
    if isinstance(source, DeclaredNode):
        return MapItems(source)
    if not callable(source) or isinstance(source, type):
        raise StepConfigurationError(
            f"items takes a step that keeps its result, a method's name or a callable of self, "
            f"not {shown(source)}."
        )
    call_signatures.check_plain("items", source, "self", way_out=_WAY_OUT)
    return MapItems(source)
