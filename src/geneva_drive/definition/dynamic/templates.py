"""Named functions that build dynamic workflows from parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, overload

from geneva_drive.definition import drive_lookup
from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.dynamic.builder import DynamicWorkflow
from geneva_drive.definition.options import options
from geneva_drive.definition.registry import NameRegistry
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import JoinedTransaction
    from geneva_drive.drive.search.queries import WorkflowQuery

P = ParamSpec("P")

_START_KEYWORDS = ("hero", "context", "queue", "priority", "idempotency_key", "session")


class Template(Generic[P]):
    """A function that builds dynamic workflows, with a name that identifies its runs.

    Calling it with a `gd.DynamicWorkflow` adds its nodes to that workflow, so templates can use
    other templates.
    """

    def __init__(
        self,
        name: str,
        function: Callable[Concatenate[DynamicWorkflow, P], object],
        where: str,
        drive: Drive | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.where = where
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._drive = drive

    def __call__(self, w: DynamicWorkflow, /, *args: P.args, **kwargs: P.kwargs) -> object:
        return self.function(w, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<template {self.name!r} at {self.where}>"

    def using(self, drive: Drive) -> Template[P]:
        """Start and find workflows of this template with another Drive than the default."""
        required = drive_lookup.require("The argument of using()", drive)
        return Template(self.name, self.function, self.where, required)

    def start(
        self,
        /,
        *,
        hero: object = None,
        context: Mapping[str, Any] | None = None,
        queue: str | None = None,
        priority: int | None = None,
        idempotency_key: str | None = None,
        session: JoinedTransaction | None = None,
        **parameters: Any,
    ) -> WorkflowHandle[Any]:
        """Build a workflow from these parameters, and start it like `DynamicWorkflow.start`."""
        w = DynamicWorkflow(
            hero,
            context=context,
            queue=queue,
            priority=priority,
            idempotency_key=idempotency_key,
            drive=self._drive,
        )
        return self._built(w, parameters).start(session)

    def build(self, /, **parameters: Any) -> DynamicWorkflow:
        """Build a workflow from these parameters without starting it, to look at its nodes."""
        return self._built(DynamicWorkflow(drive=self._drive), parameters)

    def runs(self) -> WorkflowQuery[Any]:
        """Return a query of the workflows that were started from this template."""
        drive = self._drive or drive_lookup.default_drive()
        return drive.workflows_of_template(self.name)

    def _built(self, w: DynamicWorkflow, parameters: Mapping[str, Any]) -> DynamicWorkflow:
        signature = inspect.signature(self.function)
        try:
            signature.bind(w, **parameters)
        except TypeError as error:
            raise InvalidInput(
                f"Template {self.name!r} is started with ({', '.join(parameters)}) but takes "
                f"{signature}: {error}."
            ) from None
        w.template_name = self.name
        self.function(w, **parameters)  # type: ignore[call-arg]  # bind() has checked the parameters
        return w


@overload
def template(function: Callable[Concatenate[DynamicWorkflow, P], object], /) -> Template[P]: ...
@overload
def template(
    *, name: str | None = None
) -> Callable[[Callable[Concatenate[DynamicWorkflow, P], object]], Template[P]]: ...
def template(function: Callable[..., object] | None = None, /, *, name: str | None = None) -> Any:
    """Turn a function that adds nodes to a `gd.DynamicWorkflow` into a template.

    The function runs once, when a workflow is started; the database stores the graph that it built.
    Its name is `module.function`, or `name`; keep it, because workflows are found by this name.

    >>> import geneva_drive as gd
    >>> @gd.template(name="nightly")
    ... def nightly(w, tables):
    ...     w.fan_out(tables, name="export_{}", job="warehouse.export")
    ...     w.node("report", job="warehouse.report")
    >>> [node.name for node in nightly.build(tables=["orders", "users"]).nodes.values()]
    ['export_orders', 'export_users', 'report']

    `nightly.start(tables=[...])` starts a workflow, and `nightly.runs()` finds all of them.
    """

    def decorate(decorated: Callable[..., object]) -> Template[...]:
        with code_location.ending_at_caller:
            return _make(decorated, name, code_location.of_function(decorated))

    if function is None:
        return decorate
    with code_location.ending_at_caller:
        return _make(function, name, None)


def _identity(known: Template[...]) -> tuple[str, str]:
    function: Any = known.function
    return function.__module__, function.__qualname__


_templates: NameRegistry[Template[...]] = NameRegistry(
    noun="template name", remedy='@gd.template(name="...")', identity=_identity
)

get = _templates.get
isolated = _templates.isolated


def _make(function: Any, name: str | None, where: str | None) -> Template[...]:
    where = where or code_location.of_caller()
    if isinstance(function, Template):
        raise StepConfigurationError(f"{shown(function)} is a template already.", where)
    if not inspect.isfunction(function):
        raise StepConfigurationError(
            f"A template is a function, not {type(function).__name__} {shown(function)}.", where
        )
    full_name = f"{function.__module__}.{function.__qualname__}" if name is None else name
    # Not `name or ...`: the truth value of an arbitrary object may raise.
    known_as = function.__name__ if name in (None, "") else name
    with code_location.naming(f"Template {shown(known_as)}", where):
        options.name("the name", full_name)
        _check_function(function)
    made: Template[...] = Template(full_name, function, where)
    _templates.add(made.name, made, made.where)
    return made


def _check_function(function: Callable[..., object]) -> None:
    is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    if is_generator or inspect.iscoroutinefunction(function):
        raise StepConfigurationError(
            "it is a plain function that adds nodes, and not async or a generator."
        )
    parameters = list(inspect.signature(function).parameters.values())
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in by_position:
        raise StepConfigurationError("its first parameter is the gd.DynamicWorkflow to build.")
    for parameter in parameters[1:]:
        _check_parameter(parameter)


def _check_parameter(parameter: inspect.Parameter) -> None:
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
        raise StepConfigurationError(
            f"start() passes parameters by name, and cannot pass {parameter}. Make it a plain "
            f"parameter."
        )
    if parameter.name in _START_KEYWORDS and parameter.kind is not parameter.VAR_KEYWORD:
        raise StepConfigurationError(
            f"the parameter {parameter.name!r} has the name of a keyword of start(). Choose "
            f"another name; start() sets w.hero, w.context and so on."
        )
