"""`geneva demo`: watch a durable workflow survive."""

from __future__ import annotations

import click


@click.command("demo")
@click.argument("story", type=click.Choice(["shop", "batch"]), default="shop")
@click.pass_context
def command(context: click.Context, story: str) -> None:
    """Watch workflows run, fail, get fixed and survive kill -9; it takes about a minute.

    STORY is shop (the default): all kinds of workflows; or batch: 10,000 rows in five parts.
    """
    # Imported here: the demonstration defines workflow classes, which `--help` must not do.
    from rich.console import Console

    from geneva_drive.cli.demo import run_demo

    context.exit(run_demo(Console(), story))
