"""The workflow definitions of this process, by type, and the registry class for other names."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakValueDictionary

from geneva_drive.errors import StepConfigurationError, UnknownWorkflowClass

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition
    from geneva_drive.definition.workflow import Workflow


T = TypeVar("T")


class NameRegistry(Generic[T]):
    """Entries by name. Defining the same thing again replaces its entry.

    `identity` decides whether two entries are the same thing: a reloaded module creates a new
    object with the identity of the old one. A `weak` registry drops entries that nothing else
    refers to.
    """

    def __init__(
        self,
        *,
        noun: str,
        remedy: str,
        identity: Callable[[T], object],
        describe: Callable[[T], str] = repr,
        weak: bool = False,
    ) -> None:
        self._noun = noun
        self._remedy = remedy
        self._identity = identity
        self._describe = describe
        self._entries: MutableMapping[str, T] = WeakValueDictionary() if weak else {}
        self._names: Sequence[str] = ()  # sorted; refreshed by names()
        # Threads may add entries while a worker lists them. Reentrant, because adding may trigger a
        # garbage collection whose finalizers call the registry again.
        self._lock = threading.RLock()

    def add(self, name: str, entry: T, where: str) -> None:
        with self._lock:
            known = self._conflicting(name, entry)
            if known is not None:
                # A class is part of a reference cycle: an unreachable one stays listed until it is
                # collected.
                del known
                gc.collect()
                known = self._conflicting(name, entry)
            if known is not None:
                raise StepConfigurationError(
                    f"The {self._noun} {name!r} is taken by {self._describe(known)}. "
                    f"Give one of them another name: {self._remedy}.",
                    where,
                )
            self._entries[name] = entry
            self._names = ()

    def _conflicting(self, name: str, entry: T) -> T | None:
        known = self._entries.get(name)
        if known is None or self._identity(known) == self._identity(entry):
            return None
        return known

    def get(self, name: str) -> T | None:
        return self._entries.get(name)

    def names(self) -> Sequence[str]:
        """Return all names, sorted; cached, because workers call this for each ended step."""
        with self._lock:
            # add() clears the cache, so an equal length means that no entry was collected.
            if len(self._names) != len(self._entries):
                self._names = sorted(self._entries)
            return self._names

    def entries(self) -> list[T]:
        """Return all entries, sorted by name."""
        with self._lock:
            known = dict(self._entries.items())
        return [known[name] for name in sorted(known)]

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Remove the entries added within the block, so that tests can reuse their names."""
        before = dict(self._entries.items())
        try:
            yield
        finally:
            with self._lock:
                self._entries.clear()
                self._entries.update(before)
                self._names = ()


def _full_name(definition: Definition) -> str:
    return f"{definition.workflow_class.__module__}.{definition.workflow_class.__qualname__}"


# Weak: a class that nothing refers to, such as one of a test function, does not block its name. A
# class and its definition refer to each other, so they are collected together.
_definitions: NameRegistry[Definition] = NameRegistry(
    noun="workflow type",
    remedy='type_name = "..."',
    identity=_full_name,
    describe=_full_name,
    weak=True,
)

definition_for = _definitions.get
definitions = _definitions.entries
types = _definitions.names
isolated = _definitions.isolated


def add(definition: Definition, where: str) -> None:
    _definitions.add(definition.type, definition, where)


def require_definition(type_name: str) -> Definition:
    definition = definition_for(type_name)
    if definition is None:
        raise UnknownWorkflowClass(type_name)
    return definition


def get(type_name: str) -> type[Workflow[Any, Any]] | None:
    definition = definition_for(type_name)
    return None if definition is None else definition.workflow_class
