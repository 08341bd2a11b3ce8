"""Options and arguments that commands share, and the parsers of their values."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from geneva_drive.cli.completion import dead_letter_ids, ongoing_ids, pending_approval_ids
from geneva_drive.cli.output.error_line import with_class
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.display import shown
from geneva_drive.durations import parse_duration
from geneva_drive.errors import UnknownEnum, UnknownStoredType
from geneva_drive.serialization import typed_json

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_JSON_BEGINS = ("[", "{", '"')


def workflow_id_argument(function: F) -> F:
    # A text, because only the database knows the type of its ids.
    return click.argument("workflow_id", metavar="ID", shell_complete=ongoing_ids)(function)


def approval_id_argument(function: F) -> F:
    return click.argument("approval_id", metavar="APPROVAL", shell_complete=pending_approval_ids)(
        function
    )


def step_argument(function: F) -> F:
    return click.argument("step", metavar="STEP")(function)


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def limit_option(shown: int) -> Callable[[F], F]:
    """Add --limit; without it, a table has at most `shown` rows."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        help=f"At most this many. [default: {shown}; with --json, all]",
    )


def cursor_option(function: F) -> F:
    help_text = "Continue where a list with --limit ended."
    return click.option("--cursor", metavar="CURSOR", help=help_text)(function)


def concurrency_option(function: F) -> F:
    return click.option(
        "--concurrency",
        type=click.IntRange(min=1),
        default=8,
        show_default=True,
        help="How many steps to run at once.",
    )(function)


def log_level_option(function: F) -> F:
    return click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="The lowest level to log; info logs every change of state.",
    )(function)


def dead_letter_id_argument(function: F) -> F:
    return click.argument("entry_id", metavar="ENTRY", shell_complete=dead_letter_ids)(function)


def audit_options(function: F) -> F:
    """Add --reason and --actor, for the audit entry."""
    reason = click.option("--reason", metavar="TEXT", help="Why, for the audit trail.")
    return reason(actor_option(function))


def actor_option(function: F) -> F:
    return click.option(
        "--actor",
        metavar="NAME",
        default=_login_name,
        help="Who gives the command, for the audit trail. [default: your login name]",
    )(function)


def parsed_by(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, Any], T | None]:
    """Return an option's callback that parses with `parse`, which raises a ValueError."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> T | None:
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from error

    return callback


def hero(text: str) -> HeroRef:
    hero_type, _, hero_id = text.partition("/")
    if not hero_type or not hero_id:
        raise ValueError(f"{shown(text)} must have the form TYPE/ID, such as User/42")
    return HeroRef(hero_type, hero_id)


def span(text: str) -> timedelta:
    if text.strip().isdigit():
        # In settings, a bare number means seconds; on a command line, people mean days.
        raise ValueError(f"{shown(text)} has no unit: write {text}d for days, {text}h for hours")
    try:
        return parse_duration(text)
    except ValueError:
        raise ValueError(
            f"{shown(text)} is not a duration such as 90d or 12h; the units are ms, s, m, h and d"
        ) from None


def since(text: str) -> timedelta | datetime:
    """Parse a duration before now, or a moment; without a time zone it is UTC, as in lists."""
    if text.strip().isdigit():
        return span(text)  # raises the error that asks for the unit
    with suppress(ValueError):
        return parse_duration(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{shown(text)} is neither a duration such as 24h or 7d nor a moment such as "
            f"2026-01-31T12:00, in UTC"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def json_object(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{shown(text)} is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise ValueError(f"{shown(text)} is not a JSON object, such as '{{\"key\": 1}}'")  # noqa: TRY004 - `parsed_by` catches one kind
    return read


def cursor(text: str) -> Any:
    """Parse a cursor: typed JSON; anything that does not look like JSON is text."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if not text.lstrip().startswith(_JSON_BEGINS):
            return text
        raise ValueError(
            f"{shown(text)} starts like JSON but is not: {error}. To pass it as text, quote it: "
            f"{json.dumps(text, ensure_ascii=False)}"
        ) from error
    return _typed(text)


def typed_json_value(text: str) -> Any:
    """Parse typed JSON; a text needs its quotes."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{shown(text)} is not JSON: {error}. To pass it as text, quote it: "
            f"{json.dumps(text, ensure_ascii=False)}"
        ) from error
    return _typed(text)


def _typed(text: str) -> Any:
    try:
        return typed_json.load(text)
    except (UnknownStoredType, UnknownEnum) as error:
        raise ValueError(
            f"{shown(text)} has an unknown type: name the module that defines it with --app"
        ) from error
    except Exception as error:
        # An app parses its types with its own functions, which may raise anything.
        raise ValueError(
            f"{shown(text)} cannot be read as typed JSON: {with_class(error)}"
        ) from error


def names(text: str) -> tuple[str, ...]:
    listed = tuple(name.strip() for name in text.split(","))
    if not all(listed):
        raise ValueError(f"{shown(text)} has an empty name: write a,b")
    return listed


def queues(text: str) -> dict[str, int | None]:
    """Parse `mail:2,default`: queue names, some with how many steps to run at once."""
    parsed: dict[str, int | None] = {}
    for listed in names(text):
        name, colon, cap = listed.rpartition(":")
        if not colon:
            parsed[listed] = None
        elif name and cap.isdecimal() and int(cap) > 0:
            parsed[name] = int(cap)
        else:
            raise ValueError(
                f"{shown(listed)} must be a queue, or a queue with a limit of at least 1, such as "
                f"mail:2"
            )
    return parsed


def _login_name() -> str | None:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return None  # in a container, the user id may have no name
