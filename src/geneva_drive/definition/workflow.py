"""The base class of all workflow classes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NoReturn,
    Self,
    TypeVar,
    Unpack,
    overload,
)

from geneva_drive import checks
from geneva_drive.definition import drive_lookup, flow_control
from geneva_drive.definition.current_execution import CurrentExecution
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.metaclass import WorkflowMeta
from geneva_drive.definition.options.policies import OnException
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import TypeVar as TypeVarWithDefault

    from geneva_drive.definition.context_type import GivenContext
    from geneva_drive.definition.nodes.approval import ApprovalMethod, ApprovalStep
    from geneva_drive.definition.nodes.child import ChildStep
    from geneva_drive.definition.nodes.map import ChildMap
    from geneva_drive.definition.nodes.task import JobTask
    from geneva_drive.definition.schedule import Cron
    from geneva_drive.definition.waits.approval_decision import ApprovalDecision
    from geneva_drive.definition.waits.event import Event
    from geneva_drive.drive.class_workflows import ClassWorkflows
    from geneva_drive.drive.create_options import CreateOptions
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import AsyncJoinedTransaction, JoinedTransaction
    from geneva_drive.drive.search.queries import WorkflowQuery
    from geneva_drive.telemetry import StepLogger

    # With a default, a plain `gd.Workflow` needs no parameter under a strict type checker.
    HeroT = TypeVarWithDefault("HeroT", default=Any)
    ContextT = TypeVarWithDefault("ContextT", bound=GivenContext, default=Mapping[str, Any])
else:
    HeroT = TypeVar("HeroT")
    ContextT = TypeVar("ContextT")
R = TypeVar("R")
F = TypeVar("F")
W = TypeVar("W", bound="Workflow[Any, Any]")

_NOTHING_AROUND = nullcontext()


class Workflow(Generic[HeroT, ContextT], metaclass=WorkflowMeta):
    """The base class for workflows: subclass it, and write each step as a method.

    `gd.Workflow[User]` types `self.hero`. `gd.Workflow[User, SignupContext]`, with a dataclass or
    pydantic model, also types and checks the context.

    Each execution gets a new instance, so attributes are lost. Keep data in the hero, the database
    or a kept result. Outside a step, a workflow is a `gd.WorkflowHandle`.

    >>> import geneva_drive as gd
    >>> class Signup(gd.Workflow):
    ...     @gd.step
    ...     def send_welcome(self): ...
    """

    queue: ClassVar[str] = "default"
    priority: ClassVar[int] = 0
    on_exception: ClassVar[OnException | None] = None
    may_proceed_without_hero: ClassVar[bool] = False
    stale_after: ClassVar[Duration | None] = None
    type_name: ClassVar[str | None] = None
    schedule: ClassVar[Cron | None] = None
    triggers: ClassVar[Sequence[str]] = ()

    _geneva_definition: ClassVar[Definition]
    _geneva_execution: CurrentExecution | None = None

    if not TYPE_CHECKING:

        def __class_getitem__(cls, arguments: Any) -> Any:
            # Type variables have no defaults before Python 3.13.
            given = arguments if isinstance(arguments, tuple) else (arguments,)
            lacks_context = cls is Workflow and len(given) == 1
            return super().__class_getitem__((*given, Any) if lacks_context else given)

    @property
    def id(self) -> Any:
        """The workflow's id."""
        return _running(self).workflow_id

    @property
    def hero(self) -> HeroT:
        """The record that the workflow is about; loaded once per execution, and detached."""
        hero: HeroT = _running(self).load_hero()
        return hero

    @property
    def hero_id(self) -> str | None:
        return _running(self).hero_id

    @property
    def context(self) -> ContextT:
        """The data that the workflow was created with; changes to it are lost.

        A mapping, or an instance of the class's context type.
        """
        context: ContextT = _running(self).context
        return context

    @property
    def attempt(self) -> int:
        """The number of this attempt at this step, from 1."""
        return _running(self).attempt

    @property
    def logger(self) -> StepLogger:
        """A logger that adds the ids of workflow, hero, step and execution to each line."""
        return _running(self).logger

    @property
    def handle(self) -> WorkflowHandle[Self]:
        """The workflow's handle, with its commands."""
        return _running(self).handle

    @overload
    def result_of(self, step: str) -> Any: ...
    @overload
    def result_of(self, step: ChildStep) -> Any: ...
    @overload
    def result_of(
        self, step: ApprovalStep[..., Any, F] | ApprovalMethod[..., Any, F]
    ) -> ApprovalDecision[F]: ...
    @overload
    def result_of(self, step: JobTask[Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: JobTask[R]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., R]) -> R: ...
    def result_of(self, step: Any) -> Any:
        """Return the result of a step with `keep_result=True`; None if it has not run.

        For an approval, it is the decision, for an event wait the event, for a child its `result`.
        """
        return _running(self).result_of(step)

    @overload
    def results_of(self, steps: Iterable[object] | ChildMap | None = None) -> list[Any]: ...
    @overload
    def results_of(self, steps: Callable[..., Coroutine[Any, Any, R]]) -> list[R | None]: ...
    @overload
    def results_of(self, steps: Callable[..., R]) -> list[R | None]: ...
    def results_of(self, steps: Any = None) -> list[Any]:
        """Return the kept results of several steps, in their order, or those of a map.

        Without `steps`, return the results of the steps that the running one depends on: a job
        after a `fan_out` reads the results of all its nodes with `workflow.results_of()`.
        """
        return _running(self).results_of(steps)

    def callback_url(self, step: str | Callable[..., Any]) -> str:
        """Return the URL that a service calls for a callback step; each attempt has a new one."""
        return _running(self).callback_url(step)

    def cancel(self) -> NoReturn:
        """Cancel the workflow, and end this execution as canceled."""
        _signal(self, "cancel", flow_control.Cancel())

    def pause(self, reason: str | None = None) -> NoReturn:
        """End this execution and pause the workflow; `resume` runs the step again."""
        _signal(self, "pause", flow_control.Pause(_text("pause", reason)))

    def skip(self) -> NoReturn:
        """Skip the rest of this step and continue with the next."""
        _signal(self, "skip", flow_control.Skip())

    def finish(self, result: Any = None) -> NoReturn:
        """Complete this step and finish the workflow; later steps do not run.

        `result` is stored with this step and becomes the `result` of the workflow.
        """
        stored = None
        if result is not None and self._geneva_execution is not None:
            stored = self._geneva_execution.dump_result(result)
        _signal(self, "finish", flow_control.Finish(stored))

    def reattempt(self, wait: Duration | None = None, rewind: bool = False) -> NoReturn:
        """Run this step again, now or after `wait`, as a new execution.

        A resumable step continues from its cursor, or from the start with `rewind`.
        """
        delay = _delay("reattempt", wait)
        checks.flag("reattempt(rewind=...)", rewind)
        _signal(self, "reattempt", flow_control.Reattempt(delay, rewind))

    def suspend(self, wait: Duration | None = None) -> NoReturn:
        """Interrupt a resumable step; the same execution continues from its cursor after `wait`."""
        if not _running(self).is_resumable:
            raise InvalidStateError(
                f"{type(self).__name__}.suspend() is for resumable steps, which have a cursor to "
                f"go on from. Declare the step with @gd.resumable_step, or use self.reattempt()."
            )
        _signal(self, "suspend", flow_control.Suspend(_delay("suspend", wait)))

    def before_step_starts(self, step_name: str) -> None:
        """Run before each step's body; override it."""

    def around_step(self, step_name: str) -> AbstractContextManager[None]:  # noqa: ARG002 - overriding methods read it
        """Return a context manager around each step's body; override it."""
        return _NOTHING_AROUND

    def after_step_ends(self, step_name: str, outcome: Outcome) -> None:
        """Run after each step's body; override it."""

    @classmethod
    def hero_from_event(cls, event: Event) -> object:
        """Return the hero of a workflow that an event starts, or None; override it."""

    @classmethod
    def compiled_dag(cls) -> dict[str, Any]:
        """Return the graph of this class in the format of a stored one, with names as node ids."""
        return definition_of(cls).compiled_dag()

    @classmethod
    def dag_signature(cls) -> str:
        """Return a hash of the nodes and edges of this class, which changes with them."""
        return definition_of(cls).graph.signature()

    @classmethod
    def using(cls, drive: Drive) -> ClassWorkflows[Self]:
        """Create and read workflows of this class with another Drive than the default."""
        return drive_lookup.require("The argument of using()", drive).workflows(cls)

    @classmethod
    def create(  # noqa: PLR0913 - the contract's optional keywords
        cls,
        hero: object = None,
        *,
        allow_multiple: bool = False,
        context: Mapping[str, Any] | ContextT | None = None,
        queue: str | None = None,
        priority: int | None = None,
        wait: Duration | datetime | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
        session: JoinedTransaction | None = None,
    ) -> WorkflowHandle[Self]:
        """Create a workflow and schedule its first step, in one transaction.

        `wait` replaces the wait of the first step: a duration, or a moment with a time zone.
        `actor` names the person or program that starts it; handles show it as `started_by`.
        Raises `AlreadyRunning` if the hero has an ongoing workflow of this class. A repeated
        `idempotency_key` returns the workflow of the first call.
        """
        return cls.using(drive_lookup.default_drive()).create(
            hero,
            allow_multiple=allow_multiple,
            context=context,
            queue=queue,
            priority=priority,
            wait=wait,
            idempotency_key=idempotency_key,
            actor=actor,
            session=session,
        )

    @classmethod
    async def acreate(
        cls,
        hero: object = None,
        *,
        session: AsyncJoinedTransaction | None = None,
        **options: Unpack[CreateOptions],
    ) -> WorkflowHandle[Self]:
        """Create a workflow from async code, with the keywords of `create`.

        It joins the transaction of an `AsyncSession` or `AsyncConnection` given as `session`, and
        otherwise runs on a thread. If the call is cancelled, the thread may still create the
        workflow: repeat it with the same `idempotency_key`.
        """
        drive = drive_lookup.default_drive()
        return await cls.using(drive).acreate(hero, session=session, **options)

    @classmethod
    def get_or_create(cls, hero: object = None, **options: Any) -> WorkflowHandle[Self]:
        """Return the hero's ongoing workflow of this class, or create one."""
        return cls.using(drive_lookup.default_drive()).get_or_create(hero, **options)

    @classmethod
    async def aget_or_create(
        cls,
        hero: object = None,
        *,
        session: AsyncJoinedTransaction | None = None,
        **options: Unpack[CreateOptions],
    ) -> WorkflowHandle[Self]:
        """Return the hero's ongoing workflow of this class, or create one, like `acreate`."""
        drive = drive_lookup.default_drive()
        return await cls.using(drive).aget_or_create(hero, session=session, **options)

    @classmethod
    def find(cls, workflow_id: object) -> WorkflowHandle[Self]:
        """Return the workflow of this class with this id, or raise `NotFound`."""
        return cls.using(drive_lookup.default_drive()).find(workflow_id)

    @classmethod
    async def afind(cls, workflow_id: object) -> WorkflowHandle[Self]:
        """Return the workflow of this class with this id, or raise `NotFound`, like `find`."""
        return await cls.using(drive_lookup.default_drive()).afind(workflow_id)

    @classmethod
    def ready(cls) -> WorkflowQuery[Self]:
        return _query(cls).ready()

    @classmethod
    def performing(cls) -> WorkflowQuery[Self]:
        return _query(cls).performing()

    @classmethod
    def finished(cls) -> WorkflowQuery[Self]:
        return _query(cls).finished()

    @classmethod
    def canceled(cls) -> WorkflowQuery[Self]:
        return _query(cls).canceled()

    @classmethod
    def paused(cls) -> WorkflowQuery[Self]:
        return _query(cls).paused()

    @classmethod
    def ongoing(cls) -> WorkflowQuery[Self]:
        return _query(cls).ongoing()

    @classmethod
    def for_hero(cls, hero: object) -> WorkflowQuery[Self]:
        return _query(cls).for_hero(hero)


def _running(instance: Workflow[Any, Any]) -> CurrentExecution:
    if instance._geneva_execution is None:
        raise InvalidStateError(
            f"This {type(instance).__name__} instance is not executing a step. "
            f"Outside a step, use the handle that create() or find() returns."
        )
    return instance._geneva_execution


def _delay(verb: str, wait: Duration | None) -> timedelta | None:
    return None if wait is None else checks.duration(f"{verb}(wait=...)", wait)


def _text(verb: str, reason: Any) -> str | None:
    if reason is None or isinstance(reason, str):
        return reason
    raise InvalidInput(f"{verb}(reason=...) must be text, got {shown(reason)}.")


def _signal(instance: Workflow[Any, Any], verb: str, signal: flow_control.FlowControl) -> NoReturn:
    if instance._geneva_execution is None:
        raise InvalidStateError(
            f"{type(instance).__name__}.{verb}() is flow control for a running step, and this "
            f"instance is not executing one. To {verb} a workflow from outside, use its handle."
        )
    raise signal


def _query(workflow_class: type[W]) -> WorkflowQuery[W]:
    return drive_lookup.default_drive().workflows(workflow_class).query()


def definition_of(workflow_class: type[Workflow[Any, Any]]) -> Definition:
    """Return the compiled form of a workflow class."""
    return workflow_class._geneva_definition


def start_executing(workflow_class: type[W], execution: CurrentExecution) -> W:
    """Return a new instance for one execution."""
    instance = workflow_class()
    instance._geneva_execution = execution
    return instance


def stop_executing(instance: Workflow[Any, Any]) -> None:
    instance._geneva_execution = None
