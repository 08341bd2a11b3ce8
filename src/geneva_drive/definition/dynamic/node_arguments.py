"""Checks of the arguments of nodes in dynamic workflows."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from geneva_drive import checks
from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.dynamic.jobs import Job
from geneva_drive.definition.dynamic.stored_node import NO_ARGS, StoredArgs
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.definition.metaclass import WorkflowMeta
from geneva_drive.definition.options.options import MAX_NAME_LENGTH
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.serialization import typed_json

# Reserved job names for what the engine does itself, so that no user's job runs such a node.
CHILD_JOB: Final = "geneva_drive.child"
BATCH_JOB: Final = "geneva_drive.batch"
OWN_JOBS: Final = frozenset({CHILD_JOB, BATCH_JOB})

# Comparing 100,000 names would take seconds.
_MAX_COMPARED = 5_000

T = TypeVar("T")


def job_name(thing: str, job: object) -> str:
    if isinstance(job, Job):
        return job.name
    if isinstance(job, str) and job == CHILD_JOB:
        raise InvalidInput(
            f"{thing}: the job {CHILD_JOB!r} creates child workflows. Add them with "
            f"w.workflow(name, WorkflowClass)."
        )
    if isinstance(job, str) and job == BATCH_JOB:
        raise InvalidInput(
            f"{thing}: the job {BATCH_JOB!r} divides the work of a batch. Add it with "
            f"w.batch(name, batches, worker=job, aggregate=job)."
        )
    if isinstance(job, str):
        return checks.text(f"{thing}: the name of a job", job, longest=MAX_NAME_LENGTH)
    if callable(job):
        raise InvalidInput(
            f"{thing}: {code_location.name_of(job)!r} is not a job. Decorate the function with "
            f"@gd.job, so that workers find it by its name."
        )
    raise InvalidInput(
        f"{thing}: a job is a function decorated with @gd.job, or the name of one, not "
        f"{shown(job)}."
    )


def naming(name: str | Callable[[T], str]) -> Callable[[T], str]:
    """Return the function from an item to the name of its node."""
    if callable(name):
        return name
    if not isinstance(name, str):
        raise InvalidInput(
            f"fan_out: the name is a format such as 'node_{{}}' or a function of the item, not "
            f"{shown(name)}."
        )

    def format_name(item: T) -> str:
        try:
            return name.format(item)
        except (LookupError, ValueError, AttributeError) as error:
            raise InvalidInput(
                f"fan_out: the name {shown(name)} cannot be filled with {shown(item)}: "
                f"{typed_json.words_of(error)}. Write {{}} where the item goes, or pass a "
                f"function of the item."
            ) from None

    return format_name


def written_args(name: str, args: object) -> StoredArgs:
    """Return the arguments of a node as stored text."""
    if args is None:
        return NO_ARGS
    if not checks.is_json_object(args):
        raise InvalidInput(
            f"Node {shown(name)}: args is a dictionary with text as keys, not {shown(args)}."
        )
    return StoredArgs(typed_json.dump(args, f"Node {shown(name)}: args"))


def check_call(name: str, job: object, args: Mapping[str, Any]) -> None:
    """Raise an error if the job does not take these arguments, as far as this process knows."""
    if not isinstance(job, Job):
        return
    try:
        job.check(args)
    except StepConfigurationError as error:
        raise InvalidInput(f"Node {shown(name)}: {error.what}") from None


def child_args(
    name: str,
    workflow_class: object,
    hero: HeroRef | None,
    context: object,
    detached: object,
) -> StoredArgs:
    """Return the arguments of a node that creates a child workflow."""
    checks.flag(f"Node {shown(name)}: detached", detached)
    if context is not None and not checks.is_json_object(context):
        raise InvalidInput(
            f"Node {shown(name)}: the context of a workflow is a JSON object: a dictionary with "
            f"text as keys, not {shown(context)}."
        )
    args = {
        "type": _type_of(name, workflow_class),
        "hero_type": hero.type if hero else None,
        "hero_id": hero.id if hero else None,
        "context": context,
        "detached": detached,
    }
    typed_json.dump(context, f"Node {shown(name)}: context")
    return StoredArgs(typed_json.dump(args))


def _type_of(name: str, workflow_class: object) -> str:
    if isinstance(workflow_class, str):
        thing = f"Node {shown(name)}: the type of a child workflow"
        return checks.text(thing, workflow_class, longest=MAX_NAME_LENGTH)
    if isinstance(workflow_class, WorkflowMeta) and workflow_class is not Workflow:
        return definition_of(workflow_class).type  # type: ignore[arg-type]  # only Workflow has this metaclass
    raise InvalidInput(
        f"Node {shown(name)}: a child workflow is named by its class, derived from gd.Workflow, or "
        f"by its type, not {shown(workflow_class)}."
    )


def with_hero(args: Mapping[str, Any], hero: HeroRef | None) -> StoredArgs:
    named = {"hero_type": hero.type, "hero_id": hero.id} if hero else {}
    return StoredArgs(typed_json.dump({**args, **named}))


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """Return a hint at the most similar name, or an empty text."""
    compared = list(itertools.islice(names, _MAX_COMPARED))
    close = difflib.get_close_matches(wanted, compared, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
