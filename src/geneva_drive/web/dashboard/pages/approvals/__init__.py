"""Requests for approval: the inbox, and the page on which one is decided."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.approvals import inbox, page, reassignment

routers = (inbox.router, page.router, reassignment.router)
