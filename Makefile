# Everything a fresh machine with Python and make needs is done by these targets; nothing is installed by hand.
.DEFAULT_GOAL := help
.PHONY: help up down test test-fast test-real real lint peers bench clean

BIN := .venv/bin
INSTALLED := .venv/.installed
DEVELOPING := .venv/.developing
LIBVIRT := .venv/.libvirt
WORKERS ?= auto
# Tests with whole clusters wait half of their time: two processes for each core.
MORE_WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2)
# Those with real nodes wait, too, but each has more processes of its own.
REAL_WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

help:  ## What can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up: $(INSTALLED)  ## Install, then bring up the example cluster of simulated machines
	@$(BIN)/talosmith up -i examples/lab --new-secrets --yes --timeline examples/lab/timeline.html

down: $(INSTALLED)  ## Destroy the example cluster
	@$(BIN)/talosmith destroy -i examples/lab --confirm lab

# Rewritten assertions are kept as bytecode, also where the environment says otherwise: each run saves seconds.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest --dist worksteal
test: lint  ## Style, types, layers, and every test that needs nothing but Python; none is skipped
	TALOSMITH_NO_SKIPS=1 TALOSMITH_PYTHON_ALONE=1 $(PYTEST) -n $(MORE_WORKERS) --ignore tests/real --ignore tests/contract -m "not real"
	@echo "make test-real adds the tests that need the real talosctl, Talos, Kubernetes, libvirt, helm and sops, or root"

# All of these are slow; to collect them imports moto, in each worker.
MOTO := --ignore tests/lab/aws --ignore tests/unit/providers/aws --ignore tests/unit/simulators/aws
test-fast: $(DEVELOPING)  ## The inner loop: nothing slow, nothing real
	$(PYTEST) -n $(WORKERS) --ignore tests/real --ignore tests/contract $(MOTO) -m "not slow and not real" -q

test-real: test real  ## Build the peers that are missing, then run every test; needs root on Linux

real: peers $(LIBVIRT)
	TALOSMITH_NO_SKIPS=1 $(PYTEST) -n $(REAL_WORKERS) -m real

lint: $(DEVELOPING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.words

peers: $(DEVELOPING)  ## Build the real tools that tests compare with (minutes, once)
	$(BIN)/python -m tools.peers

bench: peers  ## Measure, against the peers, in one run
	$(BIN)/python -m bench

$(INSTALLED): pyproject.toml constraints.txt
	@sh tools/install.sh
	@touch $@

$(DEVELOPING): pyproject.toml constraints.txt
	@sh tools/install.sh dev
	@touch $@ $(INSTALLED)

$(LIBVIRT): $(DEVELOPING)
	@sh tools/install.sh dev,libvirt
	@touch $@

clean:  ## Remove what was installed here (the peers' cache stays)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
