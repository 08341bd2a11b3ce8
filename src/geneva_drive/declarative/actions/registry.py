"""The functions that documents call by name: actions, loaders and notifiers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.options import options
from geneva_drive.definition.registry import NameRegistry
from geneva_drive.display import shown
from geneva_drive.errors import UnknownAction

P = ParamSpec("P")
R = TypeVar("R")

Context = dict[str, Any]
L = TypeVar("L", bound=Callable[[Context], object])
N = TypeVar("N", bound=Callable[[list[str], str], object])

BUILT_IN = ("set", "notify", "webhook")


def _identity(function: Callable[..., Any]) -> object:
    return (getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function)))


_actions: NameRegistry[Callable[..., Any]] = NameRegistry(
    noun="action", remedy='@gd.action("...")', identity=_identity
)
_loaders: NameRegistry[Callable[..., Any]] = NameRegistry(
    noun="loader", remedy='@gd.loader("...")', identity=_identity
)
_notifiers: dict[object, Callable[[list[str], str], object]] = {}


def action(
    name: str,
) -> Callable[[Callable[Concatenate[Context, P], R]], Callable[Concatenate[Context, P], R]]:
    """Register a function that JSON workflows execute by this name.

    It is called with the context and with the keys of the action as keywords, templates replaced.
    If the worker dies, it may be called again.

    >>> import geneva_drive as gd
    >>> @gd.action("reserve_stock")
    ... def reserve_stock(context, sku, count=1): ...
    """
    with code_location.ending_at_caller:
        checked = _name("gd.action", name)
        if checked in BUILT_IN:
            raise code_location.fault(
                f"gd.action: {checked!r} is built in. Choose another name than "
                f"{', '.join(BUILT_IN)}."
            )

    def register(
        function: Callable[Concatenate[Context, P], R],
    ) -> Callable[Concatenate[Context, P], R]:
        _check_function("gd.action", function)
        _actions.add(checked, function, code_location.of_function(function) or "")
        return function

    return register


def loader(name: str) -> Callable[[L], L]:
    """Register a function that loads a part of the context of JSON workflows.

    A document names it in `context.load`. It is called on a worker before the first step, and what
    it returns becomes the key `name` of the context.

    >>> import geneva_drive as gd
    >>> @gd.loader("customer")
    ... def customer(context):
    ...     return {"id": context["customer_id"], "tier": "gold"}
    """
    with code_location.ending_at_caller:
        checked = _name("gd.loader", name)

    def register(function: L) -> L:
        _check_function("gd.loader", function)
        _loaders.add(checked, function, code_location.of_function(function) or "")
        return function

    return register


def notifier(function: N) -> N:
    """Register a function that delivers the messages of `notify` actions.

    It is called with the recipients and the message. Every registered notifier is called.

    >>> import geneva_drive as gd
    >>> @gd.notifier
    ... def by_mail(recipients, message): ...
    """
    with code_location.ending_at_caller:
        _check_function("gd.notifier", function)
    _notifiers[_identity(function)] = function
    return function


def require_action(name: str) -> Callable[..., Any]:
    found = _actions.get(name)
    if found is None:
        raise UnknownAction("action", name)
    return found


def require_loader(name: str) -> Callable[..., Any]:
    found = _loaders.get(name)
    if found is None:
        raise UnknownAction("loader", name)
    return found


def has_action(name: str) -> bool:
    return name in BUILT_IN or _actions.get(name) is not None


def has_loader(name: str) -> bool:
    return _loaders.get(name) is not None


def registered() -> list[str]:
    """Return what documents can call in this process, as "action NAME" and "loader NAME"."""
    actions = [f"action {name}" for name in _actions.names()]
    return [*actions, *(f"loader {name}" for name in _loaders.names())]


def notifiers() -> list[Callable[[list[str], str], object]]:
    return list(_notifiers.values())


@contextmanager
def isolated() -> Iterator[None]:
    """Unregister at the end what was registered inside, so that tests can reuse names."""
    before = dict(_notifiers)
    with ExitStack() as stack:
        stack.enter_context(_actions.isolated())
        stack.enter_context(_loaders.isolated())
        try:
            yield
        finally:
            _notifiers.clear()
            _notifiers.update(before)


def _name(decorator: str, value: object) -> str:
    if callable(value):
        raise code_location.fault(
            f"{decorator} needs a name: write @{decorator}({getattr(value, '__name__', 'name')!r})."
        )
    return options.name(f"The name of {decorator}", value)


def _check_function(decorator: str, function: object) -> None:
    if not callable(function):
        raise code_location.fault(f"{decorator} decorates a function, not {shown(function)}.")
    if inspect.iscoroutinefunction(function):
        raise code_location.fault(
            f"{decorator} decorates a plain function, and {code_location.name_of(function)!r} is "
            f"async."
        )
