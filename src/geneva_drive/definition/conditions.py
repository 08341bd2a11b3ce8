"""Conditions on steps and workflows, evaluated when an execution runs and never before."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from geneva_drive.definition import source
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow

Test = str | bool | Callable[[Any], object]
F = TypeVar("F", bound=Callable[[Any], object])


@dataclass(frozen=True, slots=True)
class Condition:
    """A method's name, a callable taking the workflow, or a constant."""

    option: str
    test: Test
    where: str | None

    def __post_init__(self) -> None:
        if not isinstance(self.test, str | bool) and not callable(self.test):
            raise StepConfigurationError(
                f"{self.option} takes a method's name, a callable or a boolean, not {self.test!r}.",
                self.where,
            )
        if inspect.iscoroutinefunction(self.test):
            raise StepConfigurationError(
                f"{self.option} takes a plain function; {self.test!r} is async.", self.where
            )

    def check(self, workflow_class: type[Workflow[Any]]) -> None:
        """Refuse a name that is no method of the class."""
        if not isinstance(self.test, str):
            return
        method = getattr(workflow_class, self.test, None)
        if not callable(method):
            raise StepConfigurationError(
                f"{self.option}={self.test!r} names no method of {workflow_class.__name__}.",
                self.where,
            )
        if inspect.iscoroutinefunction(method):
            raise StepConfigurationError(
                f"{self.option}={self.test!r} names an async method; conditions are plain.",
                self.where,
            )

    def holds(self, workflow: Workflow[Any]) -> bool:
        match self.test:
            case bool() as constant:
                return constant
            case str() as name:
                return bool(getattr(workflow, name)())
            case test:
                return bool(test(workflow))


@dataclass(frozen=True, slots=True)
class StepCondition:
    """When a step's body is left out."""

    condition: Condition
    skips_when: bool

    def skips(self, workflow: Workflow[Any]) -> bool:
        return self.condition.holds(workflow) is self.skips_when


class CancelCondition(Generic[F]):
    """What `@gd.cancel_if` leaves in the class body; the method can still be called."""

    def __init__(self, test: F | str | bool) -> None:
        self._test = test
        self.condition = Condition(
            "cancel_if", test, source.of_function(test) or source.of_caller()
        )

    @overload
    def __get__(self, instance: None, owner: type) -> CancelCondition[F]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[[], object]: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, workflow: Any) -> bool:
        return self.condition.holds(workflow)


def cancel_if(test: F | str | bool) -> CancelCondition[F]:
    """Cancel the workflow before any step for which this holds.

    Checked when a step is about to run, with the hero as it is then; subclasses inherit it.

    >>> import geneva_drive as gd
    >>> class Newsletter(gd.Workflow):
    ...     @gd.cancel_if
    ...     def unsubscribed(self): return self.context.get("unsubscribed")
    """
    return CancelCondition(test)
