"""Errors about things that this database or process does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geneva_drive.display import shown
from geneva_drive.errors.base import GenevaDriveError

if TYPE_CHECKING:
    from collections.abc import Sequence


class NotFound(GenevaDriveError, LookupError):
    """The database or the process does not have this thing."""


class WorkflowNotFound(NotFound):
    def __init__(self, workflow_id: object, wanted: str | None = None) -> None:
        self.workflow_id = workflow_id
        kind = f"{wanted} workflow" if wanted else "workflow"
        super().__init__(
            f"There is no {kind} with id {shown(workflow_id)}. `geneva list` shows all workflows."
        )


class NotCommitted(WorkflowNotFound):
    """The session that created the workflow has not committed it, or has rolled it back."""

    def __init__(self, workflow_id: object) -> None:
        self.workflow_id = workflow_id
        NotFound.__init__(
            self,
            f"Workflow {workflow_id!r} cannot be read yet: the session that created it has not "
            f"committed it. Commit the session first. If it was rolled back, the workflow does "
            f"not exist.",
        )


class ApprovalNotFound(NotFound):
    def __init__(self, approval_id: object) -> None:
        self.approval_id = approval_id
        super().__init__(
            f"There is no approval with id {shown(approval_id)}. `geneva approvals` lists those "
            f"that are pending."
        )


class DeadLetterNotFound(NotFound):
    def __init__(self, entry_id: object) -> None:
        self.entry_id = entry_id
        super().__init__(
            f"There is no dead letter with id {shown(entry_id)}. `geneva dlq list` lists those "
            f"that are pending."
        )


class KeyNotFound(NotFound):
    """There is no such API key. The message does not repeat the argument, which may be a secret."""

    def __init__(self, key_id: str | None) -> None:
        self.key_id = key_id
        what = (
            f"There is no API key with id {key_id!r}." if key_id else "This is not the id of a key."
        )
        super().__init__(f"{what} `geneva keys list` lists the keys with their ids.")


class ScheduleNotFound(NotFound):
    def __init__(self, type_name: str, *, is_known_class: bool = False) -> None:
        self.type_name = type_name
        way_out = (
            "Give the class one: schedule = gd.cron('0 9 * * *')."
            if is_known_class
            else "`geneva schedules` lists all schedules. A schedule is known once a worker "
            "that imports its class has run."
        )
        super().__init__(f"Workflow type {shown(type_name)} has no schedule. {way_out}")


class HeroGone(NotFound):
    def __init__(self, hero_type: str, hero_id: str) -> None:
        self.hero_type = hero_type
        self.hero_id = hero_id
        super().__init__(
            f"The hero {hero_type} {hero_id!r} does not exist: it was deleted, or not yet "
            f"committed when the step ran. The workflow is canceled, unless its class sets "
            f"may_proceed_without_hero = True."
        )


class StepNotDefined(NotFound):
    def __init__(self, workflow: str, step: str, steps: Sequence[str]) -> None:
        self.workflow = workflow
        self.step = step
        super().__init__(
            f"Workflow {workflow!r} has no step {shown(step)}. Its steps are: "
            f"{', '.join(steps) if steps else '(none)'}."
        )


class NodeNotFound(StepNotDefined):
    """A dynamic workflow has no node of this name or id."""

    def __init__(self, workflow_id: object, node: object) -> None:
        super().__init__("", node if isinstance(node, str) else shown(node), ())
        self.args = (
            f"Workflow {workflow_id} has no node with the name or id {shown(node)}. "
            f"`geneva show {workflow_id}` lists its nodes.",
        )


class StepVanished(StepNotDefined):
    """An execution is at a step that the class no longer has."""

    def __init__(self, workflow: str, step: str, steps: Sequence[str]) -> None:
        super().__init__(workflow, step, steps)
        self.args = (
            f"{self.args[0]} An execution is at this step. Put `{step} = gd.removed_step()` where "
            f'it was, or `renamed_from="{step}"` on its successor, and resume; or choose the step '
            f"to continue at: `resume_at` in code, `geneva resume ID --at STEP` in the shell.",
        )


class UnknownWorkflowClass(NotFound):
    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        super().__init__(
            f"No workflow class of type {shown(type_name)} is imported in this process. Import its "
            f"module first, or name it with --app or GENEVA_APP."
        )


class DefinitionNotFound(UnknownWorkflowClass):
    """There is neither a document nor an imported class of this name."""

    def __init__(self, name: object, version: str | None = None) -> None:
        self.name = self.type_name = str(name)
        self.version = version
        if version is not None:
            what = f"There is no version {shown(version)} of document {shown(name)}."
        else:
            what = (
                f"There is no document {shown(name)}, and no workflow class of this type is "
                f"imported in this process."
            )
        NotFound.__init__(
            self,
            f"{what} Deploy a document with `geneva deploy FILE`; import the module of a class, or "
            f"name it with --app or GENEVA_APP.",
        )


class UnknownStoredType(NotFound):
    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        super().__init__(
            f"The database holds a value of type {shown(type_name)}, which is not registered in "
            f"this process. Register it with gd.register_serializer in a module that the app "
            f"imports."
        )


class UnknownEnum(NotFound):
    def __init__(self, enum_name: str) -> None:
        self.enum_name = enum_name
        super().__init__(
            f"The database holds a member of the Enum {enum_name!r}, and no module imported in "
            f"this process defines it. Import {enum_name.partition(':')[0]!r} in the app. If the "
            f"Enum was moved or renamed, keep its old name as an alias."
        )


class UnknownEnumMember(NotFound):
    def __init__(self, enum_name: str, value: object) -> None:
        self.enum_name = enum_name
        self.value = value
        super().__init__(
            f"The database holds {shown(value)} of the Enum {enum_name!r}, which has no such "
            f"member. Restore the member, or return its successor from the Enum's _missing_."
        )
