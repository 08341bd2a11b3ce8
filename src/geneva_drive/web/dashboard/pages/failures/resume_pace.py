"""The pace at which a bulk resumes: one first, in growing batches, or all at once."""

from __future__ import annotations

from collections.abc import Mapping

from geneva_drive.drive.bulk.bulk import BulkLimits
from geneva_drive.errors import InvalidInput

_MOST = 1_000_000  # the Drive's


def limits_in(form: Mapping[str, str]) -> BulkLimits:
    """Return the limits that a form with `pace_options` chose; the default is one first."""
    match form.get("pace", "first"):
        case "first":
            return {"first": 1}
        case "all":
            return {}
        case "stop":
            text = form.get("stop_after", "").strip()
            if not text.isdecimal() or not 0 < int(text) <= _MOST:
                raise InvalidInput("Stop after: write how many failures, such as 5.")
            return {"stop_after": int(text)}
        case _:
            raise InvalidInput("Choose one first, growing batches, or all at once.")
