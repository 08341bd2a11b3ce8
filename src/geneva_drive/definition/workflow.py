"""The class that users derive their workflows from."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
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

from geneva_drive.definition import chain, doors, flow_control, options, policies, registry, source
from geneva_drive.definition.conditions import CancelCondition, Condition
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.policies import OnException, Policy
from geneva_drive.definition.step import RemovedStep, Step
from geneva_drive.durations import Duration, parse_duration
from geneva_drive.errors import InvalidInput, InvalidStateError, StepConfigurationError
from geneva_drive.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handles import WorkflowHandle
    from geneva_drive.drive.queries import WorkflowQuery
    from geneva_drive.drive.workflows import JoinedTransaction, Workflows
    from geneva_drive.telemetry import StepLogger

HeroT = TypeVar("HeroT")
R = TypeVar("R")


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
    def logger(self) -> StepLogger: ...
    @property
    def handle(self) -> WorkflowHandle[Any]: ...
    def load_hero(self) -> Any: ...
    def result_of(self, step_name: str) -> Any: ...


class _Body(dict[str, Any]):
    """A class body that refuses to lose a step to a second definition of its name."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self._owner = owner

    def __setitem__(self, name: str, value: Any) -> None:
        former = self.get(name)
        kinds = (Step, RemovedStep, CancelCondition)
        if name in self and (isinstance(former, kinds) or isinstance(value, kinds)):
            where = getattr(value, "where", None) or source.of_caller()
            raise StepConfigurationError(
                f"{self._owner}.{name} is defined twice, and the second would replace the "
                f"first unseen. Give one of them another name.",
                where,
            )
        super().__setitem__(name, value)


class WorkflowMeta(type):
    """Compiles a class body when the class is created, so that faults show at once."""

    @classmethod
    def __prepare__(  # type: ignore[override]  # a dict that refuses duplicates
        cls, name: str, bases: tuple[type, ...], **kwargs: Any
    ) -> _Body:
        return _Body(name)

    def __new__(
        metacls, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> WorkflowMeta:
        return super().__new__(metacls, name, bases, dict(body), **kwargs)

    def __init__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(name, bases, body, **kwargs)
        if any(isinstance(base, WorkflowMeta) for base in bases):
            where = source.of_caller()
            definition = _compile(cls, where)  # type: ignore[arg-type]  # only Workflow has this metaclass
            cls._definition = definition
            for node in definition.nodes:
                # A plain method that overrides a step is a step on the class as well, or it could
                # not be named by itself.
                if node.step is not None and vars(cls).get(node.name) is node.step.function:
                    setattr(cls, node.name, node.step)
            registry.add(definition.type, definition.workflow_class, where)


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

    _definition: ClassVar[Definition]
    _execution: Execution | None = None

    @property
    def id(self) -> Any:
        """The workflow's id."""
        return self._running().workflow_id

    @property
    def hero(self) -> HeroT:
        """The record that the workflow is about, loaded once per execution, detached."""
        hero: HeroT = self._running().load_hero()
        return hero

    @property
    def hero_id(self) -> str | None:
        return self._running().hero_id

    @property
    def context(self) -> Mapping[str, Any]:
        """What the workflow was created with; read-only."""
        return self._running().context

    @property
    def attempt(self) -> int:
        """The number of this attempt at this step, from 1."""
        return self._running().attempt

    @property
    def logger(self) -> StepLogger:
        """A logger whose lines carry the ids of workflow, hero, step and execution."""
        return self._running().logger

    @property
    def handle(self) -> WorkflowHandle[Self]:
        """The workflow as code outside sees it, with its commands."""
        return self._running().handle

    @overload
    def result_of(self, step: str) -> Any: ...
    @overload
    def result_of(self, step: Callable[..., Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., R]) -> R: ...
    def result_of(self, step: Any) -> Any:
        """Read what a step with `keep_result=True` returned; None if it has not run."""
        definition = type(self)._definition
        name = definition.name_of(step)
        node = definition.get(name)
        if node is not None and not node.options.keep_result and not node.is_removed:
            raise InvalidInput(
                f"Step {name!r} of {definition.type} keeps no result. "
                f"Declare it with @gd.step(keep_result=True)."
            )
        return self._running().result_of(name)

    def cancel(self) -> NoReturn:
        """End this execution and the workflow as canceled."""
        self._signal("cancel", flow_control.Cancel())

    def pause(self, reason: str | None = None) -> NoReturn:
        """End this execution and hold the workflow; `resume` runs the step again."""
        self._signal("pause", flow_control.Pause(reason))

    def skip(self) -> NoReturn:
        """Leave this step and go on with the next."""
        self._signal("skip", flow_control.Skip())

    def finish(self) -> NoReturn:
        """Complete this step and finish the workflow, whatever would follow."""
        self._signal("finish", flow_control.Finish())

    def reattempt(self, wait: Duration | None = None) -> NoReturn:
        """Run this step again, now or after `wait`, as a new execution."""
        try:
            delay = None if wait is None else parse_duration(wait)
        except ValueError as error:
            raise InvalidInput(f"reattempt(wait=...): {error}.") from None
        self._signal("reattempt", flow_control.Reattempt(delay))

    def before_step_starts(self, step_name: str) -> None:
        """Override it to do something before each step's body."""

    @contextmanager
    def around_step(self, step_name: str) -> Iterator[None]:  # noqa: ARG002 - for those who override it
        """Override it with a context manager that each step's body runs in."""
        yield

    def after_step_ends(self, step_name: str, outcome: Outcome) -> None:
        """Override it to do something after each step's body."""

    @classmethod
    def using(cls, drive: Drive) -> Workflows[Self]:
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
        return cls.using(doors.default_drive()).create(
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
        return cls.using(doors.default_drive()).get_or_create(hero, **options)

    @classmethod
    def find(cls, workflow_id: object) -> WorkflowHandle[Self]:
        """Return the workflow of this class with this id, or raise `NotFound`."""
        return cls.using(doors.default_drive()).find(workflow_id)

    @classmethod
    def ready(cls) -> WorkflowQuery[Self]:
        return cls._query().ready()

    @classmethod
    def performing(cls) -> WorkflowQuery[Self]:
        return cls._query().performing()

    @classmethod
    def finished(cls) -> WorkflowQuery[Self]:
        return cls._query().finished()

    @classmethod
    def canceled(cls) -> WorkflowQuery[Self]:
        return cls._query().canceled()

    @classmethod
    def paused(cls) -> WorkflowQuery[Self]:
        return cls._query().paused()

    @classmethod
    def ongoing(cls) -> WorkflowQuery[Self]:
        return cls._query().ongoing()

    @classmethod
    def for_hero(cls, hero: object) -> WorkflowQuery[Self]:
        return cls._query().for_hero(hero)

    @classmethod
    def _query(cls) -> WorkflowQuery[Self]:
        return cls.using(doors.default_drive()).query()

    def _running(self) -> Execution:
        if self._execution is None:
            raise InvalidStateError(
                f"This {type(self).__name__} instance is not executing a step. "
                f"Outside a step, use the handle that create() or find() returns."
            )
        return self._execution

    def _signal(self, verb: str, signal: flow_control.FlowControl) -> NoReturn:
        if self._execution is None:
            raise InvalidStateError(
                f"{type(self).__name__}.{verb}() is flow control for a running step, and this "
                f"instance is not executing one. To {verb} a workflow from outside, use its handle."
            )
        raise signal


W = TypeVar("W", bound=Workflow[Any])

RESERVED_NAMES = frozenset(name for name in dir(Workflow) if not name.startswith("_"))


def definition_of(workflow_class: type[Workflow[Any]]) -> Definition:
    """Give the compiled form of a workflow class."""
    return workflow_class._definition


def start_executing(workflow_class: type[W], execution: Execution) -> W:
    """Make the fresh instance that one execution's user code runs on."""
    instance = workflow_class()
    instance._execution = execution
    return instance


def stop_executing(instance: Workflow[Any]) -> None:
    instance._execution = None


def _compile(workflow_class: type[Workflow[Any]], where: str) -> Definition:
    name = workflow_class.__name__
    bodies = [vars(base) for base in reversed(workflow_class.__mro__) if _is_users(base)]
    steps = chain.Chain(name, RESERVED_NAMES)
    for body in bodies:
        steps.read(body)
    definition = Definition(
        type=_type_name(workflow_class, where),
        workflow_class=workflow_class,
        nodes=steps.nodes(),
        cancel_conditions=_cancel_conditions(bodies),
        policies=_class_policies(bodies, where),
        queue=_job_option(options.queue, workflow_class.queue, where) or "default",
        priority=_job_option(options.priority, workflow_class.priority, where) or 0,
    )
    _check_conditions(definition)
    return definition


def _is_users(base: type) -> bool:
    return base not in (Workflow, Generic, object)


def _type_name(workflow_class: type[Workflow[Any]], where: str) -> str:
    # Of this class alone: a child that inherited its parent's name would be taken for it.
    name = vars(workflow_class).get("type_name") or workflow_class.__name__
    if not isinstance(name, str) or len(name) > options.MAX_NAME_LENGTH:
        raise StepConfigurationError(
            f"type_name is text of at most {options.MAX_NAME_LENGTH} characters, not {name!r}.",
            where,
        )
    return name


def _job_option(check: Callable[[object], R], value: object, where: str) -> R:
    try:
        return check(value)
    except StepConfigurationError as error:
        raise StepConfigurationError(error.what, where) from None


def _cancel_conditions(bodies: Sequence[Mapping[str, Any]]) -> tuple[Condition, ...]:
    found: dict[str, Condition] = {}
    for body in bodies:
        for name, value in body.items():
            if isinstance(value, CancelCondition):
                found[name] = value.condition
            elif name in found:
                # A plain method of that name in a child replaces what the condition asks.
                found[name] = Condition("cancel_if", name, source.of_function(value))
    return tuple(found.values())


def _class_policies(bodies: Sequence[Mapping[str, Any]], where: str) -> tuple[Policy, ...]:
    listed: list[Policy] = []
    for body in reversed(bodies):
        if "on_exception" in body:
            try:
                listed += policies.parse(body["on_exception"])
            except StepConfigurationError as error:
                raise StepConfigurationError(error.what, where) from None
    return policies.ordered_for_class(listed)


def _check_conditions(definition: Definition) -> None:
    for node in definition.nodes:
        if node.options.condition:
            node.options.condition.condition.check(definition.workflow_class)
    for condition in definition.cancel_conditions:
        condition.check(definition.workflow_class)
