"""Requests for approval: the inbox, the decided ones, and the page of one request."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.approvals import inbox, page, reassignment

routers = (inbox.router, page.router, reassignment.router)
