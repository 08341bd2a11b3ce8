"""A check that the engine's pool allows as many connections as a worker needs."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from geneva_drive.storage.dialects.health_check import Check, ok, problem, reminder

_NAME = "connections"
_WORKER_NEEDS = 4  # claims, commits, heartbeat, housekeeping
_USUAL_CONCURRENCY = 8


def connections(engine: Engine) -> Check:
    match engine.pool:
        case QueuePool() as pool:
            return _limited(pool)
        case NullPool():
            return reminder(
                _NAME,
                "The engine's NullPool opens a connection for each transaction.",
                "Leave out poolclass=NullPool, unless a pooler such as PgBouncer is used.",
            )
        case StaticPool():
            return problem(
                _NAME,
                "The engine's StaticPool gives all threads the same connection.",
                "Leave out poolclass=StaticPool.",
            )
        case pool:
            return ok(_NAME, f"They are kept by the engine's {type(pool).__name__}.")


def _limited(pool: QueuePool) -> Check:
    overflow: int = pool._max_overflow
    if overflow < 0 or pool.size() == 0:
        return ok(_NAME, "The engine opens as many as are needed.")
    most = pool.size() + overflow
    wanted = _WORKER_NEEDS + _USUAL_CONCURRENCY
    found = (
        f"The engine's pool allows {most} at once. A worker needs {_WORKER_NEEDS}, and one more "
        f"for each step that uses the database: {wanted} at a concurrency of {_USUAL_CONCURRENCY}."
    )
    way_out = f"Set create_engine(..., pool_size={wanted}), or more."
    if most < _WORKER_NEEDS:
        return problem(_NAME, found, way_out)
    if most < wanted:
        return reminder(_NAME, found, way_out)
    return ok(_NAME, f"The engine's pool allows {most} at once.")
