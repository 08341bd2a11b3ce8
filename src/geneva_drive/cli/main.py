"""The program `geneva`: its options, and its outermost line."""

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

    Looking and commanding need only the database; running steps, and what depends on their order
    (skip, reattempt, rewind, resume of a failed step), needs your code as well: --app.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the program; the exit code tells what came of it."""
    try:
        cli.main()
    except Exception as error:
        # The outermost border: nobody who types a command is to meet a traceback unasked.
        if os.environ.get("GENEVA_DEBUG"):
            raise
        click.echo(
            f"geneva: Sorry, this was not expected. {with_place(error)}. "
            f"Set GENEVA_DEBUG=1 for the traceback.",
            err=True,
        )
        sys.exit(ExitCode.UNEXPECTED)
    finally:
        # A server would log each connection that vanishes without a word.
        default_drive.use(None)
