"""Excludes the tables of this package from the autogenerate of a user's own Alembic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DEFAULT_PREFIX = "geneva_drive_"


def include_object(
    prefix: str = DEFAULT_PREFIX,
) -> Callable[[Any, str | None, str, bool, Any], bool]:
    """Return an `include_object` for your `env.py`; without it, autogenerate drops our tables.

    They are in your database but not in your metadata, and have their own migrations. Pass the
    Drive's `table_prefix` if you chose one.

    >>> from geneva_drive.storage.schema.autogenerate import include_object
    >>> leave_ours_alone = include_object()  # context.configure(include_object=leave_ours_alone)
    >>> leave_ours_alone(None, "geneva_drive_workflows", "table", True, None)
    False
    >>> leave_ours_alone(None, "users", "table", True, None)
    True
    """

    def is_included(
        item: Any,  # noqa: ARG001 - Alembic's signature
        name: str | None,
        kind: str,
        reflected: bool,  # noqa: ARG001 - a table that users map for reading is ours as well
        compared_to: Any,  # noqa: ARG001 - Alembic's signature
    ) -> bool:
        return not (kind == "table" and name is not None and name.startswith(prefix))

    return is_included
