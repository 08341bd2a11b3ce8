"""The program `geneva`: its options and its outermost error handler."""

from __future__ import annotations

import os
import sys

import click

from geneva_drive.cli.drive_options import drive_options
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.group import Geneva
from geneva_drive.cli.output.error_line import with_place
from geneva_drive.drive import default_drive


@click.group(
    cls=Geneva,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@drive_options
@click.version_option(package_name="geneva-drive", prog_name="geneva")
@click.pass_context
def cli(context: click.Context) -> None:
    """Durable workflows that live in your own database.

    Most commands need only the database. Commands that run steps or depend on their order (worker,
    skip, reattempt, rewind, repairs, resume of a failed step) also need your code: --app.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the program and exit with its code."""
    try:
        cli.main()
    except Exception as error:
        # The outermost line: a user sees a traceback only with GENEVA_DEBUG.
        if os.environ.get("GENEVA_DEBUG"):
            raise
        click.echo(
            f"geneva: Unexpected error. {with_place(error)}. Set GENEVA_DEBUG=1 for the traceback.",
            err=True,
        )
        sys.exit(ExitCode.UNEXPECTED)
    finally:
        # Servers log a warning for each connection that is not closed.
        default_drive.use(None)
