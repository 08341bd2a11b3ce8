"""Warnings and explanations about a detached hero, whose changes in a step are not saved."""

from __future__ import annotations

import logging
import sys
from typing import Any

from sqlalchemy import inspect

logger = logging.getLogger(__name__)

_WAY_OUT = "Declare the step with transaction=True: there the hero belongs to the step's session."


def warn_of_changes(hero: Any, step_name: str, workflow_id: Any) -> None:
    """Log the attributes of a detached hero that a step has changed."""
    state: Any = inspect(hero, raiseerr=False) if hero is not None else None
    # A hero that the body added to a session of its own is saved by that session.
    if not getattr(state, "is_instance", False) or not state.detached or not state.modified:
        return
    try:
        changed = sorted(one.key for one in state.attrs if one.history.has_changes())
    except Exception:
        # The user's own column types compare the values. The step has succeeded nevertheless.
        logger.exception(
            "The hero of step %r could not be checked for changes: a column type raised", step_name
        )
        return
    if changed:
        logger.warning(
            "Step %r of workflow %s changed %s of its hero, which is detached, so nothing saves "
            "the change. %s To save it in a session of your own, change what session.merge() "
            "returns.",
            step_name,
            workflow_id,
            ", ".join(changed),
            _WAY_OUT,
        )


def explain(error: BaseException, hero: Any) -> None:
    """Extend the message of an error about an attribute that a detached hero cannot load."""
    orm = sys.modules.get("sqlalchemy.orm")
    if orm is None or hero is None or not isinstance(error, orm.exc.DetachedInstanceError):
        return
    name = type(hero).__name__
    if error.args and name in str(error.args[0]):
        error.args = (f"{error.args[0]}. self.hero is detached in this step. {_WAY_OUT}",)
