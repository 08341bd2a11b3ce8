"""The class and the nodes of dynamic workflows at run time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, Final

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic import job_options, jobs
from geneva_drive.definition.dynamic.job_options import Scheduling
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB, CHILD_JOB
from geneva_drive.definition.dynamic.stored_batch import StoredBatch
from geneva_drive.definition.dynamic.stored_node import NO_ARGS, StoredArgs
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.definition.nodes.child import Child, ChildStep
from geneva_drive.definition.nodes.declaration import Junction, NodeKind
from geneva_drive.definition.nodes.task import JobTask
from geneva_drive.definition.options.expansion import ExpansionTerms
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.serialization import typed_json

_WHERE = "a stored graph"


class DynamicRun(Workflow[Any, Any]):
    """The `workflow` parameter of a job: hero, context, flow control and kept results."""

    type_name = DYNAMIC_TYPE


DYNAMIC: Final[Definition] = definition_of(DynamicRun)


def signature_of(definition: Definition) -> str:
    """Return a hash of the class in this process; for dynamic workflows, of its jobs."""
    if definition is not DYNAMIC:
        return definition.signature
    return hashlib.sha256("\n".join(jobs.names()).encode()).hexdigest()[:16]


def stored_node(
    name: str,
    job_name: str | None,
    args: str | None,
    own: Scheduling = job_options.UNKNOWN,
    depends_on: tuple[str, ...] = (),
) -> Node | None:
    """Return the node of a stored graph, or None if its job is not in this process."""
    if job_name is None:
        return Node(name=name, where=_WHERE, declared=Junction(name, Options(), _WHERE))
    if job_name == CHILD_JOB:
        return _child(name, args or "{}")
    if job_name == BATCH_JOB:
        batch = StoredBatch(name, StoredArgs(args or "{}"), _WHERE)
        return Node(name=name, where=_WHERE, declared=batch)
    job = jobs.get(job_name)
    if job is None:
        return None
    # Decoded when the body runs, so that an unknown type fails the node like any other error.
    arguments = NO_ARGS if args is None else StoredArgs(args)
    options = replace(job.options, keep_result=True) if own.keeps_result else job.options
    task = JobTask(job, arguments, options, job.where, own.part or NodeKind.TASK)
    if own.checkpoint_interval is not None:
        task.expansion = ExpansionTerms(checkpoint_interval=own.checkpoint_interval)
    return Node(name=name, where=job.where, declared=task, options=options, depends_on=depends_on)


def _child(name: str, text: str) -> Node:
    args = json.loads(text)
    context = json.dumps(args.get("context"))
    hero = HeroRef(args["hero_type"], args["hero_id"]) if args.get("hero_type") else None
    child = Child(
        workflow_class=args["type"],
        hero=hero,
        context=lambda _: typed_json.load(context),
        detached=bool(args.get("detached")),
    )
    return Node(name=name, where=_WHERE, declared=ChildStep(child, Options(), _WHERE))
