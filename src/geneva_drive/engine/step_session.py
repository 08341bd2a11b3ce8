"""The session of a step with `transaction=True`."""

from __future__ import annotations

from typing import NoReturn

from sqlalchemy.orm import Session

from geneva_drive.errors import InvalidStateError


class StepSession(Session):
    """Commits with the step's completion, and only then."""

    def commit(self) -> NoReturn:
        raise InvalidStateError(
            "This session commits together with the step; do not call commit() on it. "
            "Return from the step to commit, raise to roll back."
        )

    def rollback(self) -> NoReturn:
        raise InvalidStateError(
            "This session rolls back if the step raises; do not call rollback() on it. "
            "For a part of the work use session.begin_nested()."
        )
