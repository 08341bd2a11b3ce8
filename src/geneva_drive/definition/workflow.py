"""The class that users derive their workflows from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NoReturn,
    Protocol,
    Self,
    TypeVar,
    overload,
)

from geneva_drive.definition import drive_lookup, flow_control, registry
from geneva_drive.definition.compiler import code_location, compiler
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.policies import OnException
from geneva_drive.durations import Duration, parse_duration
from geneva_drive.errors import InvalidInput, InvalidStateError, StepNotDefined
from geneva_drive.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from geneva_drive.definition.nodes.task import JobTask
    from geneva_drive.drive.class_workflows import ClassWorkflows
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import JoinedTransaction
    from geneva_drive.drive.queries import WorkflowQuery
    from geneva_drive.telemetry import StepLogger

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    # So that a plain `gd.Workflow` needs no parameter under a strict type checker.
    HeroT = TypeVarWithDefault("HeroT", default=Any)
else:
    HeroT = TypeVar("HeroT")
R = TypeVar("R")
W = TypeVar("W", bound="Workflow[Any]")

_NOTHING_AROUND = nullcontext()


class Execution(Protocol):
    """What a running instance knows of its own execution; the engine fills it in."""

    @property
    def workflow_id(self) -> Any: ...
    @property
    def hero_id(self) -> str | None: ...
    @property
    def context(self) -> Mapping[str, Any]: ...
    @property
    def attempt(self) -> int: ...
    @property
    def is_resumable(self) -> bool: ...
    @property
    def logger(self) -> StepLogger: ...
    @property
    def handle(self) -> WorkflowHandle[Any]: ...
    def load_hero(self) -> Any: ...
    def result_of(self, step_name: str) -> Any: ...


class WorkflowMeta(type):
    """Compiles a class body when the class is created, so that faults show at once."""

    @classmethod
    def __prepare__(  # type: ignore[override]  # a dict that refuses duplicates
        cls, name: str, bases: tuple[type, ...], **kwargs: Any
    ) -> compiler.Body:
        return compiler.Body(name)

    def __new__(
        metacls, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> WorkflowMeta:
        # For a class made by a call of type(), Python would take this module for its home.
        home = sys._getframe(1).f_globals.get("__name__", "__main__")
        return super().__new__(metacls, name, bases, {"__module__": home, **body}, **kwargs)

    def __init__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(name, bases, body, **kwargs)
        if any(isinstance(base, WorkflowMeta) for base in bases):
            where = code_location.of_caller()
            definition = compiler.compile_class(cls, RESERVED_NAMES, where)  # type: ignore[arg-type]  # only Workflow has this metaclass
            cls._geneva_definition = definition
            for node in definition.nodes:
                # A plain method that overrides a step is a step on the class as well, or it could
                # not be named by itself.
                if node.has_method and vars(cls).get(node.name) is node.function:
                    setattr(cls, node.name, node.declared)
            registry.add(definition, where)


class Workflow(Generic[HeroT], metaclass=WorkflowMeta):
    """Derive from it, and write the steps of a long process as methods.

    Every instance that a step sees is fresh: what must last goes into the hero, the database or a
    kept result. Outside a step, a workflow is a `gd.WorkflowHandle`.

    >>> import geneva_drive as gd
    >>> class Signup(gd.Workflow):
    ...     @gd.step
    ...     def send_welcome(self): ...
    """

    queue: ClassVar[str] = "default"
    priority: ClassVar[int] = 0
    on_exception: ClassVar[OnException | None] = None
    may_proceed_without_hero: ClassVar[bool] = False
    type_name: ClassVar[str | None] = None

    _geneva_definition: ClassVar[Definition]
    _geneva_execution: Execution | None = None

    @property
    def id(self) -> Any:
        """The workflow's id."""
        return _running(self).workflow_id

    @property
    def hero(self) -> HeroT:
        """The record that the workflow is about, loaded once per execution, detached."""
        hero: HeroT = _running(self).load_hero()
        return hero

    @property
    def hero_id(self) -> str | None:
        return _running(self).hero_id

    @property
    def context(self) -> Mapping[str, Any]:
        """What the workflow was created with; fixed, and what changes within its values is lost."""
        return _running(self).context

    @property
    def attempt(self) -> int:
        """The number of this attempt at this step, from 1."""
        return _running(self).attempt

    @property
    def logger(self) -> StepLogger:
        """A logger whose lines carry the ids of workflow, hero, step and execution."""
        return _running(self).logger

    @property
    def handle(self) -> WorkflowHandle[Self]:
        """The workflow as code outside sees it, with its commands."""
        return _running(self).handle

    @overload
    def result_of(self, step: str) -> Any: ...
    @overload
    def result_of(self, step: JobTask[Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: JobTask[R]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., R]) -> R: ...
    def result_of(self, step: Any) -> Any:
        """Read what a step with `keep_result=True` returned; None if it has not run."""
        definition = type(self)._geneva_definition
        name = definition.name_of(step)
        node = definition.get(name)
        if node is None:
            raise StepNotDefined(definition.type, name, definition.step_names)
        if not node.options.keep_result and not node.is_removed:
            raise InvalidInput(
                f"{node.kind.noun.capitalize()} {node.name!r} of {definition.type} keeps no "
                f"result. {_way_to_a_result(node)}"
            )
        return _running(self).result_of(node.name)

    def _geneva_result_of(self, name: str) -> Any:
        return _running(self).result_of(name)

    def cancel(self) -> NoReturn:
        """End this execution and the workflow as canceled."""
        _signal(self, "cancel", flow_control.Cancel())

    def pause(self, reason: str | None = None) -> NoReturn:
        """End this execution and hold the workflow; `resume` runs the step again."""
        _signal(self, "pause", flow_control.Pause(_text("pause", reason)))

    def skip(self) -> NoReturn:
        """Leave this step and go on with the next."""
        _signal(self, "skip", flow_control.Skip())

    def finish(self) -> NoReturn:
        """Complete this step and finish the workflow, whatever would follow."""
        _signal(self, "finish", flow_control.Finish())

    def reattempt(self, wait: Duration | None = None, rewind: bool = False) -> NoReturn:
        """Run this step again, now or after `wait`, as a new execution.

        A resumable step goes on from its cursor, unless it is to `rewind` to the start.
        """
        delay = _delay("reattempt", wait)
        _signal(self, "reattempt", flow_control.Reattempt(delay, rewind))

    def suspend(self, wait: Duration | None = None) -> NoReturn:
        """Let a resumable step rest; the same execution goes on from its cursor, after `wait`."""
        if not _running(self).is_resumable:
            raise InvalidStateError(
                f"{type(self).__name__}.suspend() is for resumable steps, which have a cursor to "
                f"go on from. Declare the step with @gd.resumable_step, or use self.reattempt()."
            )
        _signal(self, "suspend", flow_control.Suspend(_delay("suspend", wait)))

    def before_step_starts(self, step_name: str) -> None:
        """Override it to do something before each step's body."""

    def around_step(self, step_name: str) -> AbstractContextManager[None]:  # noqa: ARG002 - for those who override it
        """Override it with a context manager that each step's body runs in."""
        return _NOTHING_AROUND

    def after_step_ends(self, step_name: str, outcome: Outcome) -> None:
        """Override it to do something after each step's body."""

    @classmethod
    def compiled_dag(cls) -> dict[str, Any]:
        """Give the graph of this class as a stored one is written; its node ids are its names."""
        return definition_of(cls).compiled_dag()

    @classmethod
    def dag_signature(cls) -> str:
        """Stand for the nodes and edges of this class, so that a change of them shows."""
        return definition_of(cls).graph.signature()

    @classmethod
    def using(cls, drive: Drive) -> ClassWorkflows[Self]:
        """Create and read workflows of this class with another Drive than the default."""
        return drive.workflows(cls)

    @classmethod
    def create(  # noqa: PLR0913 - the contract's optional keywords
        cls,
        hero: object = None,
        *,
        allow_multiple: bool = False,
        context: Mapping[str, Any] | None = None,
        queue: str | None = None,
        priority: int | None = None,
        wait: Duration | None = None,
        idempotency_key: str | None = None,
        session: JoinedTransaction | None = None,
    ) -> WorkflowHandle[Self]:
        """Start a workflow: one transaction makes it and schedules its first step.

        A second ongoing one for the same hero raises `AlreadyRunning`; a repeated
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
            session=session,
        )

    @classmethod
    def get_or_create(cls, hero: object = None, **options: Any) -> WorkflowHandle[Self]:
        """Return the hero's ongoing workflow of this class, or start one as `create` does."""
        return cls.using(drive_lookup.default_drive()).get_or_create(hero, **options)

    @classmethod
    def find(cls, workflow_id: object) -> WorkflowHandle[Self]:
        """Return the workflow of this class with this id, or raise `NotFound`."""
        return cls.using(drive_lookup.default_drive()).find(workflow_id)

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


def _running(instance: Workflow[Any]) -> Execution:
    if instance._geneva_execution is None:
        raise InvalidStateError(
            f"This {type(instance).__name__} instance is not executing a step. "
            f"Outside a step, use the handle that create() or find() returns."
        )
    return instance._geneva_execution


def _way_to_a_result(node: Node) -> str:
    if node.kind in (NodeKind.DECISION, NodeKind.CHILD):
        return "Only steps and tasks do."
    return f"Declare it with @gd.{node.kind.noun}(keep_result=True)."


def _delay(verb: str, wait: Duration | None) -> timedelta | None:
    try:
        return None if wait is None else parse_duration(wait)
    except ValueError as error:
        raise InvalidInput(f"{verb}(wait=...): {error}.") from None


def _text(verb: str, reason: Any) -> str | None:
    if reason is None or isinstance(reason, str):
        return reason
    raise InvalidInput(f"{verb}(reason=...) takes text, not {reason!r}.")


def _signal(instance: Workflow[Any], verb: str, signal: flow_control.FlowControl) -> NoReturn:
    if instance._geneva_execution is None:
        raise InvalidStateError(
            f"{type(instance).__name__}.{verb}() is flow control for a running step, and this "
            f"instance is not executing one. To {verb} a workflow from outside, use its handle."
        )
    raise signal


def _query(workflow_class: type[W]) -> WorkflowQuery[W]:
    return drive_lookup.default_drive().workflows(workflow_class).query()


RESERVED_NAMES = frozenset(name for name in dir(Workflow) if not name.startswith("_"))


def definition_of(workflow_class: type[Workflow[Any]]) -> Definition:
    """Give the compiled form of a workflow class."""
    return workflow_class._geneva_definition


def start_executing(workflow_class: type[W], execution: Execution) -> W:
    """Make the fresh instance that one execution's user code runs on."""
    instance = workflow_class()
    instance._geneva_execution = execution
    return instance


def stop_executing(instance: Workflow[Any]) -> None:
    instance._geneva_execution = None
