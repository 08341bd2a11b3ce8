"""The commands that are offered are those that succeed; each is tried on a workflow of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import GenevaDriveError
from geneva_drive.testing import drain
from tests.deploys import former_code

Handle = gd.WorkflowHandle[Any]


class Chain(gd.Workflow):
    type_name = "TriedChain"

    @gd.step
    def first(self) -> None: ...

    @gd.step
    def broken(self) -> None:
        raise ValueError("no")

    @gd.step
    def last(self) -> None: ...


class Graph(gd.Workflow):
    type_name = "TriedGraph"

    @gd.task
    def left(self) -> None:
        raise ValueError("no")

    @gd.task
    def right(self) -> None:
        if self.context.get("both"):
            raise ValueError("no")

    @gd.step(depends_on=[left, right])
    def join(self) -> None: ...


class Asking(gd.Workflow):
    type_name = "TriedAsking"

    @gd.approval(role="manager", quorum=2)
    def manager(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    @gd.wait_for_event("paid")
    def paid(self, event: object) -> None: ...


class Batch(gd.Workflow):
    type_name = "TriedBatch"

    @gd.batch(failure_strategy="isolate")
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=3, batch_size=1)

    @rows.worker
    def process(self, batch: Any) -> None:
        raise ValueError("no")

    @rows.aggregate
    def summarize(self, results: Any) -> None: ...


@gd.job(name="tried_job")
def tried(fails: bool) -> None:
    """Try it."""
    if fails:
        raise ValueError("no")


def _dynamic(drive: gd.Drive) -> Handle:
    built = gd.DynamicWorkflow()
    first = built.node("first", job=tried, args={"fails": True})
    built.node("second", job=tried, args={"fails": False}, depends_on=first)
    return drive.start_dynamic(built)


def _of(workflow_class: type[gd.Workflow[Any]], **context: Any) -> Callable[[gd.Drive], Handle]:
    return lambda drive: drive.workflows(workflow_class).create(context=context)


DOCUMENT: dict[str, Any] = {
    "workflow_id": "tried_document",
    "version": "1",
    "name": "Tried",
    "context": {"load": ["tried_loader"]},
    "steps": [
        {
            "id": "choose",
            "type": "condition",
            "condition": {"field": "kind", "operator": "exists"},
            "next": "try",
        },
        {"id": "try", "type": "execute", "execute": [{"type": "tried_action"}]},
        {
            "id": "ask",
            "type": "approval",
            "role": "manager",
            "timeout": "1d",
            "on_reject": "refuse",
            "next": "wait",
        },
        {"id": "wait", "type": "wait", "event": "paid", "timeout": "1d", "on_timeout": "refuse"},
        {
            "id": "both",
            "type": "parallel",
            "steps": [{"id": "left", "type": "approval", "role": "manager"}],
        },
        {"id": "rest", "type": "wait", "duration": "1h"},
        {"id": "let", "type": "action", "action": "allow", "name": "Let it pass"},
        {"id": "refuse", "type": "action", "action": "block", "reason": "No"},
    ],
}


@gd.action("tried_action")
def _act(context: dict[str, Any]) -> None:
    if context["kind"] == "broken":
        raise ValueError("no")


@gd.loader("tried_loader")
def _load(context: dict[str, Any]) -> int:
    if context["kind"] == "unloaded":
        raise ValueError("no")
    return 1


def _document(kind: str, *, at: str | None = None) -> Callable[[gd.Drive], Handle]:
    def start(drive: gd.Drive) -> Handle:
        drive.definitions.deploy(DOCUMENT)
        workflow = drive.start("tried_document", context={"kind": kind})
        while at is not None and workflow.next_step_name != at:
            workflow.skip()
        return workflow

    return start


def _paused(workflow: Handle) -> Handle:
    return workflow.pause()


SITUATIONS: dict[str, tuple[Callable[[gd.Drive], Handle], bool, Callable[[Handle], Any] | None]] = {
    "chain, scheduled": (_of(Chain), False, None),
    "chain, held": (_of(Chain), False, _paused),
    "chain, failed": (_of(Chain), True, None),
    "graph, scheduled": (_of(Graph), False, None),
    "graph, one failed": (_of(Graph), True, None),
    "graph, two failed": (_of(Graph, both=True), True, None),
    "approval": (_of(Asking), True, None),
    "approval, held": (_of(Asking), True, _paused),
    "batch, failed": (_of(Batch), True, None),
    "dynamic, scheduled": (_dynamic, False, None),
    "dynamic, failed": (_dynamic, True, None),
    "document, scheduled": (_document("good"), False, None),
    "document, not loaded": (_document("unloaded"), True, None),
    "document, failed": (_document("broken"), True, None),
    "document, approval": (_document("good"), True, None),
    "document, event, held": (_document("good", at="wait"), True, _paused),
    "document, branches": (_document("good", at="both"), True, None),
    "document, at its end": (_document("good", at="let"), False, None),
    "ended": (_of(Chain), False, lambda workflow: workflow.cancel()),
}


def _in(drive: gd.Drive, name: str) -> Handle:
    create, runs, then = SITUATIONS[name]
    workflow = create(drive)
    if runs:
        drain(drive)
    if then is not None:
        then(workflow)
    return workflow.reload()


def _try(workflow: Handle, command: str, node: str | None) -> bool:
    calls: dict[str, Callable[[], Any]] = {
        "resume": workflow.resume,
        "pause": workflow.pause,
        "cancel": workflow.cancel,
        "skip": lambda: workflow.skip(node),
        "resume_at": lambda: workflow.resume_at(node),
        "reattempt": lambda: workflow.reattempt(node),
        "reset_for_retry": lambda: workflow.reset_for_retry(node, actor="ann"),
        "complete_manually": lambda: workflow.complete_manually(node, result=1, actor="ann"),
        "resolve_manually": lambda: workflow.resolve_manually(node, actor="ann"),
    }
    try:
        calls[command]()
    except GenevaDriveError:
        return False
    return True


_OF_WORKFLOW = ("resume", "pause", "cancel")
_OF_NODES = (
    "skip",
    "resume_at",
    "reattempt",
    "reset_for_retry",
    "complete_manually",
    "resolve_manually",
)


@pytest.fixture(autouse=True)
def _none_left(sqlite_drive: gd.Drive) -> Iterator[None]:
    yield
    sqlite_drive.store.write(sqlite_drive.store.empty)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_command_is_offered_if_and_only_if_it_succeeds(name: str, sqlite_drive: gd.Drive) -> None:
    workflow = _in(sqlite_drive, name)
    names = {None: None} | {key: node["name"] for key, node in workflow.dag["nodes"].items()}
    wanted: set[tuple[str, str | None]] = {(command, None) for command in _OF_WORKFLOW}
    wanted |= {(command, node) for command in _OF_NODES for node in names.values() if node}
    offered = {(one.command, names[one.node]) for one in workflow.what_if()} & wanted

    # A command that is refused changes nothing, so that one workflow is enough for these.
    refused = {each for each in wanted - offered if not _try(workflow, *each)}
    succeeded = {each for each in offered if _try(_in(sqlite_drive, name), *each)}

    assert (refused, succeeded) == (wanted - offered, offered)


def test_an_approval_lists_its_own_choices(sqlite_drive: gd.Drive) -> None:
    workflow = _in(sqlite_drive, "approval")
    [approval] = sqlite_drive.approvals.pending()
    approval.approve(by="bob")

    found = [(one.command, one.sentence) for one in approval.what_if(reader="ann")]
    assert found == [
        ("approve", "With your vote, 2 of 2 agree. The workflow will wait for paid."),
        ("reject", "One rejection is enough. Cancels the workflow: it will not wait for paid."),
    ]
    assert [one.command for one in workflow.what_if()][:2] == ["approve", "reject"]


def test_the_choices_of_a_document_lead_to_its_steps(sqlite_drive: gd.Drive) -> None:
    workflow = _in(sqlite_drive, "document, approval")

    found = {one.command: one.sentence for one in workflow.what_if() if one.command != "resume_at"}
    assert found == {
        "approve": "The workflow goes on with 'wait'. Then the document decides what follows.",
        "reject": "The workflow goes on with 'refuse', and finishes, blocked.",
        "expire": "After that the workflow goes on with 'refuse', and finishes, blocked.",
        "skip": "Goes on without `ask`, and its request is canceled. `wait` starts at once.",
        "pause": "It goes on waiting, and what arrives takes effect when it is resumed.",
        "cancel": "Ends the workflow. `wait` and 4 more nodes never run. What has run is not "
        "undone.",
    }


def test_a_failed_step_of_a_document_is_repaired(sqlite_drive: gd.Drive) -> None:
    workflow = _in(sqlite_drive, "document, failed")

    found = {one.command: one.sentence for one in workflow.what_if(node="try")}
    again = "Runs `try` again."
    assert found == {
        "resume": f"{again} Then `ask` and what is decided.",
        "skip": "Goes on without `try`. `ask` asks for a decision.",
        "complete_manually": "Records `try` as done by hand, with a result that you enter.",
        "resolve_manually": "Records `try` as done by hand, without a result.",
        "reattempt": f"{again} Then `ask` and what is decided.",
        "reset_for_retry": f"{again} Its recoveries are counted from zero. Then `ask` and what is "
        "decided.",
        "resume_at": "Continues at `try`, then `ask`. Then the document decides what follows.",
        "cancel": "Ends the workflow. `ask` and 5 more nodes never run. What has run is not "
        "undone.",
    }


def test_the_event_of_a_document_and_its_absence_lead_to_its_steps(
    sqlite_drive: gd.Drive,
) -> None:
    workflow = _in(sqlite_drive, "document, event, held")

    found = [(one.command, one.sentence) for one in workflow.what_if()][:3]
    assert found == [
        (
            "publish",
            "Once `paid` arrives, `wait` runs. Then `both` and what follows from it. It takes "
            "effect when an operator resumes the workflow.",
        ),
        ("expire", "After that the workflow goes on with 'refuse', and finishes, blocked."),
        ("resume", "`wait` goes on waiting."),
    ]


def test_a_decision_in_a_branch_tells_whether_it_passes(sqlite_drive: gd.Drive) -> None:
    [branch] = _in(sqlite_drive, "document, branches").children

    found = {one.command: one.sentence for one in branch.what_if() if one.approval_id}
    assert found == {"approve": "This branch passes.", "reject": "This branch does not pass."}


def test_an_event_that_is_awaited_can_be_published(sqlite_drive: gd.Drive) -> None:
    workflow = _in(sqlite_drive, "approval").skip("manager")
    drain(sqlite_drive)

    [published] = [one for one in workflow.what_if() if one.command == "publish"]
    assert (published.node, published.sentence) == ("paid", "Once `paid` arrives, `paid` runs.")


def test_failed_workers_of_a_batch_are_counted(sqlite_drive: gd.Drive) -> None:
    [resume] = [o for o in _in(sqlite_drive, "batch, failed").what_if() if o.command == "resume"]

    assert resume.sentence == "Runs 3 failed workers of `process` again. Then `summarize`."


def test_a_node_that_a_decision_left_out_is_not_promised(sqlite_drive: gd.Drive) -> None:
    class Joined(gd.Workflow):
        @gd.decision(depends_on=None)
        def route(self) -> None:
            """Choose nothing."""

        @gd.approval(role="manager", depends_on=None)
        def manager(self, decision: object) -> None: ...

        @gd.task(depends_on=[route, manager])
        def wrap(self) -> None: ...

    workflow = sqlite_drive.workflows(Joined).create()
    drain(sqlite_drive)

    approve = workflow.what_if()[0]
    assert approve.sentence == "The workflow will finish."

    (request,) = sqlite_drive.approvals.pending()
    request.approve(by="ann")
    drain(sqlite_drive)
    assert [one.step_name for one in workflow.reload().step_executions if one.started_at] == [
        "route",
        "manager",
    ]


def test_a_workflow_whose_class_is_unknown_can_be_paused_and_canceled(
    sqlite_drive: gd.Drive,
) -> None:
    with former_code():

        class Gone(gd.Workflow):
            @gd.step
            def only(self) -> None: ...

        workflow = sqlite_drive.workflows(Gone).create()
    found = workflow.what_if()

    assert [one.command for one in found] == ["pause", "cancel"]
