"""Everything that goes wrong by name.

GenevaDriveError
├── StepConfigurationError   fix the workflow class (also a TypeError)
├── InvalidInput             fix what was passed (also a ValueError)
│   ├── NoSuchBranch         choose a node that depends on the decision
│   ├── NullCursor           leave such rows out, or take another column
│   ├── CsvChanged           put the file back, or rewind the step
│   ├── CursorTooLarge       pass less
│   └── PayloadTooLarge      pass less
├── NotFound                 look elsewhere
│   └── StepNotDefined
├── AlreadyRunning           reload and decide
├── InvalidStateError        reload and decide
│   └── UncommittedWork      commit before the loop goes on
├── MissingJob               bring the job back, or let the workflow go
├── ChildCanceled            the node's exception policy says what comes of it
├── IterationLimitExceeded   look whether the step loops for ever
├── ClaimLost                another worker has it; nothing was written
└── StorageError             the database needs attention
    └── NotMigrated          run `geneva migrate`
        └── NotCreated

`PermanentError` and `RetryableError` are for users' steps to raise, and stand apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from geneva_drive.drive.handle import WorkflowHandle


class GenevaDriveError(Exception):
    """The root of every error this library raises on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document, and the path that leads to it."""

    path: str
    message: str


class StepConfigurationError(GenevaDriveError, TypeError):
    """A workflow class or document is not what it should be: raised where it is written.

    `faults` lists everything that is wrong with a document.
    """

    def __init__(self, what: str, where: str | None = None, faults: Sequence[Fault] = ()) -> None:
        self.what = what
        self.where = where
        self.faults = tuple(faults)
        super().__init__(f"{what} ({where})" if where else what)


class InvalidInput(GenevaDriveError, ValueError):
    """Something passed in cannot be taken as it is."""


class NoSuchBranch(InvalidInput):
    """A decision chose something that does not wait for it."""

    def __init__(
        self, workflow: str, decision: str, chosen: object, branches: Sequence[str]
    ) -> None:
        self.workflow = workflow
        self.decision = decision
        self.chosen = chosen
        self.branches = tuple(branches)
        super().__init__(
            f"Decision {decision!r} of {workflow} chose {chosen!r}, which is not one of its "
            f"branches: {', '.join(branches) or '(none)'}. It returns a branch's name or decorated "
            f"method, a list of these, or None."
        )


class PayloadTooLarge(InvalidInput):
    def __init__(self, what: str, size: int, limit: int, setting: str) -> None:
        self.size = size
        self.limit = limit
        super().__init__(
            f"{what} is {size:,} bytes as JSON; the limit is {limit:,} bytes. Store the data "
            f"elsewhere and keep its key, or raise the setting {setting}."
        )


class CursorTooLarge(InvalidInput):
    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(
            f"The cursor is {size:,} bytes as JSON; the limit is {limit:,} bytes. Keep a key in "
            f"it, not the data, or raise the setting max_cursor_size."
        )


class NullCursor(InvalidInput):
    """A cursor column is NULL somewhere, and a row without a cursor has no place in the loop."""

    def __init__(self, column: str) -> None:
        self.column = column
        super().__init__(
            f"There are rows with NULL in the cursor column {column}, which would be left out "
            f"silently. Leave them out with where({column} IS NOT NULL), or take another column "
            f"as cursor=."
        )


class CsvChanged(InvalidInput):
    """A CSV that changed under the cursor."""

    def __init__(self, path: str, offset: int) -> None:
        self.path = path
        self.offset = offset
        super().__init__(
            f"The file {path!r} is a CSV that changed under the cursor: what stands before "
            f"byte {offset} is not what was read. Put the file back as it was, or rewind the step "
            f"with `geneva rewind` to read it from its first row."
        )


class NotFound(GenevaDriveError, LookupError):
    """There is no such thing."""


class WorkflowNotFound(NotFound):
    def __init__(self, workflow_id: object, wanted: str | None = None) -> None:
        self.workflow_id = workflow_id
        kind = f"{wanted} workflow" if wanted else "workflow"
        super().__init__(
            f"There is no {kind} with id {workflow_id!r}. `geneva list` shows those there are."
        )


class HeroGone(NotFound):
    def __init__(self, hero_type: str, hero_id: str) -> None:
        self.hero_type = hero_type
        self.hero_id = hero_id
        super().__init__(
            f"The hero {hero_type} {hero_id!r} is not there: deleted, or not yet committed when "
            f"the step ran. Without it the workflow is canceled, unless its class says "
            f"may_proceed_without_hero = True."
        )


class StepNotDefined(NotFound):
    def __init__(self, workflow: str, step: str, steps: Sequence[str]) -> None:
        self.workflow = workflow
        self.step = step
        super().__init__(
            f"Workflow {workflow!r} has no step {step!r}. "
            f"Its steps are: {', '.join(steps) if steps else '(none)'}."
        )


class NodeNotFound(StepNotDefined):
    """A dynamic workflow has no node of this name or id."""

    def __init__(self, workflow_id: object, node: str) -> None:
        super().__init__("", node, ())
        self.args = (
            f"Workflow {workflow_id} has no node of the name or id {node!r}. "
            f"`geneva show {workflow_id}` lists its nodes.",
        )


class StepVanished(StepNotDefined):
    """An execution stands on a step that the class no longer has."""

    def __init__(self, workflow: str, step: str, steps: Sequence[str]) -> None:
        super().__init__(workflow, step, steps)
        self.args = (
            f"{self.args[0]} An execution stands on it. Put `{step} = gd.removed_step()` where it "
            f'was, or `renamed_from="{step}"` on its successor, and resume; or choose where to '
            f"go on: `resume_at` in code, `geneva resume ID --at STEP` in the shell.",
        )


class UnknownWorkflowClass(NotFound):
    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        super().__init__(
            f"No workflow class of type {type_name!r} is imported in this process. Import its "
            f"module first, or name it with --app or GENEVA_APP."
        )


class UnknownStoredType(NotFound):
    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        super().__init__(
            f"The database holds a value of type {type_name!r}, which nobody registered in this "
            f"process. Register it with gd.register_serializer in a module that the app imports."
        )


class UnknownEnum(NotFound):
    def __init__(self, enum_name: str) -> None:
        self.enum_name = enum_name
        super().__init__(
            f"The database holds a member of the Enum {enum_name!r}, and no module imported in "
            f"this process defines it. Import {enum_name.partition(':')[0]!r} in the app; of an "
            f"Enum that was moved or renamed, keep the old name beside the new one."
        )


class UnknownEnumMember(NotFound):
    def __init__(self, enum_name: str, value: object) -> None:
        self.enum_name = enum_name
        self.value = value
        super().__init__(
            f"The database holds {value!r} of the Enum {enum_name!r}, which has no such member. "
            f"Put the member back, or let the Enum's _missing_ name its successor."
        )


class AlreadyRunning(GenevaDriveError):
    """The hero already has an ongoing workflow of this class: see `existing`."""

    def __init__(
        self, type_name: str, hero_type: str, hero_id: str, existing: WorkflowHandle[Any]
    ) -> None:
        self.existing = existing
        super().__init__(
            f"{hero_type} {hero_id!r} already has an ongoing {type_name} (workflow {existing.id}). "
            f"Use get_or_create() to take that one, or allow_multiple=True to start another."
        )


class InvalidStateError(GenevaDriveError):
    """The thing is not in a state that allows this."""


class IllegalMove(InvalidStateError):
    def __init__(self, thing: str, thing_id: object, state: str, target: str) -> None:
        super().__init__(f"{thing} {thing_id} is {state} and cannot become {target}.")


class UncommittedWork(InvalidStateError):
    """A loop was to go on while a transaction of its body was open."""

    def __init__(self, step_name: str) -> None:
        self.step_name = step_name
        super().__init__(
            f"Step {step_name!r} was to save its cursor while a session of its own had written "
            f"something and not committed it: a crash would lose that, and the cursor would stand "
            f"behind it. Commit before the loop goes on, or let the step's session do so with "
            f"@gd.resumable_step(transaction=True)."
        )


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
            f"The child workflow {workflow_id} ({type_name}) was canceled. To run the node again "
            f"starts another one."
        )


class ClaimLost(GenevaDriveError):
    """The execution was taken back and belongs to somebody else now."""

    def __init__(self, execution_id: object, step_name: str) -> None:
        self.execution_id = execution_id
        super().__init__(
            f"Execution {execution_id} of step {step_name!r} is no longer held by this worker; "
            f"its result was dropped."
        )


class IterationLimitExceeded(GenevaDriveError):
    """A resumable step has gone through as many items as its `iteration_limit` allows."""

    def __init__(self, step_name: str, limit: int) -> None:
        self.step_name = step_name
        self.limit = limit
        super().__init__(
            f"Step {step_name!r} has done {limit} iterations, which is its iteration_limit, and "
            f"there are more. Does it loop for ever? If not, raise iteration_limit and resume."
        )


class StepTimedOut(GenevaDriveError, TimeoutError):
    def __init__(self, step_name: str, timeout: timedelta) -> None:
        self.timeout = timeout
        super().__init__(f"Step {step_name!r} ran longer than its timeout of {timeout}.")


class StorageError(GenevaDriveError):
    """The database cannot be used as it is."""


class NotMigrated(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"The database at {url} has no GenevaDrive tables yet, or older ones. "
            f"Run `geneva migrate` with the same --app or --database, or call drive.migrate()."
        )


class NotCreated(NotMigrated):
    """A file that is not there: looking for it must not make one."""

    def __init__(self, url: str) -> None:
        StorageError.__init__(
            self,
            f"There is no database at {url} yet. Create it with "
            f"`geneva migrate`, with the same --app or --database, or drive.migrate(); or name the "
            f"one you mean: --app package.module, --database URL, or GENEVA_DATABASE_URL.",
        )


class TooNew(StorageError):
    def __init__(self, url: str, revision: str) -> None:
        self.revision = revision
        super().__init__(
            f"The database at {url} was migrated by a newer GenevaDrive (revision {revision!r}). "
            f"Upgrade this process's geneva-drive before it touches the data."
        )


class DatabaseUnavailable(StorageError):
    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The database at {url} cannot be reached: {cause} "
            f"Check that it runs and exists, and its address: --database, the app's own, or "
            f"GENEVA_DATABASE_URL."
        )


class DatabaseReadOnly(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"The database at {url} is read-only, so nothing was written. Check the file's or "
            f"role's permissions, or connect to the primary server."
        )


class DatabaseBusy(StorageError):
    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The database at {url} was held by others for too long, and nothing was written: "
            f"{cause} Look for a long transaction, and try again. If it is a session of your own, "
            f"commit it first, or pass it as session=."
        )


class PermanentError(Exception):
    """Raise it in a step for a failure that no reattempt can mend."""


class RetryableError(Exception):
    """Raise it in a step for a failure that a reattempt may mend.

    `retry_after` (seconds or a timedelta) replaces the policy's own wait.
    """

    def __init__(self, *args: object, retry_after: float | timedelta | None = None) -> None:
        super().__init__(*args)
        self.retry_after = retry_after
