# make demo: set up, simulate a real store's options on two devices, name the report.
# make test: lint, types and tests. make test-slow: tests that take long and rarely fail.
# make test-cluster: tests on Dask, Slurm and Ray. make test-browser: pages in Chromium.
# make fuzz: damaged inputs for all readers of foreign files; finds end with exit code 1.
# make course: the course as pages and notebooks, in build/course.
# make docs: the documents as a site with search, the course, example pages and the Python reference, in build/docs.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO_OUT ?= outputs/demo
INSTALLED := .[lab,tune,course]
VALIDATE ?= $(if $(wildcard ../shared/data/public_runs),--write-docs)  # the documents need the public runs

.PHONY: demo course docs examples test test-slow test-cluster test-browser lint types unit references tables bench fuzz validate clean

# Run a command without its output; print the output if the command fails. At every editable install, pip prints a
# warning of setuptools about folders that are mapped to other names. It does not apply, since no folder here is named
# lsmlab.
quietly = @log=$$(mktemp); if $(1) >"$$log" 2>&1; then rm -f "$$log"; else code=$$?; cat "$$log" >&2; rm -f "$$log"; exit $$code; fi

compare_drives = $(BIN)/lsmlab compare --options validation/demo/OPTIONS device=nvme,sata \
  workload=fillrandom workload.num=20M workload.value_size=400 workload.duration=600s --out $(1)

demo: $(VENV)/.installed
	@echo "Simulating the options of a real store for ten minutes on an NVMe drive and on a SATA SSD (about 15 s) ..."
	@$(call compare_drives,$(DEMO_OUT))
	@echo
	@echo "Open the report in a browser. The command is installed in $(VENV); to call it by its name in this shell:"
	@echo "  . $(BIN)/activate"
	@echo "  lsmlab --help"

test: lint types unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: export PYTHONDONTWRITEBYTECODE =  # empty: Python writes bytecode, or each of some hundred test processes would compile all modules again
unit: $(VENV)/.dev
	$(BIN)/pytest -n 2

test-slow: $(VENV)/.dev
	$(BIN)/pytest -n 2 -m slow

test-cluster: $(VENV)/.dev  # Dask with two workers, a Slurm cluster of one node, Ray of two, on this machine; names what is missing
	$(BIN)/pytest -m cluster -rs

test-browser: $(VENV)/.browser  # pages in Chromium; names what is missing
	$(BIN)/pytest -m browser -rs

references: $(VENV)/.dev  # results changed on purpose: write the numbers of the reference runs, and say in the commit why
	LSMLAB_REWRITE=1 $(BIN)/pytest tests/test_references.py

tables: $(VENV)/.dev  # after a change of the results contract: rewrite docs/reference/tables.md
	LSMLAB_REWRITE=1 $(BIN)/pytest tests/test_results_contract.py -k page

course: $(VENV)/.installed  # pages and notebooks of docs/course, which need no network
	$(BIN)/lsmlab course build docs/course --out build/course

examples: $(VENV)/.installed  # pages of docs/tutorial/example-pages.md
	rm -rf build/examples
	$(call compare_drives,build/examples/demo) >/dev/null
	$(BIN)/lsmlab import validation/recordings/static/LOG.xz --out build/examples/import >/dev/null
	$(BIN)/lsmlab whatif build/examples/import device.write_bandwidth=120MB/s 'device=sata limits=none' \
	  --set host.cores=2 --replications 2 --out build/examples/whatif >/dev/null

docs: $(VENV)/.docs course examples  # a static site that needs no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build
	$(BIN)/python docs/site/links.py build/docs
	@echo "Open build/docs/index.html in a browser."

bench: $(VENV)/.dev  # AGAINST=REVISION: measure that revision in turn, and print how many times faster this one is
	$(BIN)/python benchmarks/run.py $(if $(AGAINST),--against $(AGAINST)); $(BIN)/python benchmarks/many.py; $(BIN)/python benchmarks/many_databases.py; $(BIN)/python benchmarks/estimates.py; $(BIN)/python benchmarks/driver.py

fuzz: $(VENV)/.dev  # readers of foreign input: 5,000 damaged inputs; INPUTS=N SEED=N for others
	$(BIN)/python benchmarks/fuzz.py --inputs $(or $(INPUTS),5000) --seed $(or $(SEED),1)

validate: $(VENV)/.dev
	$(BIN)/lsmlab validate $(VALIDATE)

$(VENV)/bin/python:
	@echo "Installing LSMLab into $(VENV) (once, less than a minute) ..."
	$(call quietly,$(PYTHON) -m venv $(VENV))
	$(call quietly,$(PIP) install --upgrade "pip>=25.1")  # the first version that supports --group

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(call quietly,$(PIP) install --editable '$(INSTALLED)')
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.installed
	@echo "Installing the development tools into $(VENV) ..."
	$(call quietly,$(PIP) install --group dev)
	@touch $@

$(VENV)/.browser: pyproject.toml | $(VENV)/.dev
	@echo "Installing the tools of browser tests into $(VENV) ..."
	$(call quietly,$(PIP) install --group browser)
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.installed
	@echo "Installing the tools of the site into $(VENV) ..."
	$(call quietly,$(PIP) install --group docs)
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
