# Two commands for everybody: `make demo` and `make test`. Each does its own set-up
# from a bare clone, in `.venv`; a second call finds it done.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# The interpreter to build `.venv` with; the first of these that is new enough.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$python; break; }; done)
JOBS ?= 2
# Moments that `make kill-test` kills runs at, as many with effects, and fewer that direct.
MOMENTS ?= 200

.PHONY: help demo test test-all kill-test bench setup bubblewrap format lint types unit \
	package slow pictures clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo      run the example with the offline model: no key, no cost'
	@echo 'make test      every check that is fast enough to run often'
	@echo 'make test-all  the slow tests as well'
	@echo 'make kill-test kill runs at over 2 × $(MOMENTS) moments and go on with each; minutes'
	@echo 'make bench     print what durability, long runs and wide fan-outs take; minutes'
	@echo 'make pictures  draw the pictures of the README anew, from a run of the first example'
	@echo 'make format    put the code in form'
	@echo 'make clean     remove .venv, builds and caches; runs stay'

# Both of the two stamps below mean: installed as pyproject.toml says now.

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'needs Python 3.11 or later' >&2; exit 1; }
	@echo '== set-up: $(VENV) with $(PYTHON)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		command -v apt-get >/dev/null && test "$$(id -u)" = 0 && \
		apt-get update -q && apt-get install -qy python3-venv; } || { \
		echo '$(PYTHON) cannot make environments; on Debian: apt-get install python3-venv' >&2; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.pip: $(BIN)/python
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.package: pyproject.toml | $(VENV)/.pip
	@echo '== set-up: the package'
	$(PIP) install --quiet -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.pip
	@echo '== set-up: the package and what its checks need'
	$(PIP) install --quiet -e '.[documents,mcp,personal,plots,semantic]' --group dev
	@touch $(VENV)/.package $@

setup: $(VENV)/.dev

demo: $(VENV)/.package
	$(BIN)/orchestrate run examples/quickstart.yaml --model offline
	@echo
	@echo "The report above is kept in $$(ls -td runs/*/ | head -n 1)report.md"
	@echo 'Look at the run:'
	@echo '  $(BIN)/orchestrate show last            who did what, and what it cost'
	@echo '  $(BIN)/orchestrate logs last            what happened, in order'
	@echo '  $(BIN)/orchestrate notes last           the notes that the lead kept'
	@echo '  $(BIN)/orchestrate transcript last a1   the conversation of a subagent'
	@echo '  $(BIN)/orchestrate context last         what filled the context of the lead'

# Fastest first.
test: lint types unit package
	@echo '== all checks passed'

test-all: test slow

lint: $(VENV)/.dev
	@echo '== form and layers'
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.dev
	@echo '== types'
	$(BIN)/mypy

# Commands of agents run under it, in tests too.
bubblewrap:
	@command -v bwrap >/dev/null || { \
		command -v apt-get >/dev/null && test "$$(id -u)" = 0 && \
		apt-get update -q && apt-get install -qy bubblewrap; } || { \
		echo 'the tests need bubblewrap (`bwrap`); on Debian: apt-get install bubblewrap' >&2; \
		exit 1; }

unit: $(VENV)/.dev bubblewrap
	@echo '== tests'
	$(BIN)/python -m pytest -q -n $(JOBS) -m 'not slow and not live'

package: $(VENV)/.dev
	@echo '== the wheel, built and installed'
	$(BIN)/python -m pytest -q tests/packaging/test_wheel.py

slow: $(VENV)/.dev bubblewrap
	@echo '== slow tests'
	$(BIN)/python -m pytest -q -n $(JOBS) -m 'slow and not live' $(SLOW) \
		--ignore tests/packaging/test_wheel.py

kill-test: $(VENV)/.dev
	@echo '== runs that are killed at $(MOMENTS) moments, as many with effects, and some that direct'
	KILL_MOMENTS=$(MOMENTS) $(BIN)/python -m pytest -q -n $(JOBS) -m kill -rP

bench: $(VENV)/.dev
	@echo '== benchmarks: figures of this machine, to be compared within one run'
	@for each in tests/benchmarks/*.py; do \
		PYTHONPATH=tests/support $(BIN)/python $$each || exit 1; done

pictures: $(VENV)/.dev
	$(BIN)/python docs/picture.py

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist .*_cache .hypothesis .coverage
