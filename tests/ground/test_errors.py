from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive import errors

EXISTING: Any = SimpleNamespace(id=41)

NO_AMOUNT = errors.InvalidContext(
    "Refund", "RefundContext", [errors.Fault("amount", "Field required")]
)
WORDS: list[tuple[Exception, str]] = [
    (
        errors.StepConfigurationError("Step 'a': wait: -1 is negative.", "signup.py:4"),
        "Step 'a': wait: -1 is negative. (signup.py:4)",
    ),
    (errors.StepConfigurationError("It is wrong."), "It is wrong."),
    (
        errors.NoSuchBranch("Order", "route", "gift_warp", ["gift_wrap", "post"]),
        "Decision 'route' of Order chose 'gift_warp', which is not one of its branches: gift_wrap, "
        "post. It returns a branch's name or decorated method, a list of these, or None.",
    ),
    (
        errors.InvalidForm("sign", "Terms", [errors.Fault("days", "Field required")]),
        "The data of approval 'sign' does not fit Terms: days: Field required.",
    ),
    (
        errors.PayloadTooLarge("The context", 2_000_000, 1_048_576, "max_payload_size"),
        "The context is 2,000,000 bytes as JSON; the limit is 1,048,576 bytes. Store the data "
        "elsewhere and keep its key, or raise the setting max_payload_size.",
    ),
    (
        errors.CursorTooLarge(200_000, 131_072),
        "The cursor is 200,000 bytes as JSON; the limit is 131,072 bytes. Keep a key in it, not "
        "the data, or raise the setting max_cursor_size.",
    ),
    (
        errors.NullCursor("users.score"),
        "The cursor column users.score has rows with NULL, which the loop would miss. Exclude "
        "them with where(users.score IS NOT NULL), or choose another column with cursor=.",
    ),
    (
        errors.CsvChanged("rows.csv", 120),
        "The CSV file 'rows.csv' has changed: the bytes before byte 120, where the cursor is, are "
        "not the ones that were read. Restore the file, or rewind the step with `geneva rewind` "
        "to read it from its first row.",
    ),
    (
        errors.UncommittedWork("rows"),
        "Step 'rows' saves its cursor while a session of its own has uncommitted writes. A crash "
        "would lose them, and the step would resume after them. Commit before the loop "
        "continues, or use the step's session with @gd.resumable_step(transaction=True).",
    ),
    (
        errors.WorkflowNotFound(7),
        "There is no workflow with id 7. `geneva list` shows all workflows.",
    ),
    (
        errors.WorkflowNotFound("x", "Signup"),
        "There is no Signup workflow with id 'x'. `geneva list` shows all workflows.",
    ),
    (
        errors.DeadLetterNotFound(41),
        "There is no dead letter with id 41. `geneva dlq list` lists those that are pending.",
    ),
    (
        errors.KeyNotFound("0123456789abcdef"),
        "There is no API key with id '0123456789abcdef'. `geneva keys list` lists the keys with "
        "their ids.",
    ),
    (
        errors.ScheduleNotFound("Gone"),
        "Workflow type 'Gone' has no schedule. `geneva schedules` lists all schedules. A "
        "schedule is known once a worker that imports its class has run.",
    ),
    (
        errors.ApprovalNotFound(7),
        "There is no approval with id 7. `geneva approvals` lists those that are pending.",
    ),
    (
        errors.StepNotDefined("Signup", "remind", ["welcome", "complete"]),
        "Workflow 'Signup' has no step 'remind'. Its steps are: welcome, complete.",
    ),
    (
        errors.NotCommitted(7),
        "Workflow 7 cannot be read yet: the session that created it has not committed it. Commit "
        "the session first. If it was rolled back, the workflow does not exist.",
    ),
    (
        errors.StepVanished("Signup", "remind", ["welcome"]),
        "Workflow 'Signup' has no step 'remind'. Its steps are: welcome. An execution is at "
        'this step. Put `remind = gd.removed_step()` where it was, or `renamed_from="remind"` on '
        "its successor, and resume; or choose the step to continue at: `resume_at` in code, "
        "`geneva resume ID --at STEP` in the shell.",
    ),
    (
        errors.HeroGone("User", "7"),
        "The hero User '7' does not exist: it was deleted, or not yet committed when the step "
        "ran. The workflow is canceled, unless its class sets may_proceed_without_hero = True.",
    ),
    (
        errors.UnknownWorkflowClass("Signup"),
        "No workflow class of type 'Signup' is imported in this process. Import its module first, "
        "or name it with --app or GENEVA_APP.",
    ),
    (
        errors.UnknownStoredType("shop.Money"),
        "The database holds a value of type 'shop.Money', which is not registered in this "
        "process. Register it with gd.register_serializer in a module that the app imports.",
    ),
    (
        errors.UnknownEnum("shop.colors:Color"),
        "The database holds a member of the Enum 'shop.colors:Color', and no module imported in "
        "this process defines it. Import 'shop.colors' in the app. If the Enum was moved or "
        "renamed, keep its old name as an alias.",
    ),
    (
        errors.UnknownEnumMember("shop.colors:Color", "red"),
        "The database holds 'red' of the Enum 'shop.colors:Color', which has no such member. "
        "Restore the member, or return its successor from the Enum's _missing_.",
    ),
    (
        errors.AlreadyRunning("Signup", "User", "7", EXISTING),
        "User '7' already has an ongoing Signup (workflow 41). Use get_or_create() to get that "
        "one, or allow_multiple=True to start another.",
    ),
    (
        errors.IllegalMove("Execution", 41, "completed", "in_progress"),
        "Execution 41 is completed and cannot become in_progress.",
    ),
    (
        errors.MissingJob(
            workflow_id=7,
            node_name="aggregate",
            node_id="n_8f3a2b1c",
            job="ledger.aggregate",
            frozen_at=datetime(2026, 1, 15, 10, 30, tzinfo=UTC),
        ),
        "Workflow 7 needs the job 'ledger.aggregate' for its node 'aggregate' (n_8f3a2b1c), and "
        "nothing imported in this process defines it. Its graph was frozen at "
        "2026-01-15T10:30:00+00:00, and new code does not change it. Restore the job (import the "
        "module that defines it in the worker's --app) and resume; or cancel this workflow and "
        "create a new one; or, as a last resort, edit the graph with export_dag() and "
        "import_dag().",
    ),
    (
        errors.NodeNotFound(7, "aggregat"),
        "Workflow 7 has no node with the name or id 'aggregat'. `geneva show 7` lists its nodes.",
    ),
    (
        errors.ChildCanceled("Ship", 8),
        "The child workflow 8 (Ship) was canceled. Reattempting the node starts another one.",
    ),
    (
        errors.ClaimLost(41, "welcome"),
        "Execution 41 of step 'welcome' is no longer held by this worker; its result was dropped.",
    ),
    (
        errors.IterationLimitExceeded("import_rows", 500),
        "Step 'import_rows' has reached its iteration_limit of 500, and there are more items. "
        "Check whether it loops forever; if not, raise iteration_limit and resume.",
    ),
    (
        errors.StepTimedOut("welcome", timedelta(seconds=90)),
        "Step 'welcome' ran longer than its timeout of 0:01:30.",
    ),
    (
        errors.NotMigrated("sqlite:///geneva.db"),
        "The database at sqlite:///geneva.db has no GenevaDrive tables yet, or older ones. "
        "Run `geneva migrate` with the same --app or --database, or call drive.migrate().",
    ),
    (
        errors.NotCreated("sqlite:///geneva.db"),
        "There is no database at sqlite:///geneva.db yet. Create it with "
        "`geneva migrate`, with the same --app or --database, or drive.migrate(); or name the "
        "one you mean: --app package.module, --database URL, or GENEVA_DATABASE_URL.",
    ),
    (
        errors.TooNew("sqlite:///geneva.db", "0099"),
        "The database at sqlite:///geneva.db was migrated by a newer GenevaDrive (revision "
        "'0099'). Upgrade this process's geneva-drive before it touches the data.",
    ),
    (
        errors.DatabaseUnavailable("postgresql://db/app", "connection refused."),
        "The database at postgresql://db/app cannot be reached: connection refused. "
        "Check that it runs and exists, and its address: --database, the app's own, or "
        "GENEVA_DATABASE_URL.",
    ),
    (
        errors.DatabaseReadOnly("sqlite:///geneva.db"),
        "The database at sqlite:///geneva.db is read-only, so nothing was written. Check the "
        "file's or role's permissions, or connect to the primary server.",
    ),
    (
        errors.DatabaseBusy("sqlite:///geneva.db", "database is locked."),
        "The database at sqlite:///geneva.db was busy for too long, and nothing was written: "
        "database is locked. Look for a long transaction, and try again. If it is a session of "
        "your own, commit it first, or pass it as session=.",
    ),
    (
        NO_AMOUNT,
        "The context of Refund does not fit RefundContext: amount: Field required.",
    ),
    (
        errors.OutdatedContext(7, NO_AMOUNT),
        "The stored context of Refund workflow 7 does not fit RefundContext: amount: Field "
        "required. Give a new field a default, or pass what is missing with resume(data={...}) or "
        "`geneva resume 7 --data`.",
    ),
    (
        errors.DatabaseFull("sqlite:///geneva.db", "database or disk is full."),
        "The database at sqlite:///geneva.db has no space left, and nothing was written: database "
        "or disk is full. Free space on its disk, or move it to a larger one.",
    ),
    (
        errors.MissingRights("postgresql://db/shop", "permission denied for table orders."),
        "The role that connects to postgresql://db/shop lacks a right: permission denied for "
        "table orders. GRANT it SELECT, INSERT, UPDATE and DELETE on the tables. `geneva doctor` "
        "shows which right is missing.",
    ),
    (
        errors.DefinitionNotFound("refund"),
        "There is no document 'refund', and no workflow class of this type is imported in this "
        "process. Deploy a document with `geneva deploy FILE`; import the module of a class, or "
        "name it with --app or GENEVA_APP.",
    ),
    (
        errors.DefinitionNotFound("refund", "2.0.0"),
        "There is no version '2.0.0' of document 'refund'. Deploy a document with `geneva deploy "
        "FILE`; import the module of a class, or name it with --app or GENEVA_APP.",
    ),
    (
        errors.MissingField("order.total"),
        "The field 'order.total' is missing or null. Provide it in the context, ask for it with "
        "'exists', or give it a default.",
    ),
    (
        errors.NotComparable("gt", "a string", "a number"),
        "The operator 'gt' cannot compare a string with a number. Values are not converted: write "
        "the value in the type of the field.",
    ),
    (
        errors.UnknownAction("action", "charge"),
        "There is no action 'charge' in this process. Register it with @gd.action('charge') in a "
        "module that the worker imports (--app), and reattempt.",
    ),
    (
        errors.AddressRefused("internal.example", "10.0.0.1"),
        "Webhooks to internal.example (10.0.0.1) are refused: the address is not public. If this "
        "is intended, add 'internal.example' to the setting webhook_allowed_hosts.",
    ),
    (
        errors.MissingExtra("httpx", "json"),
        "The package 'httpx' is not installed. Run: pip install 'geneva-drive[json]'.",
    ),
]


@pytest.mark.parametrize(
    ("error", "words"),
    WORDS,
    ids=[f"{type(error).__name__}-{n}" for n, (error, _) in enumerate(WORDS)],
)
def test_an_error_words_itself(error: Exception, words: str) -> None:
    assert str(error) == words


def test_every_error_that_words_itself_is_in_the_list_above() -> None:
    wording = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind)
        and issubclass(kind, errors.GenevaDriveError)
        and "__init__" in vars(kind)
    }

    assert wording == {type(error).__name__ for error, _ in WORDS}


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (errors.StepConfigurationError, (errors.GenevaDriveError, TypeError)),
        (errors.InvalidInput, (errors.GenevaDriveError, ValueError)),
        (errors.PayloadTooLarge, (errors.InvalidInput,)),
        (errors.CursorTooLarge, (errors.InvalidInput,)),
        (errors.NotFound, (errors.GenevaDriveError, LookupError)),
        (errors.WorkflowNotFound, (errors.NotFound,)),
        (errors.ApprovalNotFound, (errors.NotFound,)),
        (errors.NotPermitted, (errors.GenevaDriveError,)),
        (errors.StepNotDefined, (errors.NotFound,)),
        (errors.StepVanished, (errors.StepNotDefined,)),
        (errors.UnknownWorkflowClass, (errors.NotFound,)),
        (errors.UnknownStoredType, (errors.NotFound,)),
        (errors.UnknownEnum, (errors.NotFound,)),
        (errors.UnknownEnumMember, (errors.NotFound,)),
        (errors.AlreadyRunning, (errors.GenevaDriveError,)),
        (errors.InvalidStateError, (errors.GenevaDriveError,)),
        (errors.IllegalMove, (errors.InvalidStateError,)),
        (errors.ClaimLost, (errors.GenevaDriveError,)),
        (errors.StepTimedOut, (errors.GenevaDriveError, TimeoutError)),
        (errors.NotMigrated, (errors.StorageError, errors.GenevaDriveError)),
    ],
)
def test_an_error_hangs_on_the_branch_of_what_one_can_do(
    error: type[Exception], kinds: tuple[type[Exception], ...]
) -> None:
    assert all(issubclass(error, kind) for kind in kinds)


@pytest.mark.parametrize("name", errors.__all__)
def test_an_error_is_stored_under_the_name_by_which_users_import_it(name: str) -> None:
    kind = getattr(errors, name)

    assert (kind.__module__, kind.__qualname__) == ("geneva_drive.errors", name)
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_every_error_is_imported_from_the_package() -> None:
    modules = [
        importlib.import_module(f"geneva_drive.errors.{module.name}")
        for module in pkgutil.iter_modules(errors.__path__)
    ]
    defined = {
        name
        for module in modules
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and kind.__module__.startswith("geneva_drive.errors")
    }

    assert defined == set(errors.__all__)


def test_already_running_leads_to_the_workflow_there_is() -> None:
    assert errors.AlreadyRunning("Signup", "User", "7", EXISTING).existing is EXISTING


def test_errors_for_users_steps_stand_apart() -> None:
    assert not issubclass(gd.PermanentError, errors.GenevaDriveError)
    assert not issubclass(gd.RetryableError, errors.GenevaDriveError)


def test_a_retryable_error_carries_its_wait() -> None:
    error = gd.RetryableError("HTTP 429", retry_after=30)

    assert (str(error), error.retry_after) == ("HTTP 429", 30)
    assert gd.RetryableError("HTTP 500").retry_after is None
