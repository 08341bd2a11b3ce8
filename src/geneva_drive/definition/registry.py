"""Which workflow classes this process knows, by type."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow

# Weak: a class that nobody can reach any more (a test function's, say) does not block its name.
_classes: WeakValueDictionary[str, type[Workflow[Any]]] = WeakValueDictionary()

_types: Sequence[str] = ()  # sorted, as of when they were asked for

# A worker lists the classes while another thread may be defining one.
_lock = threading.Lock()


def add(type_name: str, workflow_class: type[Workflow[Any]], where: str) -> None:
    """Make a class known; defining the same class again replaces it."""
    known = _conflicting(type_name, workflow_class)
    if known is not None:
        # Classes are cyclic garbage: one that is already unreachable may still be listed.
        del known
        gc.collect()
        known = _conflicting(type_name, workflow_class)
    if known is not None:
        raise StepConfigurationError(
            f"The workflow type {type_name!r} is taken by {known.__module__}.{known.__qualname__}. "
            f'Give one of them another name: type_name = "...".',
            where,
        )
    with _lock:
        _classes[type_name] = workflow_class
        _forget_types()


def _conflicting(type_name: str, workflow_class: type[Workflow[Any]]) -> type[Workflow[Any]] | None:
    known = _classes.get(type_name)
    if known is None or _identity(known) == _identity(workflow_class):
        return None
    return known


def _identity(workflow_class: type) -> tuple[str, str]:
    return workflow_class.__module__, workflow_class.__qualname__


def get(type_name: str) -> type[Workflow[Any]] | None:
    return _classes.get(type_name)


def types() -> Sequence[str]:
    """Name all types; asked with each step that ends."""
    global _types
    with _lock:
        # Others may have gone since, but none can have come.
        if len(_types) != len(_classes):
            _types = sorted(_classes.keys())
        return _types


def _forget_types() -> None:
    global _types
    _types = ()


def all_classes() -> list[type[Workflow[Any]]]:
    with _lock:
        known = dict(_classes.items())
    return [known[type_name] for type_name in sorted(known)]


@contextmanager
def isolated() -> Iterator[None]:
    """Forget, at the end, the classes defined inside: one test's names don't hinder the next."""
    before = dict(_classes)
    try:
        yield
    finally:
        _classes.clear()
        _classes.update(before)
        _forget_types()
