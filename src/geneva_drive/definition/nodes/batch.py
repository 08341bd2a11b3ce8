"""Batches: steps that divide their work among workers, and aggregate the results."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import expansion, options
from geneva_drive.definition.options.expansion import ExpansionTerms
from geneva_drive.definition.options.keywords import BatchOptions, WorkerOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.batches import Batches

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
B = TypeVar("B", bound="Batches | Coroutine[Any, Any, Batches]", covariant=True)
W = ParamSpec("W")
T = TypeVar("T")


class WorkerStep(Step[P, R]):
    """The worker of a batch in a class body."""

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        batch: BatchStep[..., Any],
        where: str,
    ) -> None:
        super().__init__(NodeKind.WORKER, function, opts, where)
        self.batch = batch

    def with_body(self, function: Callable[..., Any], where: str) -> WorkerStep[Any, Any]:
        return WorkerStep(function, self.options, self.batch, where)


class AggregateStep(Step[P, R]):
    """The aggregate of a batch in a class body."""

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        batch: BatchStep[..., Any],
        where: str,
    ) -> None:
        super().__init__(NodeKind.AGGREGATE, function, opts, where)
        self.batch = batch

    def with_body(self, function: Callable[..., Any], where: str) -> AggregateStep[Any, Any]:
        return AggregateStep(function, self.options, self.batch, where)


class BatchStep(Step[P, R], Generic[P, R]):
    """A batch in a class body; its methods `worker` and `aggregate` declare the other parts."""

    expansion: ExpansionTerms

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        terms: ExpansionTerms,
        where: str,
    ) -> None:
        super().__init__(NodeKind.BATCH, function, opts, where)
        self.expansion = terms

    def with_body(self, function: Callable[..., Any], where: str) -> BatchStep[Any, Any]:
        return BatchStep(function, self.options, self.expansion, where)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> BatchStep[P, R]: ...
        @overload
        def __get__(self, instance: Any, owner: Any = None) -> Callable[P, R]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...

    @overload
    def worker(
        self, function: Callable[Concatenate[Any, W], T], /, **given: Unpack[WorkerOptions]
    ) -> WorkerStep[W, T]: ...
    @overload
    def worker(
        self, /, **given: Unpack[WorkerOptions]
    ) -> Callable[[Callable[Concatenate[Any, W], T]], WorkerStep[W, T]]: ...
    def worker(self, function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
        """Turn a method into the batch's worker; its second argument is a `gd.Batch`.

        It runs once for each range, as `process_001` and so on, and its result is kept. It takes
        the options of a step, except those that say when it runs.
        """
        with code_location.ending_at_caller:
            build = partial(_build_follower, WorkerStep, self)
            return decorate(NodeKind.WORKER, function, given, build)

    @overload
    def aggregate(
        self, function: Callable[Concatenate[Any, W], T], /, **given: Unpack[WorkerOptions]
    ) -> AggregateStep[W, T]: ...
    @overload
    def aggregate(
        self, /, **given: Unpack[WorkerOptions]
    ) -> Callable[[Callable[Concatenate[Any, W], T]], AggregateStep[W, T]]: ...
    def aggregate(self, function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
        """Turn a method into the batch's aggregate; its second argument is a `gd.BatchResults`.

        It runs once, when the workers are done, and its result is kept.
        """
        with code_location.ending_at_caller:
            build = partial(_build_follower, AggregateStep, self)
            return decorate(NodeKind.AGGREGATE, function, given, build)


@overload
def batch(
    function: Callable[Concatenate[Any, P], B], /, **given: Unpack[BatchOptions]
) -> BatchStep[P, B]: ...
@overload
def batch(
    **given: Unpack[BatchOptions],
) -> Callable[[Callable[Concatenate[Any, P], B]], BatchStep[P, B]]: ...
def batch(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Turn a method into a step that divides work among workers; it returns a `gd.Batches`.

    The worker runs once for each range, up to `parallelism` at once, then the aggregate runs. All
    workers are created in one transaction, so a crash cannot create them twice.

    In the chain, the worker and the aggregate come directly after their batch, and the next step
    after the aggregate. A node that must wait for the whole batch depends on the aggregate;
    `depends_on=rows` waits only until the work is divided.

    >>> import geneva_drive as gd
    >>> class ImportRows(gd.Workflow):
    ...     @gd.batch(checkpoint_interval=200, parallelism=4)
    ...     def rows(self): return gd.Batches.split(total=10_000, batch_size=2_000)
    ...     @rows.worker(retry=gd.Retry(max=3))
    ...     def process(self, batch): ...
    ...     @rows.aggregate
    ...     def summarize(self, results): ...
    ...     @gd.step
    ...     def notify(self): ...
    >>> ImportRows.compiled_dag()["nodes"]["notify"]["depends_on"]
    ['summarize']
    """
    with code_location.ending_at_caller:
        return decorate(NodeKind.BATCH, function, given, _build)


def _build(
    kind: NodeKind, function: Callable[..., Any], given: Mapping[str, Any], where: str
) -> BatchStep[Any, Any]:
    if "keep_result" in given:
        raise StepConfigurationError(
            "keep_result is not an option of a batch: the results of its worker and its aggregate "
            "are always kept."
        )
    opts = options.parse(given, kind)
    terms = expansion.parse(given)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return BatchStep(function, opts, terms, where)


Follower = WorkerStep[Any, Any] | AggregateStep[Any, Any]

_OF_THE_BATCH = ("depends_on", "also_depends_on", "before_step", "after_step")


def _build_follower(
    made: type[Follower],
    owner: BatchStep[..., Any],
    kind: NodeKind,
    function: Callable[..., Any],
    given: Mapping[str, Any],
    where: str,
) -> Follower:
    for option in _OF_THE_BATCH:
        if option in given:
            raise StepConfigurationError(
                f"{option} is not an option of {kind.a_noun}, which follows its batch. Pass it to "
                f"@gd.batch."
            )
    if "keep_result" in given:
        raise StepConfigurationError(
            f"keep_result is not an option of {kind.a_noun}: its result is always kept."
        )
    opts = options.parse(given, kind)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return made(function, opts, owner, where)
