"""Events: `page` lists and shows them, `publication` publishes one from a form."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.events import page, publication

routers = (page.router, publication.router)

__all__ = ["routers"]
