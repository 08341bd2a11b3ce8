"""One module per command of `geneva`, each with its Click command as `command`."""
