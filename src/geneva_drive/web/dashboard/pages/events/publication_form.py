"""The form that publishes an event: its texts, their faults, and the payload they give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from geneva_drive.definition.waits import event_values
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.publication import PublishedEvent
from geneva_drive.errors import InvalidInput, NotFound
from geneva_drive.masked_fields import MASK

SOURCE = "dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationForm:
    """The texts of the fields, and their faults."""

    type: str = ""
    key: str = ""
    payload: str = ""
    source: str = SOURCE
    id: str = ""
    reason: str = ""
    again: str = ""  # the number of the event that is published again
    wait: str = ""  # the id of the workflow that waits for it
    faults: Mapping[str, str] = field(default_factory=dict)  # by field; "" for the whole form

    @property
    def has_hidden(self) -> bool:
        """True if the payload shows masked values, which are published if it is not changed."""
        return self.is_again and MASK in self.payload

    @property
    def is_again(self) -> bool:
        return bool(self.again)


def form_again(event: PublishedEvent) -> PublicationForm:
    """Return the form that publishes an event again, under a new id."""
    return PublicationForm(
        type=event.type,
        key=event.key or "",
        payload=_shown(event),
        again=str(event.number),
    )


def form_for(drive: Drive, form: PublicationForm, workflow_id: str, step: str) -> PublicationForm:
    """Return the form with the type and the key that a workflow waits for."""
    workflow, store = drive.workflows(Workflow).find(workflow_id), drive.store
    waits = store.read(lambda connection: store.event_waits.open_of(connection, workflow.id))
    wait = next((one for one in waits if step in ("", one.step_name)), None)
    if wait is None:
        return replace(form, wait=str(workflow.id))
    types = [pattern for pattern in wait.patterns if not pattern.endswith("*")]
    return replace(
        form,
        type=form.type or next(iter(types), ""),
        key=wait.awaited_key or form.key,
        wait=str(workflow.id),
    )


def read_form(drive: Drive, fields: Mapping[str, str]) -> tuple[PublicationForm, Any]:
    """Return the form that was sent, with its faults, and the payload to publish."""
    form = PublicationForm(
        type=fields.get("type", "").strip(),
        key=fields.get("key", "").strip(),
        payload=fields.get("payload", "").strip(),
        source=fields.get("source", "").strip() or SOURCE,
        id=fields.get("id", "").strip(),
        reason=fields.get("reason", "").strip(),
        again=fields.get("again", "").strip(),
        wait=fields.get("wait", "").strip(),
    )
    faults: dict[str, str] = {}
    payload: Any = None
    try:
        payload = _payload(drive, form)
    except ValueError as error:
        faults["payload"] = f"This is not JSON: {error}."
    if not form.type:
        faults["type"] = "Write the type, such as `payment.received`."
    else:
        _check(faults, "type", lambda: event_values.event_type("The type", form.type))
    if form.key:
        _check(faults, "key", lambda: event_values.key("The key", form.key))
    return replace(form, faults=faults), payload


def _check(faults: dict[str, str], name: str, check: Any) -> None:
    try:
        check()
    except InvalidInput as error:
        faults[name] = str(error)


def _payload(drive: Drive, form: PublicationForm) -> Any:
    if form.again:
        try:
            former = drive.published_event(form.again)
        except NotFound:  # it was removed while the form was open
            return _parsed(form.payload)
        # It was not changed: keep the stored payload, with its types and masked values.
        if _lines(form.payload) == _lines(_shown(former)):
            return former.payload
    return _parsed(form.payload)


def _parsed(text: str) -> Any:
    return json.loads(text) if text else None


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _shown(event: PublishedEvent) -> str:
    if event.payload is None:
        return ""
    return json.dumps(json.loads(event.stored_payload), indent=2, ensure_ascii=False)
