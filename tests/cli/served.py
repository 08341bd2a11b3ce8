"""The app that worker processes serve in these tests."""

from __future__ import annotations

PROGRAM = "from geneva_drive.cli.main import main; main()"

APP = """
import threading
from pathlib import Path
import geneva_drive as gd

class Greeting(gd.Workflow):
    @gd.step
    def greet(self):
        print("hello from the step", flush=True)

class Endless(gd.Workflow):
    queue = "slow"

    @gd.step
    def begin(self):
        print("begun", flush=True)
        threading.Event().wait()

class Hung(gd.Workflow):
    @gd.step(timeout=0.1)
    def hang(self):
        threading.Event().wait()

class Patient(gd.Workflow):
    @gd.step
    def wait_for_release(self):
        print("begun", flush=True)
        while not Path(self.context["release"]).exists():
            threading.Event().wait(0.02)
"""
