# The verbs of the project. `run` and `test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

.PHONY: run test check contracts bench screenshots format lock clean

run: $(STAMP)           ## open Rho here; the demo provider answers when no other is configured
	@$(PY) -m compileall -q rho_core rho_tui
	@$(PY) -m rho_tui --or-demo $(ARGS)

test: $(STAMP)          ## check and run the whole suite
	@$(MAKE) --no-print-directory check
	@$(PY) -m compileall -q rho_core rho_tui tests benchmarks
	@$(PY) -m pytest -n 3 --dist worksteal $(ARGS)

check: $(STAMP)         ## formatting, linting, types, import contracts
	@$(VENV)/bin/ruff format --check -q .
	@$(VENV)/bin/ruff check -q .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-cache

contracts: $(STAMP)     ## which tests prove which clause of docs/contracts; fails on a gap
	@$(PY) -m tests.clauses

bench: $(STAMP)         ## figures as ratios to floors taken in the same run
	@$(PY) -m compileall -q rho_core rho_tui benchmarks
	@$(PY) -m benchmarks $(ARGS)

screenshots: $(STAMP)   ## draw screenshots/*.svg from the real app
	@$(PY) -m tests.screenshots

format: $(STAMP)        ## format and fix what can be fixed
	@$(VENV)/bin/ruff format -q .
	@$(VENV)/bin/ruff check -q --fix .

lock:                   ## resolve requirements-dev.lock again (needs uv)
	@uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-header \
		--no-emit-index-url --no-emit-find-links --extra dev pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Rho needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …"; exit 1; }
	@echo "Installing Rho and its tools into $(VENV) (once) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)
