"""Steps as they are written in a class body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    Unpack,
    overload,
)

from geneva_drive.definition.compiler import call_signatures, code_location, dependencies
from geneva_drive.definition.compiler.dependencies import TaskDependencies
from geneva_drive.definition.dynamic.jobs import Job
from geneva_drive.definition.nodes.declaration import Declared, NodeKind
from geneva_drive.definition.options import options
from geneva_drive.definition.options.conditions import CancelCondition
from geneva_drive.definition.options.keywords import ResumableStepOptions, StepOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Step(Declared, Generic[P, R]):
    """What `@gd.step` and its like leave in the class body: a method that the engine will call.

    On an instance it is the plain method; on the class it is the node itself, which may be used
    wherever one is named: `after_step=`, `depends_on=`, `result_of`, `resume_at`.
    """

    function: Callable[Concatenate[Any, P], R]

    def __init__(
        self, kind: NodeKind, function: Callable[Concatenate[Any, P], R], opts: Options, where: str
    ) -> None:
        super().__init__(kind, code_location.name_of(function), opts, where)
        self.function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Step[P, R]: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> Callable[P, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, workflow: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(workflow, *args, **kwargs)


def is_method(value: object) -> bool:
    """Say whether a value of a class body may be called with an instance."""
    wrong = (staticmethod, classmethod, property, type, Declared, CancelCondition, Job)
    return callable(value) and not isinstance(value, wrong)


class RemovedStep(Declared):
    """The place of a node that is gone, kept for the workflows that stand there."""

    def __init__(self, where: str, opts: Options, *, is_in_chain: bool) -> None:
        super().__init__(NodeKind.REMOVED, "", opts, where)
        self.is_in_chain = is_in_chain

    def __repr__(self) -> str:
        return f"<removed step at {self.where}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What `gd.child` starts, and whether the parent's end is its end."""

    workflow_class: type[Workflow[Any]] | str  # or the name of its type, for the engine to find
    hero: object = None  # or a callable of the parent
    context: Mapping[str, Any] | Callable[[Any], Mapping[str, Any] | None] | None = None
    detached: bool = False

    @property
    def name(self) -> str:
        return (
            self.workflow_class
            if isinstance(self.workflow_class, str)
            else self.workflow_class.__name__
        )


class ChildStep(Declared):
    """What `gd.child` leaves in the class body."""

    child: Child

    def __init__(self, child: Child, opts: Options, where: str) -> None:
        super().__init__(NodeKind.CHILD, child.name, opts, where)
        self.child = child


def removed_step(*, depends_on: TaskDependencies = None) -> RemovedStep:
    """Keep the place of a deleted step, so that workflows standing there move on.

    For a deleted task, say what it depended on: what waited for it then waits for that.

    >>> import geneva_drive as gd
    >>> class Checkout(gd.Workflow):
    ...     @gd.step
    ...     def reserve(self): ...
    ...     call_courier = gd.removed_step()
    ...     @gd.step
    ...     def ship(self): ...
    """
    where = code_location.of_caller()
    if depends_on is None:
        return RemovedStep(where, Options(), is_in_chain=True)
    with code_location.naming("A removed task", where):
        parents = dependencies.parse({"depends_on": depends_on}, NodeKind.TASK)
    return RemovedStep(where, Options(depends_on=parents), is_in_chain=False)


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
    return making(NodeKind.STEP, function, given)


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
    return making(NodeKind.RESUMABLE, function, given)


def making(kind: NodeKind, function: Callable[..., Any] | None, given: Mapping[str, Any]) -> Any:
    """Make a node of a function, or the decorator that will."""
    if function is None:
        return Decorator(kind, given, code_location.of_caller())
    return _make(kind, function, given, None)


class Decorator:
    """What `@gd.step(...)` is until it meets its method."""

    def __init__(self, kind: NodeKind, given: Mapping[str, Any], where: str) -> None:
        self.kind = kind
        self.where = where
        self._given = given

    def __call__(self, function: Any) -> Step[Any, Any]:
        return _make(self.kind, function, self._given, code_location.of_function(function))


def _make(
    kind: NodeKind, function: Any, given: Mapping[str, Any], where: str | None
) -> Step[Any, Any]:
    where = where or code_location.of_caller()
    if isinstance(function, Declared):
        raise StepConfigurationError(f"{function!r} is a {function.kind.noun} already.", where)
    if isinstance(function, Job):
        raise StepConfigurationError(
            f"{function!r} is a job and no method taking self. Write gd.task(job=...).", where
        )
    if not is_method(function):
        raise StepConfigurationError(
            f"A {kind.noun} is a method taking self, not {type(function).__name__} {function!r}.",
            where,
        )
    with code_location.naming(
        f"{kind.noun.capitalize()} {code_location.name_of(function)!r}", where
    ):
        opts = options.parse(given, kind)
        call_signatures.check_body(
            function, transaction=opts.transaction, resumable=kind is NodeKind.RESUMABLE
        )
    return Step(kind, function, opts, where)
