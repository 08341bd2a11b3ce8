"""Definitions: `page` lists and shows them, `starting` starts a workflow from a form.

`schema_fields` makes the fields of a context from its JSON Schema; `start_form` is all that stands
in the form.
"""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.definitions import page, start

routers = (page.router, start.router)

__all__ = ["routers"]
