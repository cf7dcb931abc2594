# Every target sets up .venv by itself the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOOKED := $(VENV)/.looked
PEERS := $(VENV)/.peers
KERNELS := src/pairlight/kernels/native

.PHONY: demo test test-slow check bench clean

demo: $(READY)
	$(BIN)/pairlight demo

test: $(READY) $(LOOKED)
	$(BIN)/pytest -n 2

test-slow: $(READY) $(LOOKED)
	$(BIN)/pytest -m slow

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) $(PEERS)
	$(BIN)/python -m benchmarks

$(READY): pyproject.toml constraints.txt setup.py $(KERNELS)/build.py $(wildcard $(KERNELS)/csrc/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

# What pairlight is measured beside.
$(PEERS): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	touch $(PEERS)

# What tests of pages and pictures look with, tried once. Where it can't be installed, those tests skip and say so.
$(LOOKED): | $(READY)
	@missing=; command -v chromium >/dev/null || missing=chromium; \
	for font in fonts-noto-cjk fonts-noto-color-emoji; do \
	  dpkg -s $$font >/dev/null 2>&1 || missing="$$missing $$font"; \
	done; \
	root=; [ "$$(id -u)" = 0 ] || root="sudo -n"; \
	if [ -n "$$missing" ] && command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
	  echo "Installing $$missing for the tests of pages and pictures."; \
	  $$root timeout -k 10 300 sh -c "export DEBIAN_FRONTEND=noninteractive; apt-get -qq update; \
	    apt-get -qq -y install --no-install-recommends $$missing" </dev/null >/dev/null 2>&1 \
	  || echo "That did not work: tests that need it skip."; \
	fi
	@touch $(LOOKED)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
