"""What a step does to a detached hero is lost; these words tell so, and the way out."""

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
    # A hero that the body has added to a session of its own is that session's business.
    if not getattr(state, "is_instance", False) or not state.detached or not state.modified:
        return
    try:
        changed = sorted(one.key for one in state.attrs if one.history.has_changes())
    except Exception:
        # A column type of the user's own compares the values. The step has succeeded all the same.
        logger.exception("The hero of step %r could not be compared with its row", step_name)
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
