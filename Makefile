# Two commands do everything on a fresh machine: `make run` and `make test`.
# Both build .venv from the locked requirements first; only python3, pip and make are needed.

SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin

# The first interpreter that is new enough and really starts (a shim may exist and do nothing).
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

# Tests and benchmarks start thousands of processes, which must not compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run install quick test test-failed test-all lint dist docs format bench screenshots parity demo lock clean

help:  ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(VENV)/runnable  ## open branchline on the sessions found on this machine
	@$(BIN)/branchline $(ARGS)
	@echo "branchline is installed in $(VENV): call $(BIN)/branchline, or 'make install' to call it from anywhere" >&2

install: $(VENV)/runnable  ## make the command available as ~/.local/bin/branchline, with its manual page
	@mkdir -p "$(HOME)/.local/bin" "$(HOME)/.local/share/man/man1"
	@ln -sf "$(abspath $(BIN))/branchline" "$(HOME)/.local/bin/branchline"
	@$(BIN)/python -m branchline.cli.man_page > "$(HOME)/.local/share/man/man1/branchline.1"
	@echo "installed $(HOME)/.local/bin/branchline and its manual page"
	@case ":$$PATH:" in *":$(HOME)/.local/bin:"*) ;; *) echo "add $(HOME)/.local/bin to your PATH to use it";; esac

# The heart, for the time between two edits: no terminal, server, browser or long search for examples.
QUICK := tests/entries tests/flows \
	$(patsubst %,tests/tree/test_%.py,compare index links outline outline_nodes) \
	$(patsubst %,tests/context/test_%.py,builder system_prompt tokens tool_pairs) \
	$(patsubst %,tests/log/test_%.py,contract replace tail) \
	$(patsubst %,tests/formats/test_%.py,answers chains claude_code codex detect event_logs) \
	$(patsubst %,tests/formats/test_%.py,json_documents peek conversion_origins whole_answers) \
	$(patsubst %,tests/stores/test_%.py,contract files keys sources sqlite) \
	$(patsubst %,tests/session/test_%.py,factories forks lines tree verbs write) \
	$(patsubst %,tests/library/test_%.py,activity finding one_session)

quick: $(VENV)/ready  ## run the heart of the tests, in under a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" -k "not postgres" $(QUICK) $(ARGS)

# Tests wait for real programs, servers and terminals: three processes keep two processors busy. A run that
# breaks off (an exit code other than 1) leaves no failures for `make test-failed`: the other tests did not run.
test: $(VENV)/ready  ## run every test but the long campaigns
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow" $(ARGS) \
		|| { code=$$?; [ $$code = 1 ] || rm -f .pytest_cache/v/cache/lastfailed; exit $$code; }

test-failed: $(VENV)/ready  ## run up to three tests that failed last time once more, alone; those that pass are flaky
	$(BIN)/python scripts/rerun_failed.py $(ARGS)

test-all: $(VENV)/ready  ## run every test, long campaigns included
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: $(VENV)/ready  ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

dist: $(VENV)/ready  ## build wheel and sdist, and test both in clean environments
	$(BIN)/python scripts/check_dist.py

docs: $(VENV)/ready  ## build the documentation as a website in build/docs, with the manual page
	@$(BIN)/python scripts/build_docs.py build/docs

format: $(VENV)/ready  ## put the code into its one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/ready  ## measure against the real pi, side by side
	$(BIN)/python -m bench $(ARGS)
	$(BIN)/python -m bench.terminal
	$(BIN)/python -m bench.catalog
	$(BIN)/python -m bench.html

screenshots: $(VENV)/ready  ## make the pictures of the screens in docs again
	$(BIN)/python scripts/screenshots.py docs/screenshots --only sessions search tree statistics compare
	$(BIN)/python scripts/screenshots.py docs/screenshots --only transcript --theme light
	$(BIN)/python scripts/screenshots.py docs/screenshots --only transcript --size 160x48
	$(BIN)/python scripts/animated_picture.py docs/screenshots/search-and-tree.svg

parity: $(VENV)/ready  ## which promises of the reference systems are met, by which tests
	$(BIN)/python -m pytest -q -n 2 -p no:cacheprovider -m parity --parity-table $(ARGS)

demo: $(VENV)/ready  ## write the demo library of the package again
	$(BIN)/python scripts/make_demo.py

lock:  ## write requirements/*.txt again (needs uv)
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--upgrade --group dev --extra all --extra openai-agents --extra langgraph --extra pydantic-ai \
		pyproject.toml -o requirements/dev.txt -q
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--upgrade --constraints requirements/dev.txt --group build --extra all pyproject.toml \
		-o requirements/run.txt -q
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
		--upgrade --constraints requirements/dev.txt pyproject.toml -o requirements/base.txt -q
	@! grep -n '://' requirements/*.txt

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

# What running needs; `make test` adds the rest to the same environment.
$(VENV)/runnable: requirements/run.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "branchline needs Python 3.11 or newer; none found" >&2; exit 1; }
	@echo "1/3 creating $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@echo "2/3 installing $$(grep -c '==' requirements/run.txt) packages; this takes about a minute" >&2
	@$(PIP) --require-hashes -r requirements/run.txt
	@echo "3/3 installing branchline" >&2
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/ready: requirements/dev.txt $(VENV)/runnable
	@echo "installing what the tests need" >&2
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@
