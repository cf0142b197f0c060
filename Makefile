# Everything a fresh machine with Python and make needs is done by these targets; nothing is installed by hand.
.DEFAULT_GOAL := help
.PHONY: help up down test test-fast lint peers bench clean

BIN := .venv/bin
INSTALLED := .venv/.installed
DEVELOPING := .venv/.developing
WORKERS ?= auto

help:  ## What can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up: $(INSTALLED)  ## Install, then bring up the example cluster of simulated machines
	@$(BIN)/talosmith up -i examples/lab --new-secrets --yes --timeline examples/lab/timeline.html

down: $(INSTALLED)  ## Take the example cluster away again
	@$(BIN)/talosmith destroy -i examples/lab --yes

test: lint  ## Everything: style, types, layers, all tests
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-fast: $(DEVELOPING)  ## The inner loop: no slow tests, no peers
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow and not peer" -q --ignore tests/real --ignore tests/contract

lint: $(DEVELOPING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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

clean:  ## Remove what was installed here (the peers' cache stays)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
