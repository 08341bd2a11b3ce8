"""`geneva demo`: watch a durable workflow survive."""

from __future__ import annotations

import click


@click.command("demo")
@click.pass_context
def command(context: click.Context) -> None:
    """Watch workflows run, fail, get fixed and survive kill -9; it takes under a minute."""
    # Imported here: the demonstration defines workflow classes, which `--help` must not do.
    from rich.console import Console

    from geneva_drive.cli.demo import run_demo

    context.exit(run_demo(Console()))
