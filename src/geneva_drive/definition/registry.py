"""The workflow definitions that this process knows, by type."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from geneva_drive.errors import StepConfigurationError, UnknownWorkflowClass

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition
    from geneva_drive.definition.workflow import Workflow

# Weak: a class that is out of reach (a test function's, say) does not block its name. A class and
# its definition hold each other, so they go together.
_definitions: WeakValueDictionary[str, Definition] = WeakValueDictionary()

_types: Sequence[str] = ()  # sorted; refreshed by types()

# A worker lists the definitions while another thread may be adding one.
_lock = threading.Lock()


def add(definition: Definition, where: str) -> None:
    """Register a definition; defining the same class again replaces it."""
    known = _conflicting(definition)
    if known is not None:
        # A class is cyclic garbage: an unreachable one stays listed until it is collected.
        del known
        gc.collect()
        known = _conflicting(definition)
    if known is not None:
        raise StepConfigurationError(
            f"The workflow type {definition.type!r} is taken by "
            f"{known.__module__}.{known.__qualname__}. "
            f'Give one of them another name: type_name = "...".',
            where,
        )
    with _lock:
        _definitions[definition.type] = definition
        _forget_types()


def _conflicting(definition: Definition) -> type[Workflow[Any]] | None:
    known = get(definition.type)
    if known is None or _identity(known) == _identity(definition.workflow_class):
        return None
    return known


def _identity(workflow_class: type) -> tuple[str, str]:
    return workflow_class.__module__, workflow_class.__qualname__


def definition_for(type_name: str) -> Definition | None:
    return _definitions.get(type_name)


def require_definition(type_name: str) -> Definition:
    definition = definition_for(type_name)
    if definition is None:
        raise UnknownWorkflowClass(type_name)
    return definition


def get(type_name: str) -> type[Workflow[Any]] | None:
    definition = definition_for(type_name)
    return None if definition is None else definition.workflow_class


def types() -> Sequence[str]:
    """Return all types, sorted; cached, as the worker asks with each step that ends."""
    global _types
    with _lock:
        # add() empties the cache, so an equal length means that none has gone either.
        if len(_types) != len(_definitions):
            _types = sorted(_definitions.keys())
        return _types


def _forget_types() -> None:
    global _types
    _types = ()


def definitions() -> list[Definition]:
    """Return all definitions, sorted by type."""
    with _lock:
        known = dict(_definitions.items())
    return [known[type_name] for type_name in sorted(known)]


@contextmanager
def isolated() -> Iterator[None]:
    """Forget the classes defined inside at the end, so that tests can reuse their names."""
    before = dict(_definitions)
    try:
        yield
    finally:
        _definitions.clear()
        _definitions.update(before)
        _forget_types()
