"""Errors that fail the execution of a step."""

from __future__ import annotations

from datetime import datetime, timedelta

from geneva_drive.errors.base import GenevaDriveError
from geneva_drive.errors.input import InvalidContext


class MissingJob(GenevaDriveError):
    """A frozen graph names a job that this process does not know."""

    def __init__(
        self, *, workflow_id: object, node_name: str, node_id: str, job: str, frozen_at: datetime
    ) -> None:
        self.workflow_id = workflow_id
        self.node_name = node_name
        self.node_id = node_id
        self.job = job
        self.frozen_at = frozen_at
        super().__init__(
            f"Workflow {workflow_id} needs the job {job!r} for its node {node_name!r} ({node_id}), "
            f"and nothing imported in this process defines it. Its graph was frozen at "
            f"{frozen_at.isoformat()}, and new code does not change it. Restore the job (import "
            f"the module that defines it in the worker's --app) and resume; or cancel this "
            f"workflow and create a new one; or, as a last resort, edit the graph with "
            f"export_dag() and import_dag()."
        )


class ChildCanceled(GenevaDriveError):
    """The workflow that a node waited for was canceled."""

    def __init__(self, type_name: str, workflow_id: object) -> None:
        self.type_name = type_name
        self.workflow_id = workflow_id
        super().__init__(
            f"The child workflow {workflow_id} ({type_name}) was canceled. Reattempting the node "
            f"starts another one."
        )


class OutdatedContext(GenevaDriveError):
    """A step reads a stored context that no longer fits the context type, which has changed."""

    def __init__(self, workflow_id: object, invalid: InvalidContext) -> None:
        self.workflow_id = workflow_id
        self.faults = invalid.faults
        super().__init__(
            f"The stored context of {invalid.workflow} workflow {workflow_id} does not fit "
            f"{invalid.context_type}: {invalid.words}. Give a new field a default, or pass what is "
            f"missing with resume(data={{...}}) or `geneva resume {workflow_id} --data`."
        )


class IterationLimitExceeded(GenevaDriveError):
    """A resumable step has reached its `iteration_limit`."""

    def __init__(self, step_name: str, limit: int) -> None:
        self.step_name = step_name
        self.limit = limit
        super().__init__(
            f"Step {step_name!r} has reached its iteration_limit of {limit}, and there are more "
            f"items. Check whether it loops forever; if not, raise iteration_limit and resume."
        )


class StepTimedOut(GenevaDriveError, TimeoutError):
    def __init__(self, step_name: str, timeout: timedelta) -> None:
        self.timeout = timeout
        super().__init__(f"Step {step_name!r} ran longer than its timeout of {timeout}.")


class PermanentError(Exception):
    """Raise this in a step for a failure that no reattempt can fix."""


class RetryableError(Exception):
    """Raise this in a step for a failure that a reattempt may fix.

    `retry_after` (seconds or a timedelta) replaces the wait of the policy.
    """

    def __init__(self, *args: object, retry_after: float | timedelta | None = None) -> None:
        super().__init__(*args)
        self.retry_after = retry_after
