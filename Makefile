# Every target sets up what it needs; only Python 3.11+ and make are taken for granted.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WHEEL_VENV := build/wheel-venv
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-wheel check bench docs clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $@

demo: $(READY) ## Profile a real session that ships with the package
	$(BIN)/ctxheap demo

test: $(READY) ## Run all tests
	$(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

test-wheel: $(READY) ## Build the wheel and run the tests against it, without the sources
	rm -rf build dist
	$(BIN)/python -m build --quiet --outdir dist .
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(WHEEL_VENV)/bin/python -m pip install --quiet "$$(ls dist/*.whl)[all]" --group dev
	$(WHEEL_VENV)/bin/python -m pytest -n auto -m 'not checkout' $(PYTEST_ARGS)

check: $(READY) ## Lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright

bench: $(READY) ## Run the benchmarks; each prints its peer or limit beside it
	$(BIN)/python benchmarks/profile.py
	$(BIN)/python benchmarks/tokens.py
	$(BIN)/python benchmarks/install.py
	$(BIN)/python benchmarks/evidence.py --labels ../shared/labels/use_coding.json --data ../shared/data
	$(BIN)/python benchmarks/evidence.py --labels ../shared/labels/use_service.json --data ../shared/data
	$(BIN)/python benchmarks/leaks.py --generator ../shared/eval/leak_series.py --seed 9000 --per-kind 250
	$(BIN)/python benchmarks/leaks.py --labels ../shared/labels/leaks.json --data ../shared/data
	$(BIN)/python benchmarks/simulated_agents.py
	$(BIN)/python benchmarks/spirals.py --labels ../shared/labels/leaks.json --data ../shared/data
	$(BIN)/python benchmarks/paragraphs.py
	$(BIN)/python benchmarks/replay.py

docs: $(READY) ## Draw the pictures of the README from real runs
	$(BIN)/python docs/pictures.py

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
