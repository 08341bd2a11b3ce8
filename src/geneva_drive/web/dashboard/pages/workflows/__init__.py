"""The list of workflows. Start with `page`; `address` reads and writes the filters."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.workflows import bulk, page

routers = (bulk.router, page.router)

__all__ = ["routers"]
