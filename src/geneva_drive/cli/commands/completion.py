"""`geneva completion`: the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script that makes your shell complete commands, options and ids.

    \b
    bash:  echo 'eval "$(geneva completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(geneva completion zsh)"' >> ~/.zshrc
    fish:  geneva completion fish > ~/.config/fish/completions/geneva.fish
    """
    shell_class = get_completion_class(shell)
    assert shell_class is not None, "Click supports every shell of the choice"
    program = context.find_root().command
    click.echo(shell_class(program, {}, "geneva", "_GENEVA_COMPLETE").source())
