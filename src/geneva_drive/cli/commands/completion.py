"""`geneva completion`: the script that teaches a shell to complete."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that lets your shell complete commands, options and ids.

    \b
    bash:  echo 'eval "$(geneva completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(geneva completion zsh)"' >> ~/.zshrc
    fish:  geneva completion fish > ~/.config/fish/completions/geneva.fish
    """
    shell_class = get_completion_class(shell)
    assert shell_class is not None, "Click knows every shell of the choice"
    program = context.find_root().command
    click.echo(shell_class(program, {}, "geneva", "_GENEVA_COMPLETE").source())
