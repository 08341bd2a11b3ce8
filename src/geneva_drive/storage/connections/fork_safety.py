"""Connections after a fork: a child opens its own, as it must not use those of its parent."""

from __future__ import annotations

import os
import sys
import weakref

from sqlalchemy import Engine
from sqlalchemy.pool import Pool

generation = 0  # of this process: a forked child has one more than its parent
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
# Kept forever: collecting them would use or close the parent's connections.
_pools_of_parents: list[Pool] = []


def begin_anew_in_children(engine: Engine) -> None:
    _engines.add(engine)


def _begin_anew() -> None:
    global generation
    generation += 1
    for engine in list(_engines):
        _pools_of_parents.append(engine.pool)
        engine.dispose(close=False)


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_begin_anew)
