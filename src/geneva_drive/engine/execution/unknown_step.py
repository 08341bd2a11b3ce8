"""Decide about executions of a step that this worker's code does not have."""

from __future__ import annotations

import logging
from datetime import timedelta

from geneva_drive.declarative.actions.registry import registered
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.dynamic.dynamic_workflow import signature_of
from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import (
    ErrorDetails,
    HandedOver,
    Raised,
    Reaction,
    StepOutcome,
)
from geneva_drive.errors import MissingJob, StepVanished, UnknownAction
from geneva_drive.states import DeadLetterReason
from geneva_drive.storage.schema.records import GraphNodeRecord

logger = logging.getLogger(__name__)

DEPLOY_GRACE = timedelta(minutes=10)  # how long the execution is left to workers with other code
DEPLOY_REST = timedelta(seconds=2)  # the delay between two claims


def outcome(environment: Environment, claimed: Claimed, definition: Definition) -> StepOutcome:
    """Leave the execution to workers with other code, or fail it if there are none."""
    execution, stored = claimed.execution, claimed.stored
    now = environment.clock.now()
    # A node of a large graph may be due long before it is claimed, so the grace period begins with
    # the workflow's last change.
    since = max(execution.scheduled_for, claimed.workflow.updated_at)
    if now < since + DEPLOY_GRACE and _may_others_know(environment, claimed, definition):
        logger.debug(
            "This worker's code has no step %r, the next one of workflow %s; it is left to workers "
            "with other code",
            execution.step_name,
            claimed.workflow.id,
        )
        return HandedOver(now + DEPLOY_REST)
    reaction = Reaction(action=ExceptionAction.PAUSE)
    if stored is not None and stored.job is not None:
        missing = _missing_job(environment, claimed, stored, stored.job)
        dead_letter = DeadLetterReason.MISSING_JOB
        return Raised(ErrorDetails.of(missing), reaction, dead_letter=dead_letter)
    vanished = StepVanished(definition.type, execution.step_name, definition.step_names)
    return Raised(ErrorDetails.of(vanished), reaction)


def left_to_others(
    environment: Environment, claimed: Claimed, error: BaseException
) -> HandedOver | None:
    """Leave a step with an unknown action to workers with other code; None if there are none.

    None too if `error` is about something else.
    """
    if not isinstance(error, UnknownAction):
        return None
    execution, now = claimed.execution, environment.clock.now()
    since = max(execution.scheduled_for, claimed.workflow.updated_at)
    own = ", ".join(registered())
    store, lease = environment.store, environment.settings.lease
    workers = store.read(lambda connection: store.workers.all(connection, lease))
    is_deploying = any(
        worker.signatures.get(DOCUMENT_LANE, own) != own
        for worker in workers
        if worker.heard_within_lease
    )
    if is_deploying and now < since + DEPLOY_GRACE:
        return HandedOver(now + DEPLOY_REST)
    return None


def _missing_job(
    environment: Environment, claimed: Claimed, stored: GraphNodeRecord, job: str
) -> MissingJob:
    store = environment.store
    graph = store.read(lambda connection: store.graphs.get(connection, stored.workflow_id))
    return MissingJob(
        workflow_id=stored.workflow_id,
        node_name=stored.name,
        node_id=stored.node_id,
        job=job,
        frozen_at=graph.frozen_at if graph else claimed.workflow.created_at,
    )


def _may_others_know(environment: Environment, claimed: Claimed, definition: Definition) -> bool:
    # A process without any job has not imported the module of this node's job.
    if claimed.stored is not None and claimed.stored.job is not None:
        return not jobs.names() or _is_deploying(environment, definition)
    is_other = claimed.execution.signature != definition.signature
    return is_other and _is_deploying(environment, definition)


def _is_deploying(environment: Environment, definition: Definition) -> bool:
    """True if a live worker has other code for this class."""
    store = environment.store
    lease = environment.settings.lease
    workers = store.read(lambda connection: store.workers.all(connection, lease))
    own = signature_of(definition)
    return any(
        worker.signatures.get(definition.type, own) != own
        for worker in workers
        if worker.heard_within_lease
    )
