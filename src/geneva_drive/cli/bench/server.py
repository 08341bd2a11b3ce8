"""The name and version of the database server."""

from __future__ import annotations

from sqlalchemy import Engine

_NAMES = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "sqlite": "SQLite"}


def server_name(engine: Engine) -> str:
    """Return the name and version; the engine must have connected before."""
    dialect = engine.dialect
    name = "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name
    version = getattr(dialect, "server_version_info", None) or ()
    return f"{_NAMES[name]} {'.'.join(str(part) for part in version)}"
