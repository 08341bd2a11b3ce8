"""A small disk in memory, which a test can fill and empty."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.private_servers import Cook, Recipe

_BLOCKS = (1 << 20, 1 << 12)


class SmallDisk:
    """A mounted tmpfs; what fills it is a file of the tests' own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Take what is left of the space, and what has become free since the last call."""
        ballast = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for block in _BLOCKS:
                _write_until_full(ballast, bytes(block))
        finally:
            os.close(ballast)

    def free(self) -> None:
        self._ballast.unlink()


def _write_until_full(file: int, block: bytes) -> None:
    try:
        while os.write(file, block) == len(block):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


@contextlib.contextmanager
def mounted(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a disk until the block ends; skip the test where only root can."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=1777", "tmpfs", str(path)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("A full disk needs the program `mount`.")
    if done.returncode != 0:
        pytest.skip(f"A full disk needs the right to mount one: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        # Lazily: a server that did not end in time must not keep the test from ending.
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def on_disk(cook: Cook, disk: SmallDisk) -> Cook:
    """Return how to make a server whose tables are on a small disk.

    What a server needs to go on at all is elsewhere, such as its write-ahead log. Without space for
    that it ends, which is another trouble.
    """

    def make(directory: Path, port: int) -> Recipe | None:
        recipe = cook(disk.path, port)
        if recipe is None:
            return None
        if recipe.account == "postgres":
            elsewhere = ["--waldir", str(directory / "wal")]
            return replace(recipe, initialize=[*recipe.initialize, *elsewhere])
        names = ("log-group-home-dir", "data-home-dir", "undo-directory")
        elsewhere = [f"--innodb-{name}={directory}" for name in names]
        return replace(
            recipe,
            initialize=[*recipe.initialize, *elsewhere],
            serve=[*recipe.serve, *elsewhere],
        )

    return make
