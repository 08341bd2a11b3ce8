"""Conditions on steps and workflows, evaluated when an execution runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any, overload

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow

Test = str | bool | Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class WorkflowCondition:
    """A method's name, a callable taking the workflow, or a constant."""

    option: str
    test: Test

    def __post_init__(self) -> None:
        test: object = self.test
        if isinstance(test, str | bool):
            return
        if not callable(test) or isinstance(test, type):
            raise code_location.fault(
                f"{self.option} takes a method's name, a callable or a boolean, not {shown(test)}."
            )
        call_signatures.check_plain(self.option, test, "self")

    def check(self, workflow_class: type[Workflow[Any, Any]]) -> None:
        """Raise an error if the test names no method of the class."""
        if not isinstance(self.test, str):
            return
        method = inspect.getattr_static(workflow_class, self.test, None)
        if not callable(getattr(workflow_class, self.test, None)):
            raise code_location.fault(
                f"{self.option}={shown(self.test)} names no method of {workflow_class.__name__}."
            )
        if inspect.isfunction(method):
            call_signatures.check_plain(f"{self.option}={shown(self.test)}", method, "self")

    def holds(self, workflow: Workflow[Any, Any]) -> bool:
        match self.test:
            case bool() as constant:
                return constant
            case str() as name:
                return self._truth(getattr(workflow, name)())
            case test:
                return self._truth(test(workflow))

    def _truth(self, answer: object) -> bool:
        # A coroutine is truthy: the step would silently be skipped every time.
        if inspect.iscoroutine(answer):
            answer.close()
            raise StepConfigurationError(
                f"{self.option} takes a plain function, and {shown(self.test)} returned a "
                f"coroutine."
            )
        return bool(answer)


@dataclass(frozen=True, slots=True)
class StepCondition:
    """The `skip_if` or `run_if` of a step."""

    condition: WorkflowCondition
    skips_when: bool

    def skips(self, workflow: Workflow[Any, Any]) -> bool:
        return self.condition.holds(workflow) is self.skips_when


class CancelCondition:
    """The `@gd.cancel_if` of a class body; the method can still be called."""

    def __init__(self, test: Test) -> None:
        self.where = code_location.of_caller()
        self.condition = WorkflowCondition("cancel_if", test)

    @overload
    def __get__(self, instance: None, owner: type) -> CancelCondition: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[[], bool]: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, workflow: Any) -> bool:
        return self.condition.holds(workflow)


def cancel_if(test: Test) -> CancelCondition:
    """Cancel the workflow if this is true when a step is about to run.

    The hero is loaded for the check. Subclasses inherit the condition.

    >>> import geneva_drive as gd
    >>> class Newsletter(gd.Workflow):
    ...     @gd.cancel_if
    ...     def unsubscribed(self): return self.context.get("unsubscribed")
    """
    with code_location.ending_at_caller:
        return CancelCondition(test)
