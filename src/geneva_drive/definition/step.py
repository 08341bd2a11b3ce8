"""Steps as they are written in a class body."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition import options, source
from geneva_drive.definition.conditions import CancelCondition
from geneva_drive.definition.options import Options, ResumableStepOptions, StepOptions
from geneva_drive.errors import StepConfigurationError

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Step(Generic[P, R]):
    """What `@gd.step` leaves in the class body: a method that the chain will call.

    On an instance it is the plain method; on the class it is the step itself, which may be used
    wherever a step is named: `after_step=`, `result_of`, `resume_at`.
    """

    def __init__(
        self, function: Callable[Concatenate[Any, P], R], opts: Options, where: str
    ) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.options = opts
        self.where = where

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Step[P, R]: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> Callable[P, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, workflow: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(workflow, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<step {getattr(self.function, '__name__', self.function)!r} at {self.where}>"


def is_method(value: object) -> bool:
    """Say whether a value of a class body may be called with an instance."""
    wrong = (staticmethod, classmethod, property, type, Step, CancelCondition)
    return callable(value) and not isinstance(value, wrong)


class RemovedStep:
    """The place of a step that is gone, kept for the workflows that stand there."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __repr__(self) -> str:
        return f"<removed step at {self.where}>"


def removed_step() -> RemovedStep:
    """Keep the place of a deleted step, so that workflows standing there move on.

    >>> import geneva_drive as gd
    >>> class Checkout(gd.Workflow):
    ...     @gd.step
    ...     def reserve(self): ...
    ...     call_courier = gd.removed_step()
    ...     @gd.step
    ...     def ship(self): ...
    """
    return RemovedStep(source.of_caller())


@overload
def step(
    function: Callable[Concatenate[Any, P], R], /, **given: Unpack[StepOptions]
) -> Step[P, R]: ...
@overload
def step(
    **given: Unpack[StepOptions],
) -> Callable[[Callable[Concatenate[Any, P], R]], Step[P, R]]: ...
def step(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Make a method a step of its workflow, run in order of definition.

    The body runs once per execution and is recorded with its outcome in one transaction; if the
    process dies before that, it runs again.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Trial(gd.Workflow):
    ...     @gd.step
    ...     def welcome(self): ...
    ...     @gd.step(wait=timedelta(days=14), on_exception="reattempt", max_reattempts=5)
    ...     def ask_to_buy(self): ...
    """
    if function is None:
        return lambda decorated: _make(decorated, given, source.of_function(decorated))
    return _make(function, given, None)


@overload
def resumable_step(
    function: Callable[Concatenate[Any, P], R], /, **given: Unpack[ResumableStepOptions]
) -> Step[P, R]: ...
@overload
def resumable_step(
    **given: Unpack[ResumableStepOptions],
) -> Callable[[Callable[Concatenate[Any, P], R]], Step[P, R]]: ...
def resumable_step(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Make a method a step that goes through many items, and goes on where it stood.

    Its second argument is a `gd.IterableStep`, or a `gd.AsyncIterableStep` for an `async def`:
    the loops that it gives save their cursor as they go.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Campaign(gd.Workflow):
    ...     @gd.resumable_step(max_runtime=timedelta(minutes=5))
    ...     def send(self, it):
    ...         for address in it.iterate_over(self.context["addresses"]): ...
    """
    if function is None:
        return lambda decorated: _make(
            decorated, given, source.of_function(decorated), resumable=True
        )
    return _make(function, given, None, resumable=True)


def _make(
    function: Any, given: dict[str, Any], where: str | None, *, resumable: bool = False
) -> Step[Any, Any]:
    where = where or source.of_caller()
    if isinstance(function, Step | RemovedStep):
        raise StepConfigurationError(f"{function!r} is a step already.", where)
    if not is_method(function):
        raise StepConfigurationError(
            f"A step is a method taking self, not {type(function).__name__} {function!r}.", where
        )
    parsed = options.parse(given, function, where, resumable=resumable)
    return Step(function, parsed, where)
