# Everything runs in .venv inside the checkout; nothing is installed elsewhere.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 $(BIN)/python -m pip
SOURCES := $(shell find npac grammar schemas docs/rules -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: help demo test soak lint sky-accept golden catalog bench clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed ## install npac into .venv and run the quickstart workflow to its end
	@$(BIN)/npac run workflows/quickstart.yaml

test: lint ## check types, style and import rules, and run all tests
	@$(BIN)/python -m pytest -n auto --dist worksteal

# The simulator plays 100,000 schedules at random then, and whole products of faults for one wave.
soak: $(VENV)/.developing ## run the property tests and the simulator with many more examples, for an hour or two
	@NPAC_SOAK=1 NPAC_WALK_EXAMPLES=20000 $(BIN)/python -m pytest -n auto -k 'not workflows'

lint: $(VENV)/.developing ## check types, style, import rules and generated files
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m npac.catalog.precompile --check

# SkyPilot and what it needs stay apart from npac's own environment.
sky-accept: $(VENV)/.developing $(VENV)/sky-newest/.made $(VENV)/sky-0.12/.made ## let real SkyPilot judge every document
	@NPAC_SKY_PYTHON=$(CURDIR)/$(VENV)/sky-newest/bin/python NPAC_SKY012_PYTHON=$(CURDIR)/$(VENV)/sky-0.12/bin/python \
	$(BIN)/python -m pytest -q tests/backends/test_sky_acceptance.py tests/backends/test_real_skypilot.py

golden: $(VENV)/.developing ## write the golden builds under golden/ anew
	@NPAC_UPDATE_GOLDEN=1 $(BIN)/python -m pytest tests -q -k golden

catalog: $(VENV)/.developing ## write the precompiled tool catalog anew from its YAML files
	@$(BIN)/python -m npac.catalog.precompile

bench: $(VENV)/.developing $(VENV)/.comparing ## run the measurements under bench/, beside yamllint and check-jsonschema
	@shopt -s nullglob; \
	for file in bench/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

$(VENV)/.comparing: | $(VENV)/.made
	@echo "Installing yamllint and check-jsonschema …"
	@$(PIP) install --quiet yamllint check-jsonschema
	@touch $@

clean: ## remove .venv and everything that tools leave behind
	@rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "npac needs Python 3.11 or newer; $(PYTHON) is older or absent. Try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/sky-newest/.made: SKYPILOT := 'skypilot>=0.14'
$(VENV)/sky-0.12/.made: SKYPILOT := 'skypilot==0.12.2.post1' 'fastapi<0.116'
$(VENV)/sky-%/.made: | $(VENV)/.made
	@echo "Making $(@D) …"
	@$(PYTHON) -m venv --clear $(@D)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 $(@D)/bin/python -m pip install --quiet $(SKYPILOT)
	@touch $@

# An installed copy must follow the sources; a development install reads them where they are.
$(VENV)/.installed: pyproject.toml $(SOURCES) | $(VENV)/.made
	@if [ ! -e $(VENV)/.developing ]; then echo "Installing npac …"; $(PIP) install --quiet .; fi
	@touch $@

$(VENV)/.developing: pyproject.toml | $(VENV)/.made
	@echo "Installing npac and its development tools …"
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $@
