"""Tasks: nodes that call a method or a job, outside the chain of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.dynamic.jobs import Job
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import options
from geneva_drive.definition.options.keywords import TaskOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.serialization import typed_json

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

# A node that sets one of these options inherits none of them from its job.
_POLICY = frozenset({"on_exception", "max_reattempts", "terminal_action", "retry"})


class JobTask(DeclaredNode, Generic[R]):
    """A task that calls a job instead of a method."""

    job: Job[..., R]

    def __init__(
        self,
        job: Job[..., R],
        args: Mapping[str, Any],
        opts: Options,
        where: str,
        kind: NodeKind = NodeKind.TASK,
    ) -> None:
        super().__init__(kind, job.name, opts, where)
        self.job = job
        self.args = args


@overload
def task(
    function: Callable[Concatenate[Any, P], R], /, **given: Unpack[TaskOptions]
) -> Step[P, R]: ...
@overload
def task(
    *, job: Job[..., R], args: Mapping[str, Any] | None = None, **given: Unpack[TaskOptions]
) -> JobTask[R]: ...
@overload
def task(
    **given: Unpack[TaskOptions],
) -> Callable[[Callable[Concatenate[Any, P], R]], Step[P, R]]: ...
def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    job: Any = None,
    args: Any = None,
    **given: Any,
) -> Any:
    """Turn a method or a job into a node that waits only for the nodes in `depends_on`.

    Without `depends_on` it runs at the start. Tasks whose dependencies are done run in parallel.
    Like a step, a task runs again if the process dies before its outcome is recorded.

    >>> import geneva_drive as gd
    >>> class Order(gd.Workflow):
    ...     @gd.step
    ...     def validate(self): ...
    ...     @gd.task(depends_on=validate)
    ...     def check_stock(self): ...
    ...     @gd.task(depends_on=validate, retry=gd.Retry(max=3))
    ...     def check_fraud(self): ...
    ...     @gd.step(depends_on=[check_stock, check_fraud])
    ...     def charge(self): ...
    """
    with code_location.ending_at_caller:
        if job is None and args is None:
            return decorate(NodeKind.TASK, function, given)
        return _task_of_job(function, job, args, given)


def _task_of_job(function: object, job: Any, args: Any, given: Mapping[str, Any]) -> JobTask[Any]:
    where = code_location.of_caller()
    if function is not None or not isinstance(job, Job):
        raise StepConfigurationError(_misuse(function, job), where)
    with code_location.naming(f"Task of job {job.name!r}", where):
        arguments = _arguments(job, args)
        opts = options.parse({**_inherited(job, given), **given}, NodeKind.TASK)
    return JobTask(job, arguments, opts, where)


def _misuse(function: object, job: object) -> str:
    if job is None:
        return "args of a task needs job=: they are the arguments of the job."
    if function is not None:
        return f"A task calls a method or a job, not both {shown(function)} and {shown(job)}."
    return f"job of a task takes a function decorated with @gd.job, not {shown(job)}."


def _arguments(job: Job[..., Any], args: object) -> Mapping[str, Any]:
    if args is None:
        args = {}
    if not isinstance(args, Mapping) or not all(isinstance(name, str) for name in args):
        raise StepConfigurationError(f"args is a dict of the job's arguments, not {shown(args)}.")
    try:
        typed_json.dump(args, "args")
    except InvalidInput as error:
        raise StepConfigurationError(str(error)) from None
    job.check(args)
    return dict(args)


def _inherited(job: Job[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    own_policy = not _POLICY.isdisjoint(given)
    return {
        name: value for name, value in job.given.items() if not (own_policy and name in _POLICY)
    }
