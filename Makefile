# Needs Python 3.11 or newer with pip, and g++. Everything is installed into .venv, nothing elsewhere.
# Another Python: make run PYTHON=python3.12

PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
WORKERS ?= 2  # processes that run the tests; 0: none but pytest itself
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
EDITABLE := --config-settings editable_mode=compat -e  # a plain path entry: 15 ms less per start of Python
CORE := .venv/core.ok
FULL := .venv/full.ok

# The main job: train a small network on the built-in digits over several seeds, with a written report.
MAIN_JOB := $(BIN)/d5 run recipes/digits_cnn.py --out results/digits-cnn-$$(date +%Y%m%d-%H%M%S)

.PHONY: help run test test-all test-gpu lint bench conformance clean
.NOTPARALLEL:

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /make \1	/p' Makefile

run: $(CORE)  ## set up the core and PyTorch, then run the recipe for handwritten digits
	@mkdir -p results
	@$(MAIN_JOB)

test: lint  ## set up everything, then lint, types and the quick tests
	$(BIN)/python -m pytest -q -m "not slow" -n $(WORKERS) --dist worksteal

test-all: lint  ## the slow set of tests too; every cell of its grids with DEEP500_EXHAUSTIVE=1
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-gpu: $(FULL)  ## for an owner of a GPU: PyTorch on it, or on the device in DEEP500_DEVICE
	$(BIN)/python -m pytest -q -rs tests/devices/test_hardware.py

lint: $(FULL)  ## ruff (format and rules) and mypy
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check
	$(BIN)/mypy

bench: $(FULL)  ## run what is in benchmarks/, one after another
	@set -e; for f in $(sort $(filter-out benchmarks/_%, $(wildcard benchmarks/*.py))); do \
		echo "== $$f"; $(BIN)/python "$$f"; done

conformance: $(FULL)  ## ONNX's test suite on every framework; writes docs/conformance.md (minutes)
	$(BIN)/python benchmarks/_conformance.py --page docs/conformance.md

clean:  ## remove what make has made (results/ stays)
	rm -rf .venv build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp says that an install finished. Both go before one starts: half an install must not look like one.
$(CORE): pyproject.toml constraints.txt
	$(if $(PYTHON),,$(error Deep500 needs Python 3.11 or newer; neither python3.11 nor python3 is: name one with PYTHON=))
	@echo "Setting up .venv (a minute or two) ..."
	@rm -f $(CORE) $(FULL)
	@$(PYTHON) -m venv .venv
	@$(PIP) $(EDITABLE) '.[pytorch]'
	@touch $(CORE)

$(FULL): $(CORE)
	@echo "Setting up every framework and the tools in .venv (some minutes, 4 GB) ..."
	@rm -f $(CORE) $(FULL)
	@$(PIP) $(EDITABLE) '.[all,dev]'
	@touch $(CORE) $(FULL)
