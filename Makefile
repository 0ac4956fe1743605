# The commands of SensorStream. A fresh machine needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# With their Java classes in a file, Spark and the reasoners take half the CPU time to start; the
# tests start them often.
CLASSES := $(VENV)/cache/.ready
CACHE := XDG_CACHE_HOME=$(CURDIR)/$(VENV)/cache
# All packages stand in the files: none is looked for. Python compiles what is not compiled here.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint packages release conformance docs reference campaign endurance grammars pictures bench clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*##  *\(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(READY)  ## the main job, live, on embedded defaults; ends by itself
	$(BIN)/sensorstream demo

test: $(READY) $(CLASSES)  ## the whole test suite, on all cores
	$(CACHE) $(BIN)/python -m pytest -n auto --dist loadfile \
		--no-loadscope-reorder  # tests/conftest.py has the order

lint: $(READY)  ## format, style, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

packages: $(READY)  ## what a release would have: built, checked, tried with every Python here; fetches dependencies
	$(BIN)/python -m tests.package.release --draft

release: $(READY)  ## the same, and a tag, if nothing is in its way
	$(BIN)/python -m tests.package.release

conformance: $(READY)  ## the W3C and RML suites, into docs/understand/conformance.md
	$(BIN)/python -m tests.w3c.conformance

docs: $(READY)  ## the site of the documents, which 'sensorstream docs' serves
	$(BIN)/python -m tests.package.site

reference: $(READY)  ## the reference tables of docs, from the code, and the licences in NOTICE
	$(BIN)/python -m tests.reference
	$(BIN)/python -m tests.package.notice

campaign: $(READY) $(CLASSES)  ## the test suite with ten times as many random examples, others in each run
	env -u CI $(CACHE) TEST_EFFORT=10 $(BIN)/python -m pytest -n auto --dist loadfile \
		--no-loadscope-reorder

endurance: $(READY)  ## fifty faults at random points under load; takes some ten minutes
	$(BIN)/python -m tests.integration.endurance --rounds 50

grammars: $(READY)  ## the tables of the grammars, after a change of one of them
	$(BIN)/python -m tests.grammar_tables

pictures: $(READY)  ## the pictures of the pages in docs/pictures, made by their tests; needs chromium
	PICTURES_OF_PAGES=docs/pictures $(BIN)/python -m pytest -q tests/console

bench: $(READY) build/peers/.tried  ## all that is compared with others, by turns, into docs/understand/performance.md
	$(BIN)/python -m benchmarks

# Peers that cannot live in our environment; without one, its line of the table says so.
build/peers/.tried:
	-$(PYTHON) -m venv build/peers && build/peers/bin/python -m pip install --quiet morph-kgc
	@mkdir -p build/peers && touch $@

clean:  ## remove what was made here
	rm -rf $(VENV) build dist site

$(READY): requirements.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("SensorStream needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -c 'import venv, ensurepip' || { echo "Python's venv module is missing: install your system's python3-venv package"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --config-settings=--build-option=--compression=stored -r requirements.txt -r requirements-dev.txt
	$(INSTALL) --no-build-isolation --editable .
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || :
	@touch $(READY)

$(CLASSES): $(READY)
	$(CACHE) $(BIN)/python -m tests.java_classes
	@touch $(CLASSES)
