"""The circumstances of a run: machine, interpreter, libraries, servers."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import places, systems

OURS = ("geneva-drive", "sqlalchemy", "psycopg", "pymysql")
PEERS = ("dbos", "absurd-sdk", "procrastinate", "celery", "redis", "psycopg", "sqlalchemy")
_VERSIONS = (
    "import json, sys; from importlib.metadata import version; "
    "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
)


def facts(services: set[str]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "processor_count": os.cpu_count(),
        "load_average_before": os.getloadavg()[0],
        "libraries": {name: version(name) for name in OURS},
        "peers": _peers(),
        "servers": {
            service: places.settings(service)
            for service in sorted(services & {"postgresql", "mariadb"})
        },
    }


def _peers() -> dict[str, str]:
    if not systems.PEERS_PYTHON.exists():
        return {}
    command = [str(systems.PEERS_PYTHON), "-c", _VERSIONS, *PEERS]
    found: dict[str, str] = json.loads(subprocess.check_output(command, text=True))
    return found


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
