# `make quickstart` learns Kalah, `make test` runs the tests; each sets up what it needs.
#
# PYTHON=python3.12    the interpreter that .venv is made from (3.11 or newer)
# TORCH_INDEX=URL      the package index that torch is taken from (a CPU or another CUDA build)
# ARGS="-k arena -x"   more words for pytest
# The first two count while .venv is made: `make clean` first to change them later.

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=

BIN := .venv/bin
STAMP := .venv/.stamp
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
PYTEST := OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=2 $(BIN)/python -m pytest -q

.DEFAULT_GOAL := help
.PHONY: help setup quickstart test test-slow verify-solved verify-checkpoint verify-bundle check smoke wheel constraints clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 18

setup: $(STAMP)  ## .venv with pinned packages and this project
	@echo "Ready: .venv, $$($(BIN)/python --version). 'make clean' to start over."

# The stamp comes last, so a set-up that was cut short is done again.
$(STAMP): pyproject.toml constraints.txt
	@rm -f $@
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "kalah-env needs Python 3.11 or newer, and '$(PYTHON)' is not: make setup PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: install its venv package (Debian: python3-venv)"; exit 1; }
	@test "$$($(BIN)/python -c 'import pip, sys; print(sys.version)' 2>/dev/null)" = \
	  "$$($(PYTHON) -c 'import sys; print(sys.version)')" || $(PYTHON) -m venv --clear .venv
	@echo "Installing packages into .venv (takes minutes the first time)"
	@$(if $(TORCH_INDEX),$(PIP) install --no-deps --index-url $(TORCH_INDEX) -c constraints.txt torch)
	@$(PIP) install -c constraints.txt hatchling editables
	@$(PIP) install --no-build-isolation -c constraints.txt -e '.[dev]'
	@touch $@

quickstart: $(STAMP)  ## train a net on Kalah(6,4), play it against the baselines, export it
	$(BIN)/python -m train.quickstart

test: $(STAMP)  ## the tests but the slow ones
	$(PYTEST) -m 'not slow' $(ARGS)

test-slow: $(STAMP)  ## the slow tests
	$(PYTEST) -m slow $(ARGS)

verify-solved: $(STAMP)  ## published values of Kalah again, up to 6x4: minutes (ARGS=6x5: an hour)
	PYTHONPATH=. $(BIN)/python tests/verify_solved.py $(ARGS)

verify-checkpoint: $(STAMP)  ## grades of the published net again: minutes (FULL=1: all agents; NAME=kalah-6x6)
	PYTHONPATH=. $(BIN)/python tests/verify_checkpoint.py $(NAME) $(if $(FULL),--full)

verify-bundle: $(STAMP)  ## grades of a one-file bot without a compiler: minutes
	PYTHONPATH=. $(BIN)/python tests/verify_bundle.py $(ARGS)

check: $(STAMP)  ## lint, format, types, imports, house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(PYTEST) tests/test_house.py

smoke: $(STAMP)  ## train for a minute on a tiny board; the net must beat random
	rm -rf runs/smoke
	$(BIN)/kalah train configs/tiny.yaml name=smoke
	PYTHONPATH=. $(BIN)/python tests/check_smoke.py runs/smoke

wheel: $(STAMP)  ## source archive and, from it, the wheel, in dist/
	$(BIN)/python -m build --no-isolation

constraints: $(STAMP)  ## pins what .venv holds now (after a change of pyproject.toml)
	@{ echo '# Every package of .venv, pinned. Made by `make constraints`.'; \
	  { grep '^mctx==' constraints.txt; $(BIN)/python -m pip freeze --all --exclude-editable; } \
	  | sed -e '/^pip==/d' -e 's/+.*//' | sort -fu; } > constraints.new  # mctx is no part of .venv
	@mv constraints.new constraints.txt && touch $(STAMP)

clean:  ## removes .venv, caches and build products; runs/ and checkpoints/ stay
	rm -rf .venv build dist .pytest_cache .hypothesis .ruff_cache .import_linter_cache
	find kalah_env agents train tests -name __pycache__ -prune -exec rm -rf {} +
