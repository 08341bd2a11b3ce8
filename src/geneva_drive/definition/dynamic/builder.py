"""Dynamic workflows: graphs built in code, from data."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

from geneva_drive import checks
from geneva_drive.definition import drive_lookup
from geneva_drive.definition.batches import Batches
from geneva_drive.definition.dynamic import node_arguments, stored_batch
from geneva_drive.definition.dynamic.jobs import Job
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB, CHILD_JOB
from geneva_drive.definition.dynamic.stored_graph import StoredGraph
from geneva_drive.definition.dynamic.stored_node import StoredArgs, StoredNode
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.expansion import BatchTerms
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, InvalidStateError

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import JoinedTransaction

T = TypeVar("T")


class NodeBefore:
    """The default of `depends_on`: the node added before. None makes an entry point."""

    def __repr__(self) -> str:
        return "<the node before>"


NODE_BEFORE: Final = NodeBefore()

DependsOn = str | Sequence[str] | None | NodeBefore


class DynamicWorkflow:
    """Build the graph of one workflow in code, and start it.

    Its nodes call jobs, functions decorated with `@gd.job`. `depends_on` takes names, or the ids
    that `node` and `fan_out` return; `None` or `[]` makes an entry point. Without `depends_on`, a
    node depends on the node or `fan_out` before it. `start` freezes the graph in the database:
    later code may change what its jobs do, but not its nodes.

    >>> import geneva_drive as gd
    >>> w = gd.DynamicWorkflow()
    >>> mutations = w.fan_out(
    ...     [7, 8, 9],
    ...     name="mutation_{}",
    ...     job="ledger.process_mutation",
    ...     args=lambda mutation_id: {"mutation_id": mutation_id},
    ... )
    >>> aggregate = w.node("aggregate", job="ledger.aggregate", depends_on=mutations)
    >>> notify = w.node("notify", job="ledger.notify", args={"user_id": 1})
    >>> [node.name for node in w.nodes.values()]
    ['mutation_7', 'mutation_8', 'mutation_9', 'aggregate', 'notify']
    >>> w.nodes[notify].depends_on == (aggregate,)
    True
    """

    def __init__(
        self,
        hero: object = None,
        *,
        context: Mapping[str, Any] | None = None,
        queue: str | None = None,
        priority: int | None = None,
        idempotency_key: str | None = None,
        drive: Drive | None = None,
    ) -> None:
        self.hero = hero
        self.context = context
        self.queue = queue
        self.priority = priority
        self.idempotency_key = idempotency_key
        self.template_name: str | None = None
        self._drive = drive if drive is None else drive_lookup.require("drive", drive)
        self._nodes: dict[str, StoredNode] = {}
        self._id_of: dict[str, str] = {}  # by name
        self._last: tuple[str, ...] = ()
        self._heroes: dict[str, object] = {}  # of child workflows, by node id
        self._aggregates: dict[str, str] = {}  # by the ids and names of the batch's other nodes
        self._is_started = False

    @property
    def nodes(self) -> Mapping[str, StoredNode]:
        """The nodes by id, in the order in which they were added."""
        return MappingProxyType(self._nodes)

    def node(
        self,
        name: str,
        *,
        job: Job[..., Any] | str | None = None,
        args: Mapping[str, Any] | None = None,
        keep_result: bool = False,
        depends_on: DependsOn = NODE_BEFORE,
    ) -> str:
        """Add a node that calls a job with `args`, and return its id.

        `job` may be a name, for a job that only the workers import. A node without a job does
        nothing; branches can join there. With `keep_result`, the result of the job is stored, and
        `workflow.result_of(name)` reads it.
        """
        self._refuse_if_started()
        written = node_arguments.written_args(name, args)
        if job is None and args:
            raise InvalidInput(
                f"Node {shown(name)} has args but no job to take them. Give it a job."
            )
        if checks.flag(f"Node {shown(name)}: keep_result", keep_result) and job is None:
            raise InvalidInput(f"Node {shown(name)} has no job, and so no result. Give it a job.")
        job_name = None if job is None else node_arguments.job_name(f"Node {shown(name)}", job)
        parents = self._parents(f"Node {shown(name)}", depends_on)
        self._check_name(name)
        node_arguments.check_call(name, job, args or {})
        self._last = (self._add(name, job_name, written, parents, keep_result),)
        return self._last[0]

    def fan_out(
        self,
        items: Iterable[T],
        *,
        name: str | Callable[[T], str],
        job: Job[..., Any] | str,
        args: Mapping[str, Any] | Callable[[T], Mapping[str, Any]] | None = None,
        keep_result: bool = False,
        depends_on: DependsOn = NODE_BEFORE,
    ) -> list[str]:
        """Add a node for each item and return their ids. The nodes may run in parallel.

        `name` is a function of the item, or a format such as `"mutation_{}"`. `args` is a function
        of the item, or the same for all. The next node depends on all of these nodes. Without
        items, the next node depends on what this call's `depends_on` names; if it is given the
        empty list that this call returned, it becomes an entry point. With `keep_result`, the job's
        result for each item is stored; a node after these reads all of them with
        `workflow.results_of()`.

        If one item raises an error, no node is added.
        """
        self._refuse_if_started()
        checks.flag("fan_out: keep_result", keep_result)
        job_name = node_arguments.job_name("fan_out", job)
        parents = self._parents("fan_out", depends_on)
        name_of = node_arguments.naming(name)
        planned: dict[str, StoredArgs] = {}
        checked: set[tuple[str, ...]] = set()
        if not isinstance(items, Iterable):
            raise InvalidInput(f"fan_out takes an iterable of items, got {shown(items)}.")
        for item in items:
            item_name = name_of(item)
            self._check_name(item_name, planned)
            item_args = args(item) if callable(args) else args
            planned[item_name] = node_arguments.written_args(item_name, item_args)
            given = tuple(item_args or ())
            if given not in checked:
                node_arguments.check_call(item_name, job, item_args or {})
                checked.add(given)
        ids = [
            self._add(each, job_name, written, parents, keep_result)
            for each, written in planned.items()
        ]
        self._last = tuple(ids) or parents
        return ids

    def workflow(
        self,
        name: str,
        workflow_class: type[Workflow[Any, Any]] | str,
        *,
        hero: object = None,
        context: Mapping[str, Any] | None = None,
        detached: bool = False,
        depends_on: DependsOn = NODE_BEFORE,
    ) -> str:
        """Add a node that creates a child workflow and waits for its end; return the node's id.

        Name a class that is not imported here by its type. Canceling the parent cancels the child,
        unless it is `detached`.
        """
        self._refuse_if_started()
        reference = hero if isinstance(hero, HeroRef) else None
        args = node_arguments.child_args(name, workflow_class, reference, context, detached)
        parents = self._parents(f"Node {shown(name)}", depends_on)
        self._check_name(name)
        node_id = self._add(name, CHILD_JOB, args, parents)
        if hero is not reference:
            self._heroes[node_id] = hero
        self._last = (node_id,)
        return node_id

    def batch(
        self,
        name: str,
        batches: Batches,
        *,
        worker: Job[..., Any] | str,
        aggregate: Job[..., Any] | str,
        worker_args: Mapping[str, Any] | None = None,
        aggregate_args: Mapping[str, Any] | None = None,
        depends_on: DependsOn = NODE_BEFORE,
        **options: Unpack[BatchTerms],
    ) -> str:
        """Add a batch: `worker` runs for each range, then `aggregate`. Return the aggregate's id.

        Beside the arguments given here, the worker gets `batch` (a `gd.Batch`) and the aggregate
        `results` (a `gd.BatchResults`); their results are always stored. The options are
        `parallelism`, `failure_strategy`, `tolerate` and `checkpoint_interval`, as in `@gd.batch`.
        The ranges are stored with the graph, so `gd.Batches.over` and `gd.Batches.csv` cannot be
        used here.

        A batch `rows` has three nodes: `rows` divides the work, `rows.worker` represents the
        workers `rows_001`, `rows_002` and so on, and `rows.aggregate` comes last. A node that
        depends on `rows` waits for all of it.

        >>> import geneva_drive as gd
        >>> w = gd.DynamicWorkflow()
        >>> rows = w.batch(
        ...     "rows",
        ...     gd.Batches.split(total=10_000, batch_size=2_000),
        ...     worker="ledger.import_rows",
        ...     aggregate="ledger.summarize",
        ...     parallelism=4,
        ... )
        >>> notify = w.node("notify", job="ledger.notify", depends_on="rows")
        >>> [node.name for node in w.nodes.values()]
        ['rows', 'rows.worker', 'rows.aggregate', 'notify']
        """
        self._refuse_if_started()
        self._check_batch_name(name)
        terms = stored_batch.parse_terms(name, options)
        args = stored_batch.written_args(name, batches, terms)
        parents = self._parents(f"Batch {shown(name)}", depends_on)
        working = self._batch_part(name, NodeKind.WORKER, worker, worker_args)
        working = replace(working, checkpoint_interval=terms.checkpoint_interval)
        summing = self._batch_part(name, NodeKind.AGGREGATE, aggregate, aggregate_args)
        batch_id = self._add(name, BATCH_JOB, args, parents)
        self._insert(replace(working, id=working.name, depends_on=(batch_id,)))
        last = self._insert(replace(summing, id=self._new_id(), depends_on=(working.name,)))
        self._aggregates |= dict.fromkeys((name, batch_id, working.name), last)
        self._last = (last,)
        return last

    def freeze(
        self, now: datetime, reference_to: Callable[[object], HeroRef | None] | None = None
    ) -> StoredGraph:
        """Return the graph to store; `reference_to` turns the hero of a child into a reference."""
        nodes = dict(self._nodes)
        for node_id, hero in self._heroes.items():
            node = nodes[node_id]
            if reference_to is None:
                raise InvalidInput(
                    f"The hero of node {node.name!r} has no name before the workflow is started: "
                    f"{shown(hero)}. Pass a gd.HeroRef."
                )
            nodes[node_id] = replace(
                node, args=node_arguments.with_hero(node.args, reference_to(hero))
            )
        return StoredGraph.freeze(nodes, now)

    def start(self, session: JoinedTransaction | None = None) -> WorkflowHandle[Any]:
        """Store the graph and schedule its entry points, in one transaction.

        With `session`, it is the caller's transaction. A repeated `idempotency_key` returns the
        workflow of the first call. A workflow without nodes finishes immediately.
        """
        self._refuse_if_started()
        drive = self._drive or drive_lookup.default_drive()
        handle: WorkflowHandle[Any] = drive.start_dynamic(self, session=session)
        self._is_started = True
        return handle

    def _add(
        self,
        name: str,
        job: str | None,
        args: StoredArgs,
        parents: tuple[str, ...],
        keep_result: bool = False,
    ) -> str:
        return self._insert(StoredNode(self._new_id(), name, job, args, parents, keep_result))

    def _insert(self, node: StoredNode) -> str:
        self._nodes[node.id] = node
        self._id_of[node.name] = node.id
        return node.id

    def _new_id(self) -> str:
        node_id = f"n_{secrets.token_hex(4)}"
        while node_id in self._nodes or node_id in self._id_of:
            node_id = f"n_{secrets.token_hex(4)}"
        return node_id

    def _batch_part(
        self, batch: str, part: NodeKind, job: object, args: Mapping[str, Any] | None
    ) -> StoredNode:
        """Return the worker or the aggregate of a batch, without id and edges."""
        name = stored_batch.part_name(batch, part)
        written = node_arguments.written_args(name, args)
        job_name = node_arguments.job_name(f"Node {shown(name)}", job)
        self._check_name(name)
        stored_batch.check_call(name, part, job, args or {})
        return StoredNode("", name, job_name, written, part=part)

    def _check_batch_name(self, name: str) -> None:
        self._check_name(name)
        for known in self._id_of:
            if stored_batch.stem_in(known) == name:
                raise InvalidInput(
                    f"Batch {shown(name)}: its workers are named {name}_001 and so on, and there "
                    f"is a node {known!r}. Choose another name."
                )

    def _check_name(self, name: str, planned: Container[str] = ()) -> None:
        checks.text("A node's name", name, longest=MAX_NAME_LENGTH)
        if name in self._id_of:
            first = self._nodes[self._id_of[name]]
            raise InvalidInput(
                f"A node named {shown(name)} was added already: {first.id}, with the job "
                f"{first.job!r}. Names are unique within a workflow; choose another."
            )
        if name in planned:
            raise InvalidInput(
                f"fan_out names two items {shown(name)}. Names are unique within a workflow; give "
                f"each item its own name."
            )
        if name in self._nodes:
            raise InvalidInput(
                f"{shown(name)} is the id of node {self._nodes[name].name!r}. Choose another name."
            )
        if self._aggregates and stored_batch.stem_in(name) in self._aggregates:
            raise InvalidInput(
                f"{shown(name)} is the name of a worker of batch {stored_batch.stem_in(name)!r}. "
                f"Choose another name."
            )

    def _parents(self, thing: str, depends_on: object) -> tuple[str, ...]:
        if isinstance(depends_on, NodeBefore):
            return self._last
        if depends_on is None:
            return ()
        given = [depends_on] if isinstance(depends_on, str) else depends_on
        if not isinstance(given, Iterable):
            raise InvalidInput(
                f"{thing}: depends_on takes an id, a name, a list of these or None, not "
                f"{shown(depends_on)}."
            )
        return tuple(dict.fromkeys(self._id(thing, reference) for reference in given))

    def _id(self, thing: str, reference: object) -> str:
        if not isinstance(reference, str):
            raise InvalidInput(
                f"{thing}: depends_on takes ids and names, not {shown(reference)}. Write "
                f"*ids for a list within a list."
            )
        if reference in self._aggregates:
            return self._aggregates[reference]
        if reference in self._nodes:
            return reference
        if reference in self._id_of:
            return self._id_of[reference]
        raise InvalidInput(
            f"{thing} depends on {shown(reference)}, and no node of that id or name was added "
            f"before it.{node_arguments.suggestion(reference, self._id_of)}"
        )

    def _refuse_if_started(self) -> None:
        if self._is_started:
            raise InvalidStateError(
                "This workflow has been started; its graph is frozen. Build another "
                "gd.DynamicWorkflow, or, as a last resort, repair the stored graph with "
                "export_dag() and import_dag()."
            )
