"""The front page: what needs whom. Start with `page`; `rows` makes its rows."""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.front.page import router

__all__ = ["router"]
