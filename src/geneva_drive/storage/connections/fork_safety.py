"""A forked child's engines begin anew: its parent's connections are not its own."""

from __future__ import annotations

import os
import sys
import weakref

from sqlalchemy import Engine
from sqlalchemy.pool import Pool

generation = 0  # of this process: one more than its parent's, once it is forked
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
# Never let go of: collecting them would talk on the parent's connections, or end them.
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
