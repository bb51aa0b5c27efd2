# Every target sets up what it needs: a virtual environment with the package built and installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

CORE := $(wildcard core/*.cpp core/*.hpp) CMakeLists.txt pyproject.toml

.PHONY: help demo test check docs newcomer bench quote sanitize fuzz campaign mutants format clean

help:
	@echo "make demo      explain the paper's running example and an iris forest"
	@echo "make test      run all tests"
	@echo "make docs      build the site into build/docs; a warning is an error"
	@echo "make check     format, lint, types, import direction"
	@echo "make newcomer  run the tutorial in an environment that has only the wheel"
	@echo "make sanitize  test the core against enumeration, under the address and undefined-behaviour sanitizers"
	@echo "make campaign  look for wrong answers of any oracle, with certificates checked (SECONDS=60, SEED=the time)"
	@echo "make fuzz      the same on new random forests for a while (SECONDS=60, SEED=the time)"
	@echo "make mutants   make small mistakes in the code, and see that a test catches each (an hour; SHARE=0.1: a tenth of them)"
	@echo "make bench     reproduce the paper's Table 1, quickly (DATA=folder with the datasets)"
	@echo "make quote     write the figures of the stored results into the README"

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
	$(BIN)/clang-format --dry-run --Werror $(wildcard core/*.?pp core/tests/*.?pp)
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(wildcard core/*.?pp core/tests/*.?pp)

docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -n --fresh-env --quiet -b html docs build/docs
	@echo "open build/docs/index.html"

# The tutorial as written, by somebody who has nothing but the wheel.
newcomer: $(STAMP)
	rm -rf build/newcomer
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/newcomer/dist .
	$(PYTHON) -m venv build/newcomer/env
	build/newcomer/env/bin/python -m pip install --quiet --disable-pip-version-check --find-links build/newcomer/dist \
		'treeproof[plot,pandas,cli]'
	build/newcomer/env/bin/python docs/refresh.py --check docs/tutorial.md
	@echo "the tutorial says what happens"

TEST_CORE := $(filter-out core/binding.cpp,$(wildcard core/*.cpp)) $(wildcard core/tests/*.cpp)
TEST_CORE_FLAGS := -std=c++20 -Wall -Wextra -ffp-contract=off -g -UNDEBUG -D_GLIBCXX_ASSERTIONS

build/sanitize/test_core: TEST_CORE_FLAGS += -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
build/fuzz/test_core: TEST_CORE_FLAGS += -O2
build/sanitize/test_core build/fuzz/test_core: $(TEST_CORE) $(wildcard core/*.hpp core/tests/*.hpp)
	mkdir -p $(@D)
	$(CXX) $(TEST_CORE_FLAGS) $(TEST_CORE) -o $@

sanitize: build/sanitize/test_core
	build/sanitize/test_core --cases 4000

SECONDS ?= 60
SEED ?= $(shell date +%s)
fuzz: build/fuzz/test_core
	seed=$(SEED) && echo "seed $$seed" && build/fuzz/test_core --seed $$seed --seconds $(SECONDS)

DATA ?= data
bench: $(STAMP)
	$(BIN)/treeproof bench table1 --data $(DATA) --quick

quote: $(STAMP)
	$(BIN)/python bench/quote.py

clean:
	rm -rf $(VENV) build dist

# Looks for a wrong answer of any oracle on random and fitted models; every certificate is checked.
campaign: $(STAMP)
	seed=$(SEED) && $(BIN)/python tests/campaign.py --seconds $(SECONDS) --seed $$seed

# Small mistakes in a copy of the code; docs/mutants.md lists the ones that change no answer.
SHARE ?= 1
mutants: $(STAMP)
	$(BIN)/python tests/mutants.py --share $(SHARE)
