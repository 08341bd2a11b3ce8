"""The lane that the executions of all documents share."""

from __future__ import annotations

from typing import Final

# The type of their executions, so that a worker's claim does not change with each deployment.
DOCUMENT_LANE: Final = "#json"
