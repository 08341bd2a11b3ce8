"""Checks that a callable takes the arguments it will be called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.nodes.declaration import NodeKind

# The arguments of a node's body after `self` and the session.
_GIVEN = {
    NodeKind.RESUMABLE: ("it",),
    NodeKind.APPROVAL: ("decision",),
    NodeKind.EVENT: ("event",),
    NodeKind.CALLBACK: ("callback",),
    NodeKind.WORKER: ("batch",),
    NodeKind.AGGREGATE: ("results",),
    NodeKind.MAP: ("item",),
}
_DECORATORS = {
    "it": "@gd.resumable_step",
    "decision": "@gd.approval",
    "event": "@gd.wait_for_event",
    "callback": "@gd.wait_for_callback",
    "batch": "the .worker of a batch",
    "results": "the .aggregate of a batch",
    "item": "@gd.map(items)",
}


def check(function: Callable[..., object], *arguments: str, way_out: str = "") -> None:
    """Raise an error if the function does not take this many arguments."""
    try:
        # Do not follow __wrapped__: a decorator may add arguments.
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise code_location.fault(
            f"{code_location.name_of(function)!r} is called with ({', '.join(arguments)}) but "
            f"takes {signature}: {error}.{way_out}"
        ) from None


def check_plain(
    option: str, function: Callable[..., object], *arguments: str, way_out: str = ""
) -> None:
    """Raise an error if the function is async or does not take these arguments."""
    if inspect.iscoroutinefunction(function):
        raise code_location.fault(
            f"{option} takes a plain function, and {code_location.name_of(function)!r} is async."
        )
    with code_location.naming(option, code_location.of_caller()):
        check(function, *arguments, way_out=way_out)


def check_body(function: Callable[..., object], kind: NodeKind, *, transaction: bool) -> None:
    """Raise an error if the function cannot be the body of a node of this kind."""
    check_runs(function, transaction=transaction)
    arguments = ("self", *_GIVEN.get(kind, ()), *(("session",) if transaction else ()))
    check(function, *arguments, way_out=_way_out(function, arguments))


def _way_out(function: Callable[..., object], arguments: Sequence[str]) -> str:
    """Return a hint at an option that passes the named parameter, or at a missing parameter."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    for given, decorator in _DECORATORS.items():
        if given in names and given not in arguments:
            return f" Use {decorator} to receive `{given}`."
    is_async = inspect.iscoroutinefunction(function)
    if "session" in names and "session" not in arguments and not is_async:
        return " Pass transaction=True to receive a session."
    missing = [one for one in arguments[1:] if one not in names]
    if not missing or len(names) >= len(arguments):
        return ""
    noun = "parameter" if len(missing) == 1 else "parameters"
    whole = f"{code_location.name_of(function)}({', '.join(arguments)})"
    return f" Add the {noun} {' and '.join(missing)}, as in {whole}."


def check_runs(function: Callable[..., object], *, transaction: bool) -> None:
    """Raise an error if calling the function would not run all of it."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise code_location.fault("its body contains a yield, so calling it would not run it.")
    if transaction and inspect.iscoroutinefunction(function):
        raise code_location.fault(
            "transaction=True needs a plain function, as its session belongs to one thread. "
            "Write def instead of async def, or leave out transaction."
        )
