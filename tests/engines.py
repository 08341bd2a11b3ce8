"""Engines whose statements are compiled once for all tests, although every test has its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from sqlalchemy import URL, Dialect, Engine, event

from geneva_drive.storage.connections import engine as connecting

# The dialect that an engine was made with, where it was given another's.
OWN_DIALECTS: WeakKeyDictionary[Engine, Dialect] = WeakKeyDictionary()


@contextmanager
def compiling_once() -> Iterator[None]:
    """Let engines of one address share what they compile, which took half of the tests' time.

    It is found again only under the same dialect, so that they share that too, once it has met its
    server.
    """
    make_engine = connecting.make_engine
    known: dict[str, tuple[Dialect, dict[Any, Any]]] = {}

    def make(url: str | URL) -> Engine:
        engine = make_engine(url)
        is_file = engine.dialect.name == "sqlite"
        at = "sqlite" if is_file else engine.url.render_as_string(hide_password=False)
        first = known.get(at)
        if first is None or not first[0].server_version_info:
            first = known[at] = engine.dialect, {}
        OWN_DIALECTS[engine] = engine.dialect
        engine.dialect, compiled = first
        engine.update_execution_options(compiled_cache=compiled)
        return engine

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(connecting, "make_engine", make)
        yield


def trace(engine: Engine) -> None:
    """Have SQLAlchemy execute all statements, also those that would go past it to the driver."""
    event.listen(engine, "after_cursor_execute", _note)


def _note(*_: Any) -> None:
    """What anybody would do who traces an engine."""
