# make demo: set up, simulate a real store's options on two devices, name the report.   make test: everything that must hold.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
DEMO_OUT ?= outputs/demo
VALIDATE ?= $(if $(wildcard ../shared/data/public_runs),--write-docs)  # the documents need all of it

.PHONY: demo test lint types unit digests bench validate clean

demo: $(VENV)/.installed
	$(BIN)/lsmlab compare --options validation/demo/OPTIONS device=nvme,sata \
	  workload=fillrandom workload.num=20M workload.value_size=400 workload.duration=600s --out $(DEMO_OUT)

test: lint types unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(BIN)/pytest -n 2

digests: $(VENV)/.dev  # results changed on purpose: write their digests, and say in the commit why
	LSMLAB_REWRITE=1 $(BIN)/pytest -n 2 tests/test_digests.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

validate: $(VENV)/.dev
	$(BIN)/lsmlab validate $(VALIDATE)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"  # the first that reads dependency groups

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
