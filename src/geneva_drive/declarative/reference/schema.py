"""The published JSON Schema of documents."""

from __future__ import annotations

from typing import Any

from geneva_drive.declarative.document import FORMAT_VERSION, Document


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the normal form; `version` in its `$id` is the format's."""
    schema = Document.model_json_schema(by_alias=True, mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:geneva-drive:workflow:{FORMAT_VERSION}",
        "title": f"GenevaDrive workflow, format version {FORMAT_VERSION}",
        **{key: value for key, value in schema.items() if key != "title"},
    }
