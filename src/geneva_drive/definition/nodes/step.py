"""Steps: methods that run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.dynamic.jobs import Job
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.options import options
from geneva_drive.definition.options.conditions import CancelCondition
from geneva_drive.definition.options.keywords import StepOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Step(DeclaredNode, Generic[P, R]):
    """A node with a method as its body: a step, resumable step, task, decision or approval.

    On an instance it is the plain method. On the class it is the declaration, which `after_step=`,
    `depends_on=`, `result_of` and `resume_at` accept.
    """

    function: Callable[Concatenate[Any, P], R]

    def __init__(
        self, kind: NodeKind, function: Callable[Concatenate[Any, P], R], opts: Options, where: str
    ) -> None:
        super().__init__(kind, code_location.name_of(function), opts, where)
        self.function = function
        self.__doc__ = function.__doc__

    def with_body(self, function: Callable[..., Any], where: str) -> Step[Any, Any]:
        """Return the same node with another method as its body."""
        return Step(self.kind, function, self.options, where)

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Step[P, R]: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> Callable[P, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, workflow: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(workflow, *args, **kwargs)


def is_method(value: object) -> bool:
    """True if a value of a class body is a method that takes `self`."""
    wrong = (staticmethod, classmethod, property, type, DeclaredNode, CancelCondition, Job)
    return callable(value) and not isinstance(value, wrong)


@overload
def step(
    function: Callable[Concatenate[Any, P], R], /, **given: Unpack[StepOptions]
) -> Step[P, R]: ...
@overload
def step(
    **given: Unpack[StepOptions],
) -> Callable[[Callable[Concatenate[Any, P], R]], Step[P, R]]: ...
def step(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Turn a method into a step of its workflow. Steps run in order of definition.

    When the body returns, one transaction records its outcome and schedules the next step. If the
    process dies before that, the body runs again.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Trial(gd.Workflow):
    ...     @gd.step
    ...     def welcome(self): ...
    ...     @gd.step(wait=timedelta(days=14), on_exception="reattempt", max_reattempts=5)
    ...     def ask_to_buy(self): ...
    """
    with code_location.ending_at_caller:
        return decorate(NodeKind.STEP, function, given)


def _build(
    kind: NodeKind, function: Callable[..., Any], given: Mapping[str, Any], where: str
) -> Step[Any, Any]:
    opts = options.parse(given, kind)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return Step(kind, function, opts, where)


# Builds a node from its kind, its method, its keywords, and its file and line.
Build = Callable[[NodeKind, Callable[..., Any], Mapping[str, Any], str], Step[Any, Any]]


def decorate(
    kind: NodeKind,
    function: Callable[..., Any] | None,
    given: Mapping[str, Any],
    build: Build = _build,
) -> Any:
    """Return the node of a function; without a function, return the decorator."""
    if function is None:
        return Decorator(kind, given, code_location.of_caller(), build)
    return _make(kind, function, given, None, build)


class Decorator:
    """The decorator that `gd.step(...)` and similar calls return."""

    def __init__(self, kind: NodeKind, given: Mapping[str, Any], where: str, build: Build) -> None:
        self.kind = kind
        self.where = where
        self._given = given
        self._build = build

    def __call__(self, function: Any) -> Step[Any, Any]:
        with code_location.ending_at_caller:
            where = code_location.of_function(function)
            return _make(self.kind, function, self._given, where, self._build)


def _make(
    kind: NodeKind, function: Any, given: Mapping[str, Any], where: str | None, build: Build
) -> Step[Any, Any]:
    where = where or code_location.of_caller()
    if isinstance(function, DeclaredNode):
        raise StepConfigurationError(f"{shown(function)} is {function.kind.a_noun} already.", where)
    if isinstance(function, Job):
        raise StepConfigurationError(
            f"{shown(function)} is a job and no method taking self. Write gd.task(job=...).", where
        )
    if not is_method(function):
        raise StepConfigurationError(
            f"{kind.a_noun.capitalize()} is a method taking self, not {type(function).__name__} "
            f"{shown(function)}.",
            where,
        )
    with code_location.naming(
        f"{kind.noun.capitalize()} {code_location.name_of(function)!r}", where
    ):
        return build(kind, function, given, where)
