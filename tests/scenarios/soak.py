"""How much the scenarios do: little in `make test`, everything if GENEVA_SOAK=1."""

from __future__ import annotations

import os

IS_SOAK = os.environ.get("GENEVA_SOAK") == "1"

NODES_OF_GRAPHS = 2_000 if IS_SOAK else 1_000
KILLS_IN_LOOPS = 50 if IS_SOAK else 12
KILLS_IN_BATCHES = 20 if IS_SOAK else 4
RESTARTS = 20 if IS_SOAK else 3
TROUBLE_SECONDS = 10.0 if IS_SOAK else 2.5
