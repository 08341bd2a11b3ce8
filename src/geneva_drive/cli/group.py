"""The group of all commands: loads the called one and exits with its code."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from sqlalchemy.exc import SQLAlchemyError

from geneva_drive import checks
from geneva_drive.cli.exit_codes import MEANINGS, ExitCode, code_for
from geneva_drive.cli.output.error_line import one_line
from geneva_drive.display import shown
from geneva_drive.errors import GenevaDriveError

SECTIONS = {
    "Run": ("demo", "dev", "migrate", "worker", "serve"),
    "Inspect": ("list", "show", "why", "watch", "history", "graph", "check", "doctor", "bench"),
    "Schedules": ("schedules",),
    "Documents": ("validate", "schema", "simulate", "deploy", "start"),
    "Approvals": ("approvals", "approve", "reject", "link"),
    "Events": ("publish", "events"),
    "Control": ("pause", "resume", "cancel", "skip", "reattempt", "rewind", "prune"),
    "Repair": ("failures", "bulk", "dlq", "reset", "resolve", "complete"),
    "API keys": ("keys",),
    "Shell": ("completion",),
}

_NAMES = tuple(name for names in SECTIONS.values() for name in names)
_CLOSE = 0.75  # the similarity of a typing error
_SYNONYMS = {  # commands of similar programs
    "retry": "reattempt",
    "status": "show",
    "log": "history",
    "delete": "prune",
    "init": "migrate",
    "run": "start",
    "create": "start",
    "decide": "approve",
    "inbox": "approvals",
    "cron": "schedules",
    "emit": "publish",
    "server": "serve",
}


class Geneva(click.Group):
    """Imports a command's module only when it is called: Rich and Alembic load slowly."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        return list(_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - Click's signature
        if cmd_name not in _NAMES:
            return None
        module = import_module(f"geneva_drive.cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if ctx.resilient_parsing or name in _NAMES or name.startswith("-"):
            return super().resolve_command(ctx, args)
        close = get_close_matches(name, _NAMES, 1, _CLOSE)
        meant = [_SYNONYMS[name]] if name in _SYNONYMS else close
        hint = f" Did you mean '{meant[0]}'?" if meant else ""
        raise click.UsageError(f"No such command {shown(name)}.{hint}", ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        broken = [each for each in args if checks.text_fault(f"{each} ")]
        if broken:
            raise click.UsageError(
                f"The argument {shown(broken[0])} cannot be decoded. Check the encoding of the "
                f"terminal or script that wrote it.",
                ctx,
            )
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != "--json":
                raise
            raise click.UsageError(
                "--json goes after the command, as in `geneva list --json`.", ctx
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in SECTIONS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(80))
                        for name, command in commands
                        if command
                    ]
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - Click's signature
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), meaning) for code, meaning in MEANINGS.items()])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run as a process: expected errors become one line and an exit code."""
        extra |= {"prog_name": "geneva", "standalone_mode": False}
        try:
            answer = super().main(*args, **extra)
        except click.Abort:
            sys.exit(ExitCode.INTERRUPTED)
        except (click.ClickException, GenevaDriveError, SQLAlchemyError) as error:
            click.echo(f"{click.style('geneva:', fg='red')} {one_line(error)}", err=True)
            sys.exit(code_for(error))
        # Click returns the code of `context.exit(code)`, and None when a command returns.
        sys.exit(answer or ExitCode.OK)
