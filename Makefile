# Two commands do everything on a fresh machine: `make run` and `make test`.
# Both build .venv from the locked requirements first; only python3, pip and make are needed.

SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin

# The first interpreter that is new enough and really starts (a shim may exist and do nothing).
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint dist format bench screenshots parity demo lock clean

help:  ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(VENV)/ready  ## open branchline on the sessions found on this machine
	@$(BIN)/branchline $(ARGS)

test: $(VENV)/ready  ## run every test but the long campaigns
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

test-all: $(VENV)/ready  ## run every test, long campaigns included
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -n 2 $(ARGS)

lint: $(VENV)/ready  ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

dist: $(VENV)/ready  ## build wheel and sdist, and test both in clean environments
	$(BIN)/python scripts/check_dist.py

format: $(VENV)/ready  ## put the code into its one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/ready  ## measure against the real pi, side by side
	$(BIN)/python -m bench $(ARGS)
	$(BIN)/python -m bench.terminal
	$(BIN)/python -m bench.catalog

screenshots: $(VENV)/ready  ## make the pictures of the screens in docs again
	$(BIN)/python scripts/screenshots.py docs/screenshots --only sessions search tree statistics compare
	$(BIN)/python scripts/screenshots.py docs/screenshots --only transcript --theme light

parity: $(VENV)/ready  ## which promises of the reference systems are met, by which tests
	$(BIN)/python -m pytest -q -n 2 -p no:cacheprovider -m parity --parity-table $(ARGS)

demo: $(VENV)/ready  ## write the demo library of the package again
	$(BIN)/python scripts/make_demo.py

lock:  ## write requirements/*.txt again (needs uv)
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--upgrade --group dev --extra all --extra openai-agents --extra langgraph --extra pydantic-ai \
		pyproject.toml -o requirements/dev.txt -q
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--upgrade --constraints requirements/dev.txt pyproject.toml -o requirements/base.txt -q
	@! grep -n '://' requirements/*.txt

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/ready: requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "branchline needs Python 3.11 or newer; none found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
