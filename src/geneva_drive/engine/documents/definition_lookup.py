"""Look up definitions: those of classes by type, those of documents by type and signature.

A deployed document never changes, so its compiled form is cached for the whole process. The
modules that compile documents are imported when the first one is read.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.definition import Definition
from geneva_drive.errors import DefinitionNotFound, InvalidStateError, UnknownWorkflowClass
from geneva_drive.storage.schema.documents.definition_record import DefinitionRecord
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.store import Store

if TYPE_CHECKING:
    from geneva_drive.declarative.document import Document
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

logger = logging.getLogger(__name__)

BRANCH = "/"  # between the name of a document and the first step of a branch
_MAX_CACHED = 4096
_SIGNATURE_LENGTH = 16  # as for classes

_cache: OrderedDict[tuple[str, str], Definition] = OrderedDict()
_cache_lock = Lock()


@dataclass(frozen=True, slots=True)
class StoredText:
    """A document as it is stored, with its hash."""

    text: str
    content_hash: str

    @property
    def signature(self) -> str:
        return self.content_hash[:_SIGNATURE_LENGTH]

    @classmethod
    def of(cls, document: Document) -> StoredText:
        text = json.dumps(document.stored(), ensure_ascii=True, sort_keys=True)
        return cls(text, hashlib.sha256(text.encode()).hexdigest())


def cached(record: WorkflowRecord) -> Definition | None:
    """Return the definition of a workflow, if this process has it already."""
    if record.definition_signature is None:
        return registry.definition_for(record.type)
    return _cache.get((record.type, record.definition_signature))


def definition_of(store: Store, record: WorkflowRecord) -> Definition | None:
    """Return the definition of a workflow; None if neither process nor database has it."""
    found = cached(record)
    if found is not None or record.definition_signature is None:
        return found
    return store.read(lambda connection: read_definition(connection, store, record))


def read_definition(
    connection: Connection, store: Store, record: WorkflowRecord
) -> Definition | None:
    """Return a workflow's definition; read a document through `connection`."""
    found = cached(record)
    signature = record.definition_signature
    if found is not None or signature is None:
        return found
    name = record.type.partition(BRANCH)[0]
    stored = store.definitions.with_signature(connection, name, signature)
    return None if stored is None else compiled(stored, record.type)


def require_definition(store: Store, record: WorkflowRecord) -> Definition:
    definition = definition_of(store, record)
    if definition is None:
        raise UnknownWorkflowClass(record.type)
    return definition


def require_startable(store: Store, name: str, version: str | None = None) -> Definition:
    """Return the definition of the class or document that starts workflows under this name.

    Without `version`, that is the current version of a document. Raises an `InvalidStateError` if
    the document is disabled.
    """
    known = None if name in RESERVED_TYPES or version is not None else registry.definition_for(name)
    if known is not None:
        return known
    stored = store.read(
        lambda connection: (
            store.definitions.current(connection, name)
            if version is None
            else store.definitions.version(connection, name, version)
        )
    )
    if stored is None:
        raise DefinitionNotFound(name, version)
    if not stored.is_enabled:
        raise InvalidStateError(
            f"Workflow {name!r} is disabled. Enable it with drive.definitions.enable({name!r})."
        )
    definition = compiled(stored)
    if definition is None:
        raise DefinitionNotFound(name, stored.version)
    return definition


def compiled(stored: DefinitionRecord, type_name: str | None = None) -> Definition | None:
    """Return the definition of a stored document or one of its branches; None if unreadable."""
    key = type_name or stored.name, stored.signature
    found = _cache.get(key)
    if found is not None:
        return found
    from pydantic import ValidationError

    from geneva_drive.declarative.document import Document

    try:
        document = Document.model_validate(json.loads(stored.document))
    except ValidationError as error:
        logger.warning(
            "Version %s of document %r cannot be read by this version of GenevaDrive: %s",
            *(stored.version, stored.name, error),
        )
        return None
    return _compile_cached(document, stored.signature, key[0])


def branch_of(definition: DocumentDefinition, first_step: str) -> Definition:
    """Return the definition of a branch of the same document and version."""
    from geneva_drive.declarative.runtime.compiler import branch_type

    type_name = branch_type(definition.document, first_step)
    found = _cache.get((type_name, definition.signature))
    return found or _compile_cached(definition.document, definition.signature, type_name)


def _compile_cached(document: Document, signature: str, type_name: str) -> Definition:
    from geneva_drive.declarative.runtime.compiler import compile_document

    definition = compile_document(document, signature, type_name)
    with _cache_lock:
        _cache[type_name, signature] = definition
        while len(_cache) > _MAX_CACHED:
            _cache.popitem(last=False)
    return definition
