"""The command `geneva`, as the console script runs it."""

from __future__ import annotations

from geneva_drive.cli.main import main

if __name__ == "__main__":
    main()
