"""The list of decided requests, the newest first: who decided, when, and why."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from geneva_drive.drive.activity.person_overview import hero_words
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.pages import Place, approvals_page
from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.statements.search.pages import ApprovalInbox
from geneva_drive.web.dashboard.decision.question import plain_question
from geneva_drive.web.dashboard.decision.votes import past
from geneva_drive.web.dashboard.shell.page import render

_PER_PAGE = 50
_PATH = "/approvals?state=decided"


@dataclass(frozen=True, slots=True)
class DecidedRow:
    """A request in the list, with its workflow if it is still stored."""

    approval: Approval
    workflow: WorkflowRecord | None

    @property
    def type(self) -> str:
        return "deleted" if self.workflow is None else self.workflow.type or "dynamic"

    @property
    def hero(self) -> str:
        return "" if self.workflow is None else hero_words(self.workflow) or ""

    @property
    def question(self) -> str:
        return plain_question(self.approval.title, self.approval.step_name)

    @property
    def words(self) -> str:
        """Return how the request ended, with the choice if it is a custom one."""
        is_approved = self.approval.state is ApprovalState.APPROVED
        return past(self.approval.choice) if is_approved else str(self.approval.state)


def render_list(request: Request, drive: Drive, older: str | None, newer: str | None) -> Response:
    place = Place(newer or older, _PER_PAGE, is_back=bool(newer))
    page = approvals_page(drive, ApprovalInbox(only_ended=True), place)
    store, ids = drive.store, {one.workflow_id for one in page.items}
    workflows = store.read(lambda connection: store.workflows.get_many(connection, list(ids)))
    values = {
        "rows": [DecidedRow(one, workflows.get(one.workflow_id)) for one in page.items],
        "newest": None if place.cursor is None else _PATH,
        "newer": None if page.newer_cursor is None else f"{_PATH}&newer={page.newer_cursor}",
        "older": None if page.next_cursor is None else f"{_PATH}&older={page.next_cursor}",
        "per_page": _PER_PAGE,
    }
    return render(request, "pages/decided.html", values, here="approvals")
