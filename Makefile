.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-serve test quick soak check fix bench clean .venv

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
# Where it is set, each test process compiles all tests anew, and each process of theirs the package.
unexport PYTHONDONTWRITEBYTECODE
# Tests wait on databases more than they compute, so more processes than cores pay off.
PYTEST := $(BIN)/python -m pytest --dist worksteal
MANY := -n 8
# Scenarios start processes of their own and count on short leases: few at once, and by themselves.
FEW := -n 3

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.package  ## Run the demonstration: a durable workflow that survives kill -9
	@$(BIN)/geneva demo
	@echo "To look around in a dashboard: make demo-serve"

demo-serve: .venv/.server  ## Open the dashboard of a shop with failures to repair and approvals to decide; PORT=8001 elsewhere
	@$(BIN)/geneva demo dashboard $(if $(PORT),--port $(PORT))

test: .venv/.dev  ## Run every test on SQLite, PostgreSQL and MySQL
	@$(PYTEST) $(MANY) -m "not scenario"
	@$(PYTEST) $(FEW) -m scenario

quick: .venv/.dev  ## Run the tests on SQLite only, without scenarios, in two minutes
	@GENEVA_TEST_DATABASES=sqlite $(PYTEST) $(MANY) -m "not scenario"

soak: .venv/.dev  ## Kill, race, suspend and command workers for an hour, then break their databases; SOAK_MINUTES=1 for a minute per part
	@$(BIN)/python -m tests.soak $(SOAK)
	@GENEVA_SOAK=1 $(PYTEST) $(FEW) tests/scenarios/trouble tests/scenarios/test_killing_loops.py tests/scenarios/test_killing_batches.py tests/scenarios/test_killing_graphs.py

check: .venv/.dev  ## Check format, lint, types and the order of the rooms
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fix: .venv/.dev  ## Format the code and apply the linter's safe fixes
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

bench: .venv/.bench benchmarks/.venv/.peers  ## Compare with the peers, side by side; QUICK=1 in under three minutes
	@$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(BENCH)

clean:  ## Remove the virtual environment, caches and build products
	@rm -rf .venv benchmarks/.venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* htmlcov
	@find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

.venv: .venv/.dev

.venv/.dev: pyproject.toml | .venv/bin/python
	@echo "Installing geneva-drive with its development tools into .venv (about a minute) ..."
	@$(PIP) --editable '.[dev]'
	@touch .venv/.package .venv/.server $@

# The demonstration needs no linters, test tools or database drivers.
.venv/.package: pyproject.toml | .venv/bin/python
	@echo "Installing geneva-drive into .venv (some seconds) ..."
	@$(PIP) --editable .
	@touch $@

.venv/.server: pyproject.toml | .venv/bin/python
	@echo "Installing geneva-drive with its server into .venv (some seconds) ..."
	@$(PIP) --editable '.[server]'
	@touch $@

.venv/.bench: pyproject.toml benchmarks/requirements.txt | .venv/bin/python
	@echo "Installing geneva-drive with its database drivers and a plotting library into .venv ..."
	@$(PIP) --editable '.[postgres,mysql]' --requirement benchmarks/requirements.txt
	@touch $@

# The peers have an environment of their own: their dependencies are not ours.
benchmarks/.venv/.peers: benchmarks/peers.txt | .venv/bin/python
	@echo "Installing the peers into benchmarks/.venv (some seconds) ..."
	@$(BIN)/python -m venv --clear benchmarks/.venv
	@benchmarks/.venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --requirement benchmarks/peers.txt
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "GenevaDrive needs Python 3.11 or newer, and '$(PYTHON)' is not. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv .venv
