# Every target sets up what it needs; `make` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the demonstration and the tests need beyond Python packages: Debian's names, which are Ubuntu's, too, but for perf.
DEMO_PACKAGES := python3-venv libudev1
COMPILER_PACKAGES := gcc libc6-dev python3-dev
PERF_PACKAGE := $(shell grep -qs '^ID=ubuntu' /etc/os-release && echo linux-tools-generic || echo linux-perf)
TEST_PACKAGES := $(DEMO_PACKAGES) $(PERF_PACKAGE) umockdev util-linux libopencsd1 tshark nodejs systemd udev rpm fio mandoc zsh fish
# Shows the page of a report, in tests.
BROWSER := $(firstword $(foreach name,chromium chromium-browser google-chrome,$(shell command -v $(name))))
# Some tests wait for processes and signals: one more worker than cores keeps the cores busy.
TEST_WORKERS := $(shell expr $$(nproc) + 1)
# Temporary files of tests are in memory where it has room for them and lets programs run: no test waits for a disk.
MEMORY_GIB := $(shell grep -q ' /dev/shm [a-z]* [^ ]*noexec' /proc/mounts || df --output=avail -BG /dev/shm 2>/dev/null | tr -dc '0-9\n' | tail -n 1)
TEST_FOLDER := $(shell test 0$(MEMORY_GIB) -ge 8 && echo /dev/shm)
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(if $(TEST_FOLDER),TMPDIR=$(TEST_FOLDER)) $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

# What compiling the bundle's interpreter needs, what the packages need, and what trying them in bare systems needs.
BUNDLE_PACKAGES := make xz-utils bzip2 patch dpkg-dev debian-archive-keyring autoconf automake libtool libltdl-dev
DEB_PACKAGES := dpkg-dev debhelper lintian
RPM_PACKAGES := rpm
ROOT_PACKAGES := debootstrap
# The processor of make bundle, make deb and make rpm: x86_64 or aarch64.
ARCH ?= $(shell uname -m)

# Seconds of make fuzz.
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow coverage bench crash fuzz lint man schemas vendored docs format dist bundle deb rpm packages-test packages-lock bundle-system clean compiler test-system test-packages bench-system

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/run.stamp ## run the main job, without hardware, on the recorded machine that comes with ptttool
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo.sh

test: test-system $(VENV)/dev.stamp ## run the tests (installs perf, umockdev, libopencsd, tshark, node and Chromium with apt where they are missing)
	$(BIN)/python -m compileall -q ptttool tests bench campaign
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)
	$(BIN)/python tests/interpreters.py $(VENV)/pythons

test-slow: test-system $(VENV)/dev.stamp ## run the tests that make test leaves out: kills, system calls, browsers, clusters, packages, real sizes
	$(PYTEST) -m slow $(PYTEST_ARGS)
	$(BIN)/python tests/interpreters.py $(VENV)/pythons --lowest

coverage: test-system $(VENV)/dev.stamp ## run the tests and show which lines and branches they reach (a table, and htmlcov/index.html)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(TEST_WORKERS) --dist worksteal $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

bench: bench-system $(VENV)/dev.stamp ## measure speed and memory against perf (a quarter of an hour, 15 GB in bench/data; BENCH_ARGS="--only info")
	$(BIN)/python -m bench $(BENCH_ARGS)
	$(BIN)/python -m bench.packets -o bench/packets.json $(BENCH_PACKETS_ARGS)

crash: test-system $(VENV)/dev.stamp ## kill commands and fail their system calls, at each call in turn (ten minutes; CRASH_ARGS="--only decode")
	@command -v cc >/dev/null || sh tests/install-packages.sh gcc libc6-dev
	$(BIN)/python -m campaign.crash $(CRASH_ARGS)

fuzz: $(VENV)/dev.stamp ## throw hostile input at every reader (FUZZ_SECONDS=60 in all; FUZZ_ARGS="--only machine")
	$(BIN)/python -m campaign.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

lint: $(VENV)/dev.stamp ## check style, types and who imports whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy

format: $(VENV)/dev.stamp ## lay the code out
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

man: $(VENV)/dev.stamp ## write the manual pages from the command tree
	$(BIN)/python -m tests.generated.manpages man

schemas: $(VENV)/dev.stamp ## write docs/schemas, the JSON Schemas of what --json prints
	$(BIN)/python -m tests.generated.schemas docs/schemas

vendored: $(VENV)/dev.stamp ## fetch what comes from elsewhere in the page of a report, as it is pinned (needs npm)
	$(BIN)/python -m tests.report.vendored

docs: $(VENV)/dev.stamp ## build the site of docs/ in site/, and fail on a warning
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(VENV)/dev.stamp ## build wheel and source archive in dist/, check them, install each in a fresh environment and try it
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	sh tests/try-dist.sh $(BIN)/python dist

bundle: bundle-system $(VENV)/dev.stamp ## build one archive with its own Python, for systems without one, in dist/ (ARCH=aarch64 for the other processor)
	@test -e build/bundle/tools/ziglang/zig || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --target build/bundle/tools -r packages/bundle/toolchain.txt
	sh packages/bundle/interpreter.sh $(ARCH) build/bundle build/bundle/tools/ziglang/zig
	$(BIN)/python -m packages.bundle.assemble --arch $(ARCH) --build build/bundle --output dist

deb: bundle ## build a Debian package of the bundle in dist/, and check it with lintian
	@command -v dh >/dev/null && command -v lintian >/dev/null || sh tests/install-packages.sh $(DEB_PACKAGES)
	$(BIN)/python -m packages.build deb --arch $(ARCH)

rpm: bundle ## build an RPM package of the bundle in dist/
	@command -v rpmbuild >/dev/null || sh tests/install-packages.sh $(RPM_PACKAGES)
	$(BIN)/python -m packages.build rpm --arch $(ARCH)

packages-test: deb rpm ## try bundle, Debian package and RPM in bare systems without Python and network (needs root; installs debootstrap)
	@command -v debootstrap >/dev/null || sh tests/install-packages.sh $(ROOT_PACKAGES)
	$(BIN)/python -m packages.try_in_roots --arch $(ARCH)

packages-lock: $(VENV)/dev.stamp ## pin the newest versions of what the bundle holds
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/uv uv
	build/uv/bin/uv pip compile --quiet --upgrade --python-version 3.13 --generate-hashes --no-header --no-config \
		--extra flow --extra perfetto pyproject.toml -o packages/bundle/requirements.txt

clean: ## remove the environment, the caches and what was built
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov dist site build

# A virtual environment needs Debian's python3-venv where `python3 -m venv` does not work by itself.
$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ptttool needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || sh tests/install-packages.sh $(DEMO_PACKAGES)
	$(PYTHON) -m venv $(VENV)

# Loops are compiled (hatch_build.py); without a compiler, ptttool works and is slower.
COMPILED := hatch_build.py $(wildcard ptttool/kernel/*.py ptttool/kernel/*.pxd)

compiler:
	@command -v cc >/dev/null && $(PYTHON) -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
		|| sh tests/install-packages.sh $(COMPILER_PACKAGES) || echo "no C compiler: analyses are slower"

$(VENV)/run.stamp: $(VENV)/pyvenv.cfg pyproject.toml $(COMPILED)
	@$(MAKE) --no-print-directory compiler
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/pyvenv.cfg pyproject.toml $(COMPILED)
	@$(MAKE) --no-print-directory compiler
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/run.stamp

# For the workflow, where Python packages come from elsewhere.
test-packages:
	sh tests/install-packages.sh $(TEST_PACKAGES)

test-system:
	@command -v umockdev-run >/dev/null && command -v perf >/dev/null && perf --version >/dev/null 2>&1 && command -v setpriv >/dev/null && command -v tshark >/dev/null && command -v rpmspec >/dev/null && command -v systemd-analyze >/dev/null && command -v udevadm >/dev/null && command -v fio >/dev/null && command -v mandoc >/dev/null && command -v zsh >/dev/null && command -v fish >/dev/null && command -v node >/dev/null \
		&& $(PYTHON) -c 'import ctypes; ctypes.CDLL("libopencsd_c_api.so.1")' 2>/dev/null \
		|| sh tests/install-packages.sh $(TEST_PACKAGES)
	@test -d $(VENV)/share/tuned || sh tests/unpack-package.sh tuned $(VENV)/share/tuned
	@command -v promtool >/dev/null || test -d $(VENV)/share/prometheus || sh tests/unpack-package.sh prometheus $(VENV)/share/prometheus
	@test -n "$(BROWSER)" || sh tests/install-packages.sh chromium || echo "no browser: tests of the page of a report are left out"

bundle-system:
	@command -v autoreconf >/dev/null && command -v dpkg-source >/dev/null && test -e /usr/share/aclocal/ltdl.m4 \
		&& test -e /usr/share/keyrings/debian-archive-keyring.gpg || sh tests/install-packages.sh $(BUNDLE_PACKAGES)

bench-system:
	@command -v perf >/dev/null && perf --version >/dev/null 2>&1 || sh tests/install-packages.sh $(PERF_PACKAGE)
	@command -v cc >/dev/null || sh tests/install-packages.sh gcc libc6-dev || echo "no C compiler: rows against C stay empty"
