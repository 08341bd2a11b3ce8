"""The page of one workflow, and its commands. Start with `page`."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.workflow import commands, page

routers = (page.router, commands.router)
