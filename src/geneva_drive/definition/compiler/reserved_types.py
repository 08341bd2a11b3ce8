"""The types of workflows that belong to the library itself."""

from __future__ import annotations

from typing import Final

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.document_lane import DOCUMENT_LANE

BULK_TYPE: Final = "geneva.bulk"
BULK_STEP: Final = "give_command"
# No user's class may have these types.
RESERVED_TYPES: Final = frozenset({DYNAMIC_TYPE, DOCUMENT_LANE, BULK_TYPE})
