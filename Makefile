# Every target sets up what it needs in a virtual environment: the package for the demo, the tools for the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
DEV := $(VENV)/.dev
# Byte code is made when a module is first imported: most of what is installed never is.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
INSTALL := $(PIP) install --no-compile

CORE := $(wildcard core/*.cpp core/*.hpp) CMakeLists.txt pyproject.toml

.PHONY: help demo test test-around quick check docs newcomer bench quote sanitize fuzz campaign attack mutants format clean

help:
	@echo "make demo      explain the paper's running example and an iris forest"
	@echo "make test      run the tests of the library"
	@echo "make test-around  those of what is around it: documentation as written, page in a browser, benchmarks, Table 1"
	@echo "make quick     run the tests that are quick: a minute"
	@echo "make docs      build the site into build/docs; a warning is an error"
	@echo "make check     format, lint, types, import direction"
	@echo "make newcomer  run the tutorial in an environment that has only the wheel"
	@echo "make sanitize  test the core against enumeration, under the address and undefined-behaviour sanitizers"
	@echo "make campaign  look for wrong answers of any oracle, with certificates checked (SECONDS=60, SEED=the time)"
	@echo "make fuzz      the same on new random forests for a while (SECONDS=60, SEED=the time)"
	@echo "make attack    hostile files, tables, arguments, signals and certificates, with limits (SECONDS=60, SEED=the time)"
	@echo "make mutants   make small mistakes in the code, and see that a test catches each (an hour; SHARE=0.1: a tenth of them)"
	@echo "make bench     reproduce the paper's Table 1, quickly (DATA=folder with the datasets)"
	@echo "make quote     write the figures of the stored results into the READMEs"

# Editable: edited Python code counts at once; edited C++ code builds again.
$(DEMO): $(CORE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

# The package is there already, by its name, so that it is not built a second time.
$(DEV): $(DEMO) bench/pyproject.toml
	$(INSTALL) "treeproof[dev]" --editable bench
	touch $@

demo: $(DEMO)
	$(BIN)/treeproof demo

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
AROUND := tests/bench tests/browser tests/docs tests/paper
test: $(DEV)
	$(PYTEST) $(AROUND:%=--ignore=%)

test-around: $(DEV)
	$(PYTEST) $(AROUND)

# Of the tests, those that take no long breath: for the loop while editing.
quick: $(DEV)
	$(PYTEST) -q -m "not slow" tests/unit

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(wildcard core/*.?pp core/tests/*.?pp)
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(wildcard core/*.?pp core/tests/*.?pp)

docs: $(DEV)
	$(BIN)/python -m sphinx -W --keep-going -n --fresh-env --quiet -b html docs build/docs
	@echo "open build/docs/index.html"

# The tutorial as written, by somebody who has nothing but the wheel.
newcomer: $(DEV)
	rm -rf build/newcomer
	$(PIP) wheel --no-deps --wheel-dir build/newcomer/dist .
	$(PYTHON) -m venv build/newcomer/env
	build/newcomer/env/bin/python -m pip install --quiet --disable-pip-version-check --find-links build/newcomer/dist \
		'treeproof[plot,pandas,cli]'
	build/newcomer/env/bin/python docs/refresh.py --check docs/tutorial.md
	@echo "the tutorial says what happens"

TEST_CORE := $(filter-out core/binding.cpp,$(wildcard core/*.cpp))
TEST_CORE_FLAGS := -std=c++20 -Wall -Wextra -ffp-contract=off -g -UNDEBUG -D_GLIBCXX_ASSERTIONS

build/sanitize/test_core: TEST_CORE_FLAGS += -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
build/fuzz/test_core: TEST_CORE_FLAGS += -O2
build/sanitize/test_core build/fuzz/test_core: $(TEST_CORE) $(wildcard core/*.hpp core/tests/*.?pp)
	mkdir -p $(@D)
	printf '#include "%s"\n' $(abspath $(wildcard core/tests/*.cpp)) > $(@D)/tests.cpp  # in one piece: several times faster
	$(CXX) $(TEST_CORE_FLAGS) $(TEST_CORE) $(@D)/tests.cpp -o $@

sanitize: build/sanitize/test_core
	build/sanitize/test_core --cases 4000

SECONDS ?= 60
SEED ?= $(shell date +%s)
fuzz: build/fuzz/test_core
	seed=$(SEED) && echo "seed $$seed" && build/fuzz/test_core --seed $$seed --seconds $(SECONDS)

DATA ?= data
bench: $(DEV)
	$(BIN)/treeproof bench table1 --data $(DATA) --quick

quote: $(DEV)
	$(BIN)/python -m treeproof_bench.quote

clean:
	rm -rf $(VENV) build dist

# Looks for a wrong answer of any oracle on random and fitted models; every certificate is checked.
campaign: $(DEV)
	seed=$(SEED) && $(BIN)/python tests/campaign.py --seconds $(SECONDS) --seed $$seed

# Hostile files, arguments and signals; what is still said is judged by enumeration. One kind alone: KIND="files tables".
KIND ?=
attack: $(DEV)
	seed=$(SEED) && PYTHONPATH=tests $(BIN)/python -m attack --seconds $(SECONDS) --seed $$seed $(if $(KIND),--kind $(KIND))

# Small mistakes in a copy of the code; tests/mutants/equivalent.toml lists the ones that change no answer.
SHARE ?= 1
mutants: $(DEV)
	$(BIN)/python tests/mutants/run.py --share $(SHARE)
