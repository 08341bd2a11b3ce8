"""Nodes that are scheduled by processes which do not import their jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic import jobs
from geneva_drive.testing import drain, perform_step_inline
from tests.looking import waits

Handle = gd.WorkflowHandle[Any]

MAIL = f"{__name__}.mail"


@gd.job
def write() -> None: ...


@contextmanager
def _elsewhere(**options: Any) -> Iterator[Any]:
    """Be a process that has a job of this name and options, which the others do not import."""
    with jobs.isolated():

        @gd.job(name=MAIL, **options)
        def mail() -> None: ...

        yield mail


def _letter(job: Any, **options: Any) -> Handle:
    w = gd.DynamicWorkflow(**options)
    w.node("write", job=write)
    w.node("mail", job=job)
    return w.start()


def _scheduled(workflow: Handle) -> tuple[str, int]:
    [mail] = [one for one in workflow.reload().step_executions if one.step_name == "mail"]
    return mail.queue, mail.priority


@pytest.mark.parametrize("by_name", [False, True], ids=["by itself", "by name"])
def test_the_options_of_a_job_are_known_where_it_is_not_imported(
    geneva: gd.Drive, by_name: bool
) -> None:
    with _elsewhere(queue="mail", priority=7, wait=60) as mail:
        workflow = _letter(MAIL if by_name else mail)

    drain()

    assert _scheduled(workflow) == ("mail", 7)
    assert waits(workflow) == [timedelta(seconds=60)]


def test_the_options_of_the_workflow_stand_before_those_that_are_stored(geneva: gd.Drive) -> None:
    with _elsewhere(queue="mail", priority=7) as mail:
        workflow = _letter(mail, queue="slow", priority=0)

    perform_step_inline(workflow, "write")

    assert _scheduled(workflow) == ("slow", 0)


def test_who_imports_the_job_goes_by_the_options_that_it_has_now(geneva: gd.Drive) -> None:
    with _elsewhere(queue="mail", priority=7) as mail:
        workflow = _letter(mail)

    with _elsewhere(queue="post"):
        perform_step_inline(workflow, "write")

    assert _scheduled(workflow) == ("post", 0)


def test_a_job_that_nobody_knew_is_scheduled_at_once_on_the_default_queue(
    geneva: gd.Drive,
) -> None:
    workflow = _letter(MAIL)

    perform_step_inline(workflow, "write")

    assert _scheduled(workflow) == ("default", 0)
    assert waits(workflow) == [timedelta(0)]


@pytest.mark.parametrize("is_reached", [False, True], ids=["later", "at once"])
def test_whoever_repairs_a_graph_need_not_import_its_jobs(
    geneva: gd.Drive, is_reached: bool
) -> None:
    with _elsewhere(queue="mail", priority=7) as mail:
        workflow = _letter(mail)
    workflow.pause()
    dag = workflow.dag
    if is_reached:
        [last] = [node for node in dag["nodes"].values() if node["name"] == "mail"]
        last["depends_on"] = []

    workflow.import_dag(dag)
    workflow.resume()
    perform_step_inline(workflow, "write")

    assert _scheduled(workflow) == ("mail", 7)


def test_the_options_are_no_part_of_the_exported_graph(geneva: gd.Drive) -> None:
    with _elsewhere(queue="mail", priority=7) as mail:
        workflow = _letter(mail)

    [first, last] = workflow.dag["nodes"].values()

    assert sorted(last) == ["args", "depends_on", "job", "name"]
    assert sorted(first) == sorted(last)
