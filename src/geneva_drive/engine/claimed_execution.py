"""An execution that this process has claimed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field, replace

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic import job_options
from geneva_drive.definition.dynamic.dynamic_workflow import DYNAMIC, stored_node
from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.batch_workers import graph_node_id
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import Lost, StepOutcome
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphNodeRecord,
    NodeKey,
    WorkflowRecord,
)
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.value_class import value


@value
class Claimed:
    """An execution under this process's claim, with its workflow as it was when claimed."""

    workflow: WorkflowRecord
    execution: ExecutionRecord
    claim_token: str
    stored: GraphNodeRecord | None = None  # its node, if the graph is stored
    document: Definition | None = None  # None for a class
    chain_length: int = 0
    chained_since: float = field(default_factory=time.monotonic)

    @property
    def definition(self) -> Definition | None:
        return self.document or registry.definition_for(self.workflow.type)

    def node_in(self, definition: Definition) -> Node | None:
        """Return the node to run; None if this process's code lacks it."""
        stored = self.stored
        if stored is not None and (stored.job is not None or definition is DYNAMIC):
            own = job_options.of_row(stored.scheduling)
            # Only the dependencies of the nodes of a batch are needed.
            depends_on = tuple(load_ids(stored.depends_on)) if own.part else ()
            return stored_node(stored.name, stored.job, stored.args, own, depends_on)
        return definition.get(self.execution.step_name)

    def ending(
        self, outcome: StepOutcome, *, may_chain: bool = False, position: LoopPosition | None = None
    ) -> EndedRun:
        return EndedRun(
            workflow_id=self.workflow.id,
            execution_id=self.execution.id,
            claim_token=self.claim_token,
            definition=self.definition,
            outcome=outcome,
            may_chain=may_chain,
            position=position,
            stored=self.stored,
            seen=(self.workflow, self.execution),
        )


def with_stored_nodes(environment: Environment, claimed: Sequence[Claimed]) -> list[Claimed]:
    """Read the nodes of executions in stored graphs that do not have theirs yet."""
    wanted = [_key_of(one) for one in claimed if one.workflow.has_graph and one.stored is None]
    if not wanted:
        return list(claimed)
    store = environment.store
    nodes = store.read_at_once(lambda connection: store.graphs.nodes(connection, wanted))
    return [replace(one, stored=nodes.get(_key_of(one), one.stored)) for one in claimed]


def with_documents(environment: Environment, claimed: Sequence[Claimed]) -> list[Claimed]:
    """Find the document of each execution of a document's workflow."""
    return [_with_document(environment, one) for one in claimed]


def _with_document(environment: Environment, claimed: Claimed) -> Claimed:
    execution = claimed.execution
    if execution.type != DOCUMENT_LANE or claimed.document is not None:
        return claimed
    # The claim does not read this column of the workflow.
    workflow = claimed.workflow._replace(definition_signature=execution.signature)
    document = definition_lookup.definition_of(environment.store, workflow)
    return replace(claimed, workflow=workflow, document=document)


def _key_of(claimed: Claimed) -> NodeKey:
    """Return the key of an execution's stored node; all workers of a batch share one node."""
    return claimed.workflow.id, graph_node_id(claimed.execution)


def unserved(claimed: Claimed, limit: int) -> StepOutcome:
    """Return the outcome of an execution whose class this process lacks, although it claimed it."""
    return Lost(f"No class of type {claimed.workflow.type!r} is imported in the worker.", limit)


def chained_claim(claimed: Claimed, applied: Applied) -> Claimed | None:
    """Return the next execution, if the commit of this one has claimed it."""
    following = applied.chained
    if following is None:
        return None
    return continued(claimed, applied.workflow, following, applied.node_of(following))


def continued(
    claimed: Claimed,
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    stored: GraphNodeRecord | None = None,
) -> Claimed:
    """Return the claim of an execution that the commit of its predecessor has claimed."""
    assert execution.claim_token is not None, "a chained execution is inserted with its claim"
    return Claimed(
        workflow=workflow,
        execution=execution,
        claim_token=execution.claim_token,
        stored=stored,
        document=claimed.document,
        chain_length=claimed.chain_length + 1,
        chained_since=claimed.chained_since,
    )
