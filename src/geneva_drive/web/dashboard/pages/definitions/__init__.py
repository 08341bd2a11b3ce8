"""Definitions: `page` lists and shows them, `start` starts a workflow from a form.

`schema_fields` makes the fields of a context from its JSON Schema; `start_form` holds all fields
of the form, their texts and faults.
"""

from __future__ import annotations

from geneva_drive.web.dashboard.pages.definitions import page, start

routers = (page.router, start.router)

__all__ = ["routers"]
