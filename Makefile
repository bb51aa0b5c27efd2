# Every target sets up what it needs: a virtual environment with the package built and installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

CORE := $(wildcard core/*) CMakeLists.txt pyproject.toml

.PHONY: help demo test check bench format clean

help:
	@echo "make demo    explain the paper's running example and an iris forest"
	@echo "make test    run all tests"
	@echo "make check   format, lint, types, import direction"
	@echo "make bench   time the SAT presets on the paper's forests (DATA=folder with the datasets)"

$(STAMP): $(CORE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/treeproof demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

DATA ?= data
bench: $(STAMP)
	$(BIN)/python bench/sat_presets.py --data $(DATA)

clean:
	rm -rf $(VENV) build dist
