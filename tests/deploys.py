"""Changing the code of a workflow class while workflows of it are under way."""

from __future__ import annotations

from geneva_drive.definition.registry import isolated as former_code

# `with former_code():` the classes defined inside are forgotten at its end, as if the process had
# been replaced by one with other code.
__all__ = ["former_code"]
