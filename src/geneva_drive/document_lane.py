"""The lane that the executions of all documents share."""

from __future__ import annotations

from typing import Final

# The type of their executions, whatever the type of the workflow: a deployment changes no claim.
DOCUMENT_LANE: Final = "#json"
