# Every way to work on this project. `make` alone lists them.
# Needs make and one Python 3.11 to 3.13; the rest goes into .venv (docs/decisions/0002-one-venv-keyed-by-hash.md).

PYTHON ?=
JOBS ?= auto
PROFILE ?= fast
ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
# Each process gets tests that stand beside each other, which share the fixtures of a file, and takes from others at the end.
PYTEST = $(RUN) -m pytest -n $(JOBS) --dist worksteal --hypothesis-profile=$(PROFILE)
NEEDS_MORE := interop or inspector or conformance or packaging or hosts or browser

# Both distort every start-up time, and the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help .venv demo test check bench soak prove schemas docs plugins interop bundle fmt clean \
	format lint contracts types cover schemas-check docs-check plugins-check

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z.-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PYTHON=python3.12 builds .venv with that Python (else the newest that runs, or the one it has)"
	@echo "  JOBS=0 runs the tests in one process; PROFILE=deep searches longer; ARGS='-k name' goes to pytest"

.venv: ## Make .venv, or leave it when it is whole and current
	@if [ -z "$(PYTHON)" ] && $(RUN) -I -S .ci/venv.py --check 2>/dev/null; then exit 0; fi; \
	for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
		if $$python -I .ci/venv.py --fit 2>/dev/null; then exec $$python -I .ci/venv.py; fi; \
	done; \
	echo "make: no Python 3.11 to 3.13 with venv and ensurepip found; say PYTHON=/path/to/python" >&2; exit 1

demo: .venv ## Schedule an example workspace over MCP and show what an agent sees
	@$(RUN) -m metagit_mcp demo

test: .venv ## Run the tests that need nothing but Python; prints the ten slowest
	@$(PYTEST) --junitxml=build/junit/test.xml $(COVER) $(ARGS)

check: format lint contracts types schemas-check docs-check plugins-check cover ## Everything that must hold before a commit

format: .venv
	@$(RUN) -m ruff format --check .

lint: .venv
	@$(RUN) -m ruff check .

contracts: .venv
	@$(VENV)/bin/lint-imports --no-logo

types: .venv
	@$(RUN) -m mypy

# `make test` itself, measured: the tests run once.
cover: .venv
	@$(MAKE) --no-print-directory test COVER="--cov --cov-report="
	@$(RUN) -m coverage report --fail-under=100

schemas-check: .venv
	@$(RUN) -m metagit_mcp schemas check

docs-check: .venv
	@$(if $(wildcard docs/generate.py),$(RUN) docs/generate.py --check,echo "docs/generate.py is not there: no page to check")

plugins-check: .venv
	@$(RUN) packaging/plugins/generate.py --check

schemas: .venv ## Write schemas/ from the code
	@$(RUN) -m metagit_mcp schemas export schemas

docs: .venv ## Write the generated pages of docs/ from the code
	@$(RUN) docs/generate.py

plugins: .venv ## Write the plugins for agent hosts from packaging/plugins
	@$(RUN) packaging/plugins/generate.py

bench: .venv ## Measure the ratios of docs/reference/performance.md
	@$(RUN) -m compileall -q metagit_mcp tests
	@$(RUN) -m tests.bench $(ARGS)

soak: .venv ## Ten minutes of a fleet over HTTP on PostgreSQL, killed at random (SECONDS, LEDGER)
	@$(RUN) -m tests.soak --seconds $(or $(SECONDS),600) --ledger $(or $(LEDGER),postgres) $(ARGS)

prove: .venv ## Break single lines of the code: the tests that claim them must notice
	@$(RUN) -m tests.requirements.prove

interop: .venv ## Run the tests that need more than Python (.ci/interop installs it)
	@$(PYTEST) -m "$(NEEDS_MORE)" --junitxml=build/junit/interop.xml $(ARGS)

bundle: .venv ## Pack the MCPB bundle for desktop hosts into dist/
	@$(RUN) .ci/bundle.py

fmt: .venv ## Format, and repair what the linter can repair
	@$(RUN) -m ruff check --fix-only --quiet .
	@$(RUN) -m ruff format .

clean: ## Remove what the targets wrote, except .venv
	@rm -rf build dist .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . \( -path ./$(VENV) -o -path ./.git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
