"""The JSON Schema that a context must fit at the start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from geneva_drive.declarative import extras
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.source.variants import Location, written_path
from geneva_drive.errors import Fault, InvalidContext


def faults(schema: object) -> Iterator[tuple[Location, str]]:
    """Yield what is wrong with the JSON Schema of a document."""
    if not isinstance(schema, dict):
        return
    jsonschema_rs = extras.load("jsonschema_rs")
    try:
        _validator(json.dumps(schema))
    except jsonschema_rs.ValidationError as error:
        yield ("input", *error.instance_path), _words(error.message)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        yield ("input",), _words(str(error))


def _words(complaint: str) -> str:
    why = complaint.rpartition("ValueError: ")[2]  # what `_refuse` says
    return f"is not a JSON Schema: {' '.join(why.split())}"


def check_input(document: Document, context: Mapping[str, Any]) -> None:
    """Raise an `InvalidContext` with every fault if the context does not fit `input`."""
    if document.input is None:
        return
    faults = [
        Fault(written_path(error.instance_path), error.message)
        for error in _validator(json.dumps(document.input)).iter_errors(context)
    ]
    if faults:
        raise InvalidContext(document.workflow_id, "its input", faults)


@lru_cache(256)
def _validator(schema: str) -> Any:
    jsonschema_rs = extras.load("jsonschema_rs")
    return jsonschema_rs.validator_for(
        json.loads(schema),
        retriever=_refuse,
        pattern_options=jsonschema_rs.RegexOptions(),  # in linear time
    )


def _refuse(url: str) -> Any:
    raise ValueError(f"references to other documents are refused, such as {url!r}")
