"""Callbacks: addresses that an outside service calls once.

A callback is stored as an event that only its own step can hear, so it may arrive before or after
the step begins to wait, as with any event.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.approvals.decision_links import hash_of
from geneva_drive.errors import InvalidInput, InvalidStateError, NotFound
from geneva_drive.states import ENDED_WORKFLOW_STATES, is_done
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.waits.callbacks import CallbackRecord

SOURCE = "callback"
_TOKEN_BYTES = 32


def create_url(
    environment: Environment, definition: Definition, workflow_id: Key, step: object
) -> str:
    """Return a new address for a step; only the hash of its token is stored."""
    node = definition.require(step)
    if node.kind is not NodeKind.CALLBACK:
        raise InvalidInput(
            f"callback_url() takes a step that waits for a callback, and {node.name!r} is "
            f"{node.kind.a_noun}. Declare it with @gd.wait_for_callback()."
        )
    address = environment.settings.public_url
    if address is None:
        raise InvalidInput(
            "callback_url() needs the setting public_url, the address under which services reach "
            "this installation, such as 'https://shop.example/geneva'."
        )
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    store = environment.store
    values = {
        "workflow_id": workflow_id,
        "step_name": node.name,
        "token_hash": hash_of(token),
        "created_at": environment.clock.now(),
    }
    store.write(lambda connection: store.callbacks.add(connection, values))
    return f"{address}/callbacks/{token}"


def find(environment: Environment, token: str) -> tuple[CallbackRecord, InvalidStateError | None]:
    """Return the callback of a token, and the error if its step no longer waits for it."""
    store = environment.store

    def look(connection: Connection) -> tuple[CallbackRecord, InvalidStateError | None]:
        found = store.callbacks.find(connection, hash_of(token))
        if found is None:
            raise NotFound("There is no such callback. Was its address copied whole?")
        workflow = store.workflows.get(connection, found.workflow_id)
        latest = store.attempts.latest(connection, [(found.workflow_id, found.step_name)])
        is_over = workflow is None or workflow.state in ENDED_WORKFLOW_STATES
        if is_over or any(is_done(one.state, one.outcome) for one in latest):
            return found, InvalidStateError(
                f"Step {found.step_name!r} of workflow {found.workflow_id} no longer waits for "
                f"this callback: it ended without it."
            )
        return found, None

    return store.read(look)
