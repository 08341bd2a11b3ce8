"""Runs scripts in processes that have the library imported, which takes longer than most scripts.

It is a script itself: it reads folders from its standard input, forks a process for the file
`page.py` in each, and answers with the exit code.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys

import geneva_drive as gd

TIME_LIMIT = 60


def main() -> None:
    for name in gd.__all__:
        getattr(gd, name)  # loaded by its first use
    # Not `geneva_drive.testing`: a page that uses it has to import it.
    import sqlalchemy.orm  # noqa: F401

    import geneva_drive.storage.migrator  # noqa: F401

    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            run(line.rstrip("\n"))
            return
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer


def run(folder: str) -> None:
    signal.alarm(TIME_LIMIT)
    os.chdir(folder)
    for number, name in ((0, os.devnull), (1, "output"), (2, "errors")):
        opened = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv, sys.path[0] = ["page.py"], folder
    runpy.run_path(os.path.join(folder, "page.py"), run_name="__main__")


if __name__ == "__main__":
    main()
