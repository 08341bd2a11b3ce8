"""The pages of a decision link, in the design of the dashboard: no login, no scripts."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.states import ApprovalState
from geneva_drive.web.dashboard.decision.request_view import Sent, view_of
from geneva_drive.web.dashboard.shell.templates import Surroundings, render_template

_LOOKS = {"done": "completed", "held": "late", "quiet": "lock"}


def message_page(around: Surroundings, title: str, text: str, hue: str = "held") -> str:
    """Return a page that says what happened; `hue` is done, held or quiet."""
    return _page(around, title, text=text, hue=hue, glyph_name=_LOOKS[hue])


def decided_page(around: Surroundings, approval: Approval) -> str:
    """Return the page after a vote; the quorum may not be complete yet."""
    if approval.state is ApprovalState.PENDING:
        text = "Other people still have to decide."
        return message_page(around, "Your vote is recorded", text, "done")
    text = f"The request is {approval.state}. You need not do anything more."
    return message_page(around, "Your decision is recorded", text, "done")


def request_page(around: Surroundings, approval: Approval, sent: Sent | None = None) -> str:
    """Return the page that shows the request, with the form that decides it."""
    return _page(around, "Decision", view=view_of(approval, approval.person, sent=sent))


def _page(around: Surroundings, title: str, **values: Any) -> str:
    known = {"view": None, "text": "", "hue": "held", "glyph_name": "late", **values}
    return render_template("link.html", around, title=title, now=around.now, **known)
