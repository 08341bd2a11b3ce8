"""One command for many workflows: a question with the exact count, then the command."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.bulk.bulk import BulkLimits
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import InvalidInput, InvalidStateError, NotPermitted
from geneva_drive.states import Need, WorkflowState
from geneva_drive.storage.schema import keys
from geneva_drive.web.dashboard.pages.failures.resume_pace import limits_in
from geneva_drive.web.dashboard.pages.workflows.url_filters import Address, read_address
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import number, plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive
from geneva_drive.web.security.gate import permissions_of
from geneva_drive.web.security.route_permissions import BULK_PERMISSIONS

router = APIRouter()

BULK = {name: BULK_PERMISSIONS[name] for name in ("resume", "pause", "cancel")}
_MOST_CHOSEN = 100  # by their boxes
_DONE = {"resume": "Resumed", "pause": "Paused", "cancel": "Canceled"}
_DOING = {"resume": "Resuming", "pause": "Pausing", "cancel": "Canceling"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The workflows that were chosen: by their ids, or all that the filters select."""

    command: str
    ids: tuple[str, ...]
    address: Address
    is_all: bool

    @property
    def back(self) -> str:
        return self.address.path()

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The hidden fields of the form, with the filters of the list."""
        pairs = [("command", self.command), *self.address.given.items()]
        if self.is_all:
            return [*pairs, ("all", "yes")]
        return [*pairs, *(("id", one) for one in self.ids)]

    def where(self, drive: Drive) -> dict[str, str]:
        """Return the filters for the Drive, which takes no empty ones."""
        found = self.address.wanted.written
        return found or {"created_before": drive.clock.now().isoformat()}


@dataclass(frozen=True, slots=True)
class BulkQuestion:
    """The question: how many workflows, which, and what will happen."""

    count: int
    running: int  # which run a step now
    left: int  # chosen, but not concerned
    sample: list[WorkflowHandle[Any]]


@router.get("/workflows/bulk")
def ask(request: Request, drive: CurrentDrive) -> Response:
    """Ask before the command is given; the address holds the chosen workflows."""
    params = request.query_params
    if not params:
        return command.redirect(request, "/workflows")
    chosen = _chosen(request, params.get("command", ""), params.getlist("id"), dict(params))
    question = _question(drive, chosen)
    values = {
        "chosen": chosen,
        "question": question,
        "title": f"{chosen.command.capitalize()} {plural(question.count, 'workflow')}?",
        "button_words": f"{chosen.command.capitalize()} {number(question.count)}",
        "sentence": _consequence(chosen, question),
    }
    return render(request, "pages/bulk.html", values, here="workflows")


@router.post("/workflows/bulk")
def give(request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm) -> Response:
    chosen = _chosen(request, form.get("command", ""), form.all("id"), form)
    reason = form.text("reason")
    if chosen.is_all:
        return _give_to_all(request, drive, actor, form, chosen, reason)
    found = _workflows(drive, chosen.ids)
    late: list[str] = []
    done: list[Any] = []

    def act() -> None:
        for one in found:
            try:
                _give(one, chosen.command, reason, actor.id)
                done.append(one.id)
            except InvalidStateError as error:
                late.append(f"{one.id}: {error}")

    return command.run(
        request, form, back=chosen.back, act=act, done=lambda: _answer(chosen, done, late)
    )


def _give_to_all(
    request: Request,
    drive: Drive,
    actor: Actor,
    form: PostedForm,
    chosen: Chosen,
    reason: str | None,
) -> Response:
    started: list[Any] = []

    def act() -> None:
        limits = limits_in(form) if chosen.command == "resume" else BulkLimits()
        where = chosen.where(drive)
        started.append(drive.bulk(chosen.command, where, actor=actor.id, reason=reason, **limits))

    def done() -> FlashMessage:
        return FlashMessage(
            f"{_DOING[chosen.command]} all that match",
            f"This runs on the server as workflow {started[0].id}; you may leave the page.",
            link=f"/workflows?state=all&q={started[0].id}",
            link_words="Watch its progress",
        )

    return command.run(request, form, back=chosen.back, act=act, done=done)


def _chosen(request: Request, name: str, ids: list[str], given: Mapping[str, str]) -> Chosen:
    if name not in BULK:
        raise InvalidInput("The command must be resume, pause or cancel.")
    if BULK[name] not in permissions_of(request):
        raise NotPermitted(f"This needs the permission {BULK[name]}.")
    is_all = given.get("all") == "yes"
    if not is_all and not 0 < len(ids) <= _MOST_CHOSEN:
        raise InvalidInput(f"Choose from 1 to {_MOST_CHOSEN} workflows, or all that match.")
    return Chosen(name, tuple(dict.fromkeys(ids)), read_address(given), is_all)


def _question(drive: Drive, chosen: Chosen) -> BulkQuestion:
    if chosen.is_all:
        where = chosen.where(drive)
        found = drive.bulk(chosen.command, where, dry_run=True)
        running = 0
        if chosen.command == "pause" and "state" not in where:
            only = {**where, "state": str(WorkflowState.PERFORMING)}
            running = drive.bulk(chosen.command, only, dry_run=True).count
        return BulkQuestion(found.count, running, 0, list(found.sample)[:3])
    workflows = _workflows(drive, chosen.ids)
    fitting = [one for one in workflows if may(chosen.command, one)]
    running = sum(one.state is WorkflowState.PERFORMING for one in fitting)
    return BulkQuestion(len(fitting), running, len(workflows) - len(fitting), fitting[:3])


def may(name: str, workflow: WorkflowHandle[Any]) -> bool:
    """True if a bulk command applies to a workflow in its current state."""
    is_held = workflow.needs is Need.OPERATOR
    if name == "resume":
        return is_held
    return workflow.is_ongoing and (name == "cancel" or not is_held)


def _consequence(chosen: Chosen, question: BulkQuestion) -> str:
    match chosen.command:
        case "pause":
            kept = "Scheduled steps keep their times."
            if not question.running:
                return f"All pause at once. {kept}"
            running = f"{number(question.running)} run a step now: they pause when it ends."
            at_once = number(question.count - question.running)
            return f"{running} {at_once} pause at once. {kept}"
        case "resume":
            words = "Each runs its failed step again, or goes on where it was held."
            return words + " Those that fail again come back to an operator."
        case _:
            return "They end now. Steps that are left never run. What has run is not undone."


def _workflows(drive: Drive, ids: tuple[str, ...]) -> list[WorkflowHandle[Any]]:
    store = drive.store
    parsed = []
    for one in ids:
        with suppress(InvalidInput):
            parsed.append(keys.parse(store.key_type, one))
    found = store.read(lambda connection: store.workflows.get_many(connection, parsed))
    return [drive.open_handle(found[key]) for key in parsed if key in found]


def _give(workflow: WorkflowHandle[Any], name: str, reason: str | None, actor: str) -> None:
    match name:
        case "resume":
            workflow.resume(reason=reason, actor=actor)
        case "pause":
            workflow.pause(reason=reason, actor=actor)
        case _:
            workflow.cancel(reason=reason, actor=actor)


def _answer(chosen: Chosen, done: list[Any], late: list[str]) -> FlashMessage:
    title = f"{_DONE[chosen.command]} {plural(len(done), 'workflow')}"
    if not late:
        return FlashMessage(title, "The list shows their current state.")
    words = f"It was too late for {plural(len(late), 'workflow')}, which did not change. "
    return FlashMessage(title, words + " ".join(late[:3]), "late")
