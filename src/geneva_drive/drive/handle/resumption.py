"""How a paused workflow can continue, and what made it continue before."""

from __future__ import annotations

from copy import copy

from geneva_drive.drive.handle.family import HandleFamily
from geneva_drive.drive.handle.fields import W
from geneva_drive.states import ApprovalState, WorkflowState
from geneva_drive.storage.schema.waits.approval_records import ResumeRequestRecord
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter


class HandleResumption(HandleFamily[W]):
    """The actions that can continue a paused workflow, and those that did."""

    @property
    def resume_requests(self) -> list[ResumeRequestRecord]:
        """What made the workflow continue, oldest first: decisions, deadlines and commands.

        `executed_at` is None while an operator holds the workflow; `error` says why a decision had
        no effect.
        """
        store = self._drive.store
        return store.read(lambda connection: store.resume_requests.of_workflow(connection, self.id))

    def resume_options(self) -> dict[str, list[str]]:
        """Return the actions that would succeed now, under `"actions"`; none if it is not paused.

        They are the choices of pending approvals, `escalate`, `delegate`, `publish`, `resume`,
        `skip` and `cancel`.
        """
        now = copy(self).reload()
        if now.state is not WorkflowState.PAUSED:
            return {"actions": []}
        return {"actions": [*now._decisions(), *now._publications(), *now._commands()]}

    def _decisions(self) -> list[str]:
        store, clock = self._drive.store, self._drive.clock
        wanted = ApprovalFilter(state=ApprovalState.PENDING, workflow_id=self.id)
        found = store.read(
            lambda connection: store.approvals.page(connection, wanted=wanted, limit=None)
        )
        now = clock.now()
        pending = [one for one in found if one.expires_at is None or one.expires_at > now]
        actions = list(dict.fromkeys(choice for one in pending for choice in one.choice_list))
        if any(one.escalate_to is not None for one in pending):
            actions.append("escalate")
        return [*actions, "delegate"] if pending else actions

    def _publications(self) -> list[str]:
        store, now = self._drive.store, self._drive.clock.now()
        found = store.read(lambda connection: store.event_waits.open_of(connection, self.id))
        is_open = any(one.expires_at is None or one.expires_at > now for one in found)
        return ["publish"] if is_open else []

    def _commands(self) -> list[str]:
        actions = []
        is_known = self._is_at_known_step()
        if self._record.state is WorkflowState.PAUSED and (self._active or is_known):
            actions.append("resume")
        if is_known:
            actions.append("skip")
        return [*actions, "cancel"]

    def _is_at_known_step(self) -> bool:
        """True if this process has the class, and the class still has the paused step."""
        definition = self._definition
        if definition is None or self.is_graph:
            return definition is not None
        return definition.get(self._record.next_step_name or "") is not None
