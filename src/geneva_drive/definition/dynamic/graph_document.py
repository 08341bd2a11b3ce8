"""The parser of stored graphs that may have been edited by hand; it reports every fault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from geneva_drive.checks import text_fault
from geneva_drive.definition.compiler.graph import find_cycle
from geneva_drive.definition.dynamic import stored_batch
from geneva_drive.definition.dynamic.stored_node import NO_ARGS, StoredArgs, StoredNode
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.display import shown
from geneva_drive.errors import Fault, NotFound, StepConfigurationError
from geneva_drive.serialization import typed_json

VERSION = 1

_KEYS = {"version", "signature", "frozen_at", "nodes"}
_NODE_KEYS = {
    "name",
    "job",
    "args",
    "keep_result",
    "part",
    "checkpoint_interval",
    "depends_on",
}
_PARTS = {str(part): part for part in stored_batch.PASSED}
_MAX_TOLD = 20
_TAG = '"$type"'  # marks a value of a type that JSON lacks

# Raised while decoding a value that does not fit its type, or text that is not JSON.
_ILL_FORMED = (
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)

_write = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_plain_key = re.compile(r"\w+").fullmatch


def read(document: str | Mapping[str, Any]) -> tuple[dict[str, StoredNode], datetime]:
    """Return the nodes of a document by id, and the time at which they were frozen."""
    reader = _Reader()
    nodes, frozen_at = reader.read(document)
    if reader.faults or frozen_at is None:
        raise StepConfigurationError(_words(reader.faults), faults=reader.faults)
    return nodes, frozen_at


class _Reader:
    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._id_of: dict[str, str] = {}  # by name

    def read(
        self, document: str | Mapping[str, Any]
    ) -> tuple[dict[str, StoredNode], datetime | None]:
        found = self._parsed(document) if isinstance(document, str) else document
        if self.faults:
            return {}, None
        if not isinstance(found, Mapping):
            self._add("$", f"A stored graph is a JSON object, not {_kind(found)}.")
            return {}, None
        self._refuse_unknown("$", found, _KEYS)
        if found.get("version") != VERSION or found["version"] is True:
            self._add("$.version", f"The version is {VERSION}, not {shown(found.get('version'))}.")
        if not isinstance(found.get("signature", ""), str):
            self._add("$.signature", f"A signature is text, not {_kind(found['signature'])}.")
        return self._nodes(found.get("nodes")), self._moment(found.get("frozen_at"))

    def _parsed(self, text: str) -> Any:
        try:
            found = _parse(text, None)
            if _may_repeat_keys(text, found):
                found = _parse(text, self._refuse_repeated_keys)
        except RecursionError:
            self._add("$", "The text is nested too deeply.")
        except ValueError as error:
            self._add("$", f"The text is not JSON: {typed_json.words_of(error)}.")
        else:
            return found
        return None

    def _refuse_repeated_keys(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            self._add("$", f"The key {shown(repeated)} appears twice in one object.")
        return found

    def _moment(self, given: object) -> datetime | None:
        try:
            moment = datetime.fromisoformat(given)  # type: ignore[arg-type]  # a TypeError is caught below
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            pass
        self._add(
            "$.frozen_at",
            f"frozen_at is a moment with its zone, such as '2024-01-15T10:30:00Z', not "
            f"{shown(given)}.",
        )
        return None

    def _nodes(self, found: object) -> dict[str, StoredNode]:
        if not isinstance(found, Mapping):
            self._add("$.nodes", f"The nodes are a JSON object by their ids, not {_kind(found)}.")
            return {}
        nodes: dict[str, StoredNode] = {}
        for node_id, node in found.items():
            if fault := text_fault(node_id, MAX_NAME_LENGTH):
                self._add(_path(node_id), f"A node's id {fault}.")
            elif not isinstance(node, dict):
                self._add(_path(node_id), f"A node is a JSON object, not {_kind(node)}.")
            else:
                nodes[node_id] = self._node(node_id, node, found)
        self._refuse_cycles(nodes)
        for node_id, key, fault in stored_batch.faults(nodes):
            self._add(_path(node_id, f".{key}"), fault)
        return nodes

    def _node(self, node_id: str, node: dict[str, Any], known: Mapping[str, Any]) -> StoredNode:
        if not node.keys() <= _NODE_KEYS:
            self._refuse_unknown(_path(node_id), node, _NODE_KEYS)
        name: Any = node.get("name")
        if fault := text_fault(name, MAX_NAME_LENGTH):
            self._add(_path(node_id, ".name"), f"A node's name {fault}.")
        elif self._id_of.setdefault(name, node_id) != node_id:
            self._add(
                _path(node_id, ".name"),
                f"{name!r} is the name of node {self._id_of[name]!r} as well.",
            )
        elif name in known and name != node_id:
            self._add(_path(node_id, ".name"), f"{name!r} is the id of another node.")
        job = node.get("job")
        if "job" in node and (fault := text_fault(job)):
            self._add(
                _path(node_id, ".job"),
                f"A job's name {fault}. Leave job out of a node without one.",
            )
        return StoredNode(
            node_id,
            name,
            job,
            self._args(node_id, node),
            self._depends_on(node_id, node.get("depends_on"), known),
            self._keep_result(node_id, node),
            *self._part(node_id, node),
        )

    def _part(self, node_id: str, node: dict[str, Any]) -> tuple[NodeKind | None, int | None]:
        """Return the node's part in a batch, and its checkpoint interval if it is the worker."""
        part, interval = node.get("part"), node.get("checkpoint_interval")
        if part is not None and (not isinstance(part, str) or part not in _PARTS):
            fault = f"part is 'worker' or 'aggregate' of a batch, not {shown(part)}."
            self._add(_path(node_id, ".part"), fault)
            return None, None
        if part is not None and "job" not in node:
            self._add(_path(node_id, ".part"), f"A node that is the {part} of a batch has a job.")
        if interval is not None and (type(interval) is not int or interval < 1):
            fault = f"checkpoint_interval is a whole number from 1 up, not {shown(interval)}."
        elif interval is not None and part != NodeKind.WORKER:
            fault = "Only the worker of a batch has a checkpoint interval."
        else:
            return _PARTS.get(part or ""), interval
        self._add(_path(node_id, ".checkpoint_interval"), fault)
        return _PARTS.get(part or ""), None

    def _keep_result(self, node_id: str, node: dict[str, Any]) -> bool:
        given = node.get("keep_result", False)
        if not isinstance(given, bool):
            fault = f"keep_result is true or false, not {_kind(given)}."
        elif given and "job" not in node:
            fault = "A node without a job has no result to keep."
        else:
            return given
        self._add(_path(node_id, ".keep_result"), fault)
        return False

    def _args(self, node_id: str, node: dict[str, Any]) -> StoredArgs:
        if "args" not in node:
            return NO_ARGS
        args = node["args"]
        if not isinstance(args, dict):
            self._add(_path(node_id, ".args"), f"args is a JSON object, not {_kind(args)}.")
        elif args and "job" not in node:
            self._add(_path(node_id, ".args"), "A node without a job takes no args.")
        elif args:
            return self._stored(node_id, args)
        return NO_ARGS

    def _stored(self, node_id: str, args: dict[str, Any]) -> StoredArgs:
        try:
            text = _write(args)
            if _TAG in text:
                _check_typed(text)
        except _ILL_FORMED as error:
            self._add(
                _path(node_id, ".args"),
                f"The args are not in the form that is stored: {typed_json.words_of(error)}.",
            )
            return NO_ARGS
        return StoredArgs(text)

    def _depends_on(self, node_id: str, given: object, known: Mapping[str, Any]) -> tuple[str, ...]:
        if not isinstance(given, list):
            self._add(
                _path(node_id, ".depends_on"),
                f"depends_on is a list of ids, [] for an entry point, not {_kind(given)}.",
            )
            return ()
        if not given:
            return ()
        try:
            parents = dict.fromkeys(given)
        except TypeError:  # an id is hashable
            parents = {}
        is_sound = len(parents) == len(given) and node_id not in parents
        if is_sound and parents.keys() <= known.keys():
            return tuple(given)
        self._refuse_parents(node_id, given, known)
        return ()

    def _refuse_parents(self, node_id: str, given: list[Any], known: Mapping[str, Any]) -> None:
        seen: set[str] = set()
        for place, parent in enumerate(given):
            if not isinstance(parent, str) or parent not in known:
                fault = f"There is no node with the id {shown(parent)}{self._hint(parent)}."
            elif parent == node_id:
                fault = f"The node {node_id!r} cannot depend on itself."
            elif parent in seen:
                fault = f"{shown(parent)} appears twice in this list."
            else:
                seen.add(parent)
                continue
            self._add(_path(node_id, f".depends_on[{place}]"), fault)

    def _hint(self, parent: object) -> str:
        named = self._id_of.get(parent) if isinstance(parent, str) else None
        return f": that is the name of {named!r}" if named else ""

    def _refuse_cycles(self, nodes: Mapping[str, StoredNode]) -> None:
        edges: dict[str, Sequence[str]] = {id_: node.depends_on for id_, node in nodes.items()}
        if self.faults:  # `nodes` is then incomplete
            edges = {id_: [each for each in found if each in nodes] for id_, found in edges.items()}
        cycle = find_cycle(edges)
        if cycle:
            self._add(
                _path(cycle[0], ".depends_on"),
                f"Nodes wait for each other: {' -> '.join(cycle)}. Remove one of these "
                f"dependencies.",
            )

    def _refuse_unknown(self, path: str, found: Mapping[str, Any], keys: set[str]) -> None:
        for key in found:
            if key not in keys:
                self._add(
                    f"{path}{_key(key)}",
                    f"There is no key {shown(key)} here. The keys are: {', '.join(sorted(keys))}.",
                )

    def _add(self, path: str, message: str) -> None:
        self.faults.append(Fault(path, message))


def _parse(text: str, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None) -> Any:
    return json.loads(text, object_pairs_hook=hook, parse_constant=_refuse_constant)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"there is no {constant} in it")


def _may_repeat_keys(text: str, found: Any) -> bool:
    """True if the text has more node keys than were parsed.

    JSON keeps the last of two equal keys, so a node copied together with its id would be lost
    silently.
    """
    nodes = found.get("nodes") if isinstance(found, dict) else None
    if not isinstance(nodes, dict):
        return True
    shaped = [node for node in nodes.values() if isinstance(node, dict)]
    return any(text.count(f'"{key}"') > sum(key in node for node in shaped) for key in _NODE_KEYS)


def _check_typed(text: str) -> None:
    try:
        values: object = typed_json.load(text)
    except NotFound:
        return  # the type may be registered only in workers
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ValueError("they are not a dictionary with text as keys")


def _path(node_id: object, rest: str = "") -> str:
    return f"$.nodes{_key(node_id)}{rest}"


def _key(key: object) -> str:
    return f".{key}" if isinstance(key, str) and _plain_key(key) else f"[{shown(key)}]"


def _kind(found: object) -> str:
    match found:
        case None:
            return "null"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return shown(found)


def _words(faults: Sequence[Fault]) -> str:
    told = [f"{fault.path}: {fault.message}" for fault in faults[:_MAX_TOLD]]
    more = len(faults) - len(told)
    return f"The stored graph has faults. {' '.join(told)}{f' And {more} more.' if more else ''}"
