"""`geneva demo`: watch durable workflows survive, or explore them in a dashboard."""

from __future__ import annotations

import click

_DASHBOARD = "dashboard"


@click.command("demo")
@click.argument(
    "story", type=click.Choice(["shop", "batch", "events", "json", _DASHBOARD]), default="shop"
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port of the dashboard.",
)
@click.pass_context
def command(context: click.Context, story: str, port: int) -> None:
    """Watch workflows run, fail, get fixed and survive kill -9.

    It takes about a minute.

    \b
    STORY is one of:
      shop       all kinds of workflows (the default)
      batch      10,000 rows in five parts
      events     orders that wait for their payment
      json       a workflow that is a document
      dashboard  a shop in the dashboard, with failures to repair and approvals to decide
    """
    # Imported here: the demonstration defines workflow classes, which `--help` must not do.
    if story == _DASHBOARD:
        from geneva_drive.cli.commands.dev import open_port
        from geneva_drive.cli.demo.showroom.launcher import open_showroom
        from geneva_drive.cli.processes.loopback import LOOPBACK
        from geneva_drive.cli.processes.server_libraries import require_server

        require_server("demo dashboard")
        open_port(LOOPBACK, port).close()  # refuse a taken port before the shop is made
        open_showroom(port)
        return
    from rich.console import Console

    from geneva_drive.cli.demo import run_demo

    context.exit(run_demo(Console(), story))
