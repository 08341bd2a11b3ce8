"""Failures in groups, and one command for all workflows of a group."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.failures import commands, page

routers = (page.router, commands.router)
