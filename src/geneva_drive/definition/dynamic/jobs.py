"""Jobs: functions that a stored graph calls by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.dynamic.job_options import Scheduling
from geneva_drive.definition.options import options
from geneva_drive.definition.options.keywords import JobOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.registry import NameRegistry
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

# Passed to a job that has a parameter with this name.
_OFFERED = ("workflow", "node", "session")


@dataclass(frozen=True, slots=True)
class JobNode:
    """The node that calls a job, for jobs with a parameter `node`."""

    id: str
    name: str
    args: Mapping[str, Any]


class Job(Generic[P, R]):
    """A function with a name that is the same in every process. Calling it calls the function."""

    def __init__(
        self,
        name: str,
        function: Callable[P, R],
        options: Options,
        where: str,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.options = options
        self.scheduling = Scheduling.of(options)
        self.where = where
        self.given = given or {}  # the options as written, which a node may override
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._asks_for = _passed_parameters(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def call(
        self, args: Mapping[str, Any], workflow: object, node: JobNode, session: object = None
    ) -> Any:
        """Call the function for a node; an async function returns its coroutine."""
        function: Callable[..., Any] = self.function
        offered = {"workflow": workflow, "node": node, "session": session}
        return function(**args, **{name: offered[name] for name in self._asks_for})

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def check(self, args: Mapping[str, Any]) -> None:
        """Raise an error if the function does not take these arguments."""
        taken = [name for name in self._asks_for if name in args]
        if taken:
            raise StepConfigurationError(
                f"args has {taken[0]!r}, which the engine passes to job {self.name!r}. "
                f"Give the parameter another name."
            )
        signature = _signature(self.function)
        try:
            if signature is not None:
                signature.bind(**args, **dict.fromkeys(self._asks_for))
        except TypeError as error:
            raise StepConfigurationError(
                f"job {self.name!r} is called with ({', '.join(args)}) but takes {signature}: "
                f"{error}."
            ) from None

    def __repr__(self) -> str:
        return f"<job {self.name!r} at {self.where}>"


@overload
def job(
    function: Callable[P, R], /, *, name: str | None = None, **given: Unpack[JobOptions]
) -> Job[P, R]: ...
@overload
def job(
    *, name: str | None = None, **given: Unpack[JobOptions]
) -> Callable[[Callable[P, R]], Job[P, R]]: ...
def job(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, **given: Any
) -> Any:
    """Turn a function into a job, which nodes call by name with stored arguments.

    Its name is `module.function`, or `name`; keep the name when the function moves. The engine
    passes the parameters `workflow` and `node`; the others come from the node's `args`.

    >>> import geneva_drive as gd
    >>> @gd.job(name="send_receipt", retry=gd.Retry(max=3))
    ... def send_receipt(order_id, *, node):
    ...     return f"{node.name}: {order_id}"
    >>> class Order(gd.Workflow):
    ...     receipt = gd.task(job=send_receipt, args={"order_id": 7})
    """

    def decorate(decorated: Callable[..., Any]) -> Job[..., Any]:
        with code_location.ending_at_caller:
            return _make(decorated, name, given, code_location.of_function(decorated))

    if function is None:
        return decorate
    with code_location.ending_at_caller:
        return _make(function, name, given, None)


def _identity(known: Job[..., Any]) -> tuple[object, object]:
    function: Any = known.function
    # Callables without a name, such as partials, are compared by identity.
    return function.__module__, getattr(function, "__qualname__", function)


_jobs: NameRegistry[Job[..., Any]] = NameRegistry(
    noun="job name", remedy='@gd.job(name="...")', identity=_identity
)

get = _jobs.get
names = _jobs.names
entries = _jobs.entries
isolated = _jobs.isolated


def _make(
    function: Any, name: str | None, given: Mapping[str, Any], where: str | None
) -> Job[..., Any]:
    where = where or code_location.of_caller()
    if isinstance(function, Job):
        raise StepConfigurationError(f"{shown(function)} is a job already.", where)
    if not callable(function) or isinstance(function, type):
        raise StepConfigurationError(
            f"A job is a function, not {type(function).__name__} {shown(function)}.", where
        )
    # Not `name or ...`: the truth value of an arbitrary object may raise.
    has_name = name is not None and not _is_empty(name)
    known_as = name if has_name else code_location.name_of(function)
    with code_location.naming(f"Job {shown(known_as)}", where):
        full_name = options.name("the name", name) if name is not None else _name_of(function)
        parsed = options.parse_of_job(given)
        _check_body(function, parsed)
    made: Job[..., Any] = Job(full_name, function, parsed, where, given)
    _jobs.add(made.name, made, made.where)
    return made


def _is_empty(name: object) -> bool:
    return isinstance(name, str) and name == ""


def _name_of(function: Any) -> str:
    own, qualified = getattr(function, "__name__", None), getattr(function, "__qualname__", None)
    if own is None or own == "<lambda>" or own != qualified:
        raise StepConfigurationError(
            "other processes cannot find it by name, because it is not a top-level function of a "
            'module. Move it there, or pass a name: @gd.job(name="...").'
        )
    return options.name("the name", f"{function.__module__}.{own}")


def _check_body(function: Any, parsed: Options) -> None:
    call_signatures.check_runs(function, transaction=parsed.transaction)
    if parsed.transaction and "session" not in _passed_parameters(function):
        raise StepConfigurationError(
            "transaction=True passes a session, and the function has no parameter 'session'."
        )


def _passed_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    signature = _signature(function)
    if signature is None:
        return ()
    passable = {
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    return tuple(name for name in _OFFERED if name in passable)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some built-in functions have none
        return None
