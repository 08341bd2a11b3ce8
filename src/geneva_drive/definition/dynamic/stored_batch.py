"""Batches in stored graphs: the node that divides the work, its worker and its aggregate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from geneva_drive.definition.batches import Batches, BatchRange
from geneva_drive.definition.dynamic import node_arguments
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB
from geneva_drive.definition.dynamic.stored_node import StoredArgs, StoredNode
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.options import expansion
from geneva_drive.definition.options.expansion import BatchTerms, ExpansionTerms
from geneva_drive.definition.options.options import Options, refuse_unknown
from geneva_drive.definition.options.tolerate import Tolerate
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.serialization import typed_json

# The parameter that the engine passes to the job of each part of a batch.
PASSED: Final[Mapping[NodeKind, str]] = {NodeKind.WORKER: "batch", NodeKind.AGGREGATE: "results"}

_WORKER_SUFFIX = f".{NodeKind.WORKER}"
_NUMBERED = re.compile(r"(.+)_\d{3,6}")


class StoredBatch(DeclaredNode):
    """A batch of a stored graph; its ranges were known when the graph was built."""

    expansion: ExpansionTerms

    def __init__(self, name: str, args: StoredArgs, where: str) -> None:
        super().__init__(NodeKind.BATCH, name, Options(), where)
        written = json.loads(args.text)
        self.args = args
        self.worker: str = written["worker"]  # the id of its worker node
        self.expansion = _terms(written)

    @property
    def batches(self) -> Batches:
        return read_batches(self.args)


def part_name(batch: str, part: NodeKind) -> str:
    """Return the name of a batch's worker or aggregate; the worker's name is also its id."""
    return f"{batch}.{part}"


def worker_stem(node_id: str) -> str:
    """Return the prefix of the workers' ids: for "rows.worker" it is "rows", as in "rows_001"."""
    return node_id.removesuffix(_WORKER_SUFFIX)


def stem_in(name: str) -> str | None:
    """Return the stem of a name such as "rows_001"; None for names that no worker can have."""
    numbered = _NUMBERED.fullmatch(name)
    return numbered[1] if numbered else None


def parse_terms(name: str, given: Mapping[str, Any]) -> ExpansionTerms:
    """Return the terms of a batch from its keywords."""
    try:
        refuse_unknown(given, BatchTerms.__annotations__)
        return expansion.parse(given)
    except StepConfigurationError as error:
        raise InvalidInput(f"Batch {shown(name)}: {error.what}") from None


def written_args(name: str, batches: object, terms: ExpansionTerms) -> StoredArgs:
    """Return the ranges and terms of a batch as stored text."""
    if not isinstance(batches, Batches):
        raise InvalidInput(
            f"Batch {shown(name)}: batches is {shown(batches)}. Pass a gd.Batches, such as "
            f"gd.Batches.split(total=1_000, batch_size=100)."
        )
    if batches.source is not None:
        raise InvalidInput(
            f"Batch {shown(name)}: a stored graph holds ranges, not a query or file to divide. "
            f"Use @gd.batch in a class for gd.Batches.over() and .csv(), or pass "
            f"gd.Batches.ranges([...])."
        )
    tolerate = terms.tolerate
    limits = {
        limit: getattr(tolerate, limit)
        for limit in Tolerate.__dataclass_fields__
        if getattr(tolerate, limit, None) is not None
    }
    args = {
        "worker": part_name(name, NodeKind.WORKER),
        "ranges": [_written(part) for part in batches.parts],
        "reason": batches.reason,
        "parallelism": terms.parallelism,
        "failure_strategy": terms.failure_strategy.value,
        "tolerate": limits or None,
    }
    text = typed_json.dump({key: value for key, value in args.items() if value is not None})
    return StoredArgs(text)


def _written(part: BatchRange) -> list[Any]:
    bounds = [part.start, part.end]
    return bounds if part.metadata is None else [*bounds, part.metadata]


def read_batches(args: Mapping[str, Any]) -> Batches:
    """Return the ranges of a stored batch."""
    ranges = args["ranges"]
    return Batches.ranges(ranges) if ranges else Batches.none(args.get("reason"))


def _terms(written: Mapping[str, Any]) -> ExpansionTerms:
    tolerate = written.get("tolerate")
    return expansion.parse(
        {
            "parallelism": written.get("parallelism"),
            "failure_strategy": written.get("failure_strategy", "fail_fast"),
            "tolerate": None if tolerate is None else Tolerate(**tolerate),
        }
    )


def check_call(name: str, part: NodeKind, job: object, args: Mapping[str, Any]) -> None:
    """Raise an error if the job of a worker or an aggregate does not accept its arguments."""
    passed = PASSED[part]
    if passed in args:
        raise InvalidInput(
            f"Node {shown(name)}: args has {passed!r}, which the engine passes to the job of "
            f"{part.a_noun}. Give the parameter another name."
        )
    node_arguments.check_call(name, job, {**args, passed: None})


def faults(nodes: Mapping[str, StoredNode]) -> Iterable[tuple[str, str, str]]:
    """Yield the faults of a graph's batches, each as node id, key and message."""
    if all(node.part is None and node.job != BATCH_JOB for node in nodes.values()):
        return
    workers: set[str] = set()
    for node in nodes.values():
        if node.job == BATCH_JOB:
            yield from _faults_of_batch(node, nodes, workers)
    for node in nodes.values():
        for parent in node.depends_on:
            is_worker = nodes[parent].part is NodeKind.WORKER if parent in nodes else False
            if is_worker and node.part is not NodeKind.AGGREGATE:
                fault = f"Only its aggregate depends on {parent!r}. Depend on the aggregate."
                yield node.id, "depends_on", fault
        if node.part is NodeKind.WORKER and node.id not in workers:
            yield node.id, "part", "No batch has this worker."
        if node.part is NodeKind.WORKER and node.name != node.id:
            yield node.id, "name", "The worker of a batch has its id as its name."
        if node.part is NodeKind.AGGREGATE and not _depends_on_worker(node, nodes):
            yield node.id, "depends_on", "An aggregate depends on the worker of its batch alone."
    yield from _faults_of_names(nodes, {worker_stem(worker): worker for worker in workers})


def _faults_of_batch(
    batch: StoredNode, nodes: Mapping[str, StoredNode], workers: set[str]
) -> Iterable[tuple[str, str, str]]:
    try:
        StoredBatch(batch.name, StoredArgs(batch.args_text), "a stored graph")
        read_batches(batch.args)
    except (StepConfigurationError, InvalidInput) as error:
        yield batch.id, "args", str(error)
        return
    except (KeyError, TypeError, ValueError) as error:
        yield batch.id, "args", f"The args of a batch are ill-formed: {typed_json.words_of(error)}."
        return
    worker = nodes.get(str(batch.args["worker"]))
    if worker is None or worker.part is not NodeKind.WORKER or worker.depends_on != (batch.id,):
        yield (
            batch.id,
            "args",
            f"The worker {batch.args['worker']!r} is not a node with part 'worker' that depends on "
            f"this batch alone.",
        )
        return
    workers.add(worker.id)


def _depends_on_worker(node: StoredNode, nodes: Mapping[str, StoredNode]) -> bool:
    parents = [nodes.get(parent) for parent in node.depends_on]
    return len(parents) == 1 and parents[0] is not None and parents[0].part is NodeKind.WORKER


def _faults_of_names(
    nodes: Mapping[str, StoredNode], stems: Mapping[str, str]
) -> Iterable[tuple[str, str, str]]:
    if not stems:
        return
    for node in nodes.values():
        for text in {node.id, node.name}:
            worker = stems.get(stem_in(text) or "")
            if worker is not None:
                yield node.id, "name", f"{text!r} is the id of a worker of {worker!r}."
