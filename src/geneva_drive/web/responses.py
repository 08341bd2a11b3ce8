"""JSON responses that can hold every stored text."""

from __future__ import annotations

import json
from typing import Any

from fastapi.responses import JSONResponse as PlainJSONResponse


class JSONResponse(PlainJSONResponse):
    """A response in UTF-8; lone surrogates, which stored JSON may contain, are escaped."""

    def render(self, content: Any) -> bytes:
        try:
            return super().render(content)
        except UnicodeEncodeError:  # a lone surrogate
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
