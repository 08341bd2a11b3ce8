"""`geneva schema`: print the JSON Schema of workflow documents."""

from __future__ import annotations

import click

from geneva_drive.cli.output.console import print_json
from geneva_drive.cli.parameters import json_option


@click.command("schema")
@json_option
def command(as_json: bool) -> None:  # noqa: ARG001 - it is JSON in any case
    """Print the JSON Schema of workflow documents, for editors and other tools."""
    from geneva_drive.declarative.reference.schema import json_schema

    print_json(json_schema())
