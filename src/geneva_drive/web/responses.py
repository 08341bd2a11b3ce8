"""JSON answers that can show every stored text."""

from __future__ import annotations

import json
from typing import Any

from fastapi.responses import JSONResponse as PlainJSONResponse


class JSONResponse(PlainJSONResponse):
    """An answer in UTF-8. Text that UTF-8 cannot write, as Python code may store it, is escaped."""

    def render(self, content: Any) -> bytes:
        try:
            return super().render(content)
        except UnicodeEncodeError:  # a lone surrogate
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
