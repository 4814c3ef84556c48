# Every target makes its own virtual environment in .venv when there is none and installs what it needs.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test test-all test-oldest dist golden mutants attack lint format bench docs linkcheck clean

demo: $(VENV)/.installed-demo  ## models for tables that ship with scikit-learn; writes demo-output/
	$(BIN)/python -m bochner.demo

test: $(VENV)/.installed-dev  ## the quick tests
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test-all: $(VENV)/.installed-dev  ## the quick tests and those that take minutes
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m ""

test-oldest: $(OLDEST)/.installed  ## the quick tests with the lowest versions that pyproject.toml allows; tests="tests/unit/test_features.py" for some of them
	@# Old versions warn of changes that newer ones have made.
	$(OLDEST)/bin/python -m pytest -n auto -W default::FutureWarning -W default::DeprecationWarning $(tests)

dist: $(VENV)/.installed-dev  ## wheel and sdist in dist/, their contents checked, installed and tried in an empty environment
	$(BIN)/python tools/dist.py

golden: $(VENV)/.installed-dev  ## results of the current code against stored ones, exactly; names="bounds/ estimators/Spectral" for some of them
	$(BIN)/python tools/golden.py $(names)

mutants: $(VENV)/.installed-dev  ## wrong formulas, one at a time: do the tests fail?  names="bernstein game-" runs some of them
	$(BIN)/python tools/mutants.py $(names)

attack: $(VENV)/.installed-dev  ## bad inputs on every estimator, as a table of what came of each
	$(BIN)/python -m tests.hostile

lint: $(VENV)/.installed-dev  ## ruff (lint and format), codespell and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev  ## one table of speed ratios, written to benchmarks/results.md
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.installed-docs  ## the site, with the gallery, in docs/_build/html; warnings and broken links are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

linkcheck: $(VENV)/.installed-docs  ## links from the site to the world; needs a network
	$(BIN)/python -m sphinx -q -b linkcheck -D plot_gallery=0 docs docs/_build/linkcheck

clean:
	rm -rf docs/_build docs/generated docs/gallery docs/api/generated
	rm -rf $(VENV) $(OLDEST) build dist .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "bochner needs Python 3.11 or newer, and none was found. Write: make PYTHON=/path/to/python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV)
	@# Dependency groups need pip 25.1.
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[plot,progress]"
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group docs
	@touch $@

$(OLDEST)/.installed: pyproject.toml tools/oldest_versions.py
	@test -n "$(PYTHON)" || { echo "bochner needs Python 3.11 or newer, and none was found. Write: make PYTHON=/path/to/python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv --clear $(OLDEST) || $(PYTHON) -m virtualenv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(OLDEST)/bin/python tools/oldest_versions.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable ".[all]" --group dev
	@touch $@
