# SPDX-License-Identifier: BSD-3-Clause
# The commands that people type. What they do is CMake's: CMakePresets.json, cmake/.

PREFIX ?= /usr/local
SHELL  := /bin/bash
JOBS   ?= $(shell nproc)

.PHONY: all setup configure build test demo bench soak install sanitize clean help

all: build

help:
	@echo 'make             build into build/; the command is build/bin/glean'
	@echo 'make setup       install the Debian packages that are missing (root or sudo)'
	@echo 'make test        set up, build, run all tests'
	@echo 'make demo        set up, build, run the Sedov blast wave with and without GLEAN; results in build/demo/'
	@echo 'make bench       set up, build, run the benchmarks; results in build/bench/'
	@echo 'make soak        the long form of tests that go on at random: 1,000 kills, fifty power cuts, millions of schedules; half an hour'
	@echo 'make sanitize    build and test with address, undefined and thread sanitizers'
	@echo 'make install     install below PREFIX=$(PREFIX)'
	@echo 'make clean       remove build/ and build-*/'
	@echo 'JOBS=n           compile n files at once (here: $(JOBS))'

setup:
	@echo '--- packages'
	@tools/setup

# CMake says what is missing; `make setup` would install it.
configure:
	@echo '--- build'
	@cmake --preset release --log-level=WARNING -DCMAKE_INSTALL_PREFIX=$(PREFIX) \
	  || { echo 'make: the build could not be configured; "make setup" installs what is missing' >&2; exit 1; }

build: configure
	@cmake --build build -j $(JOBS)

test: setup
	@$(MAKE) --no-print-directory build
	@echo '--- tests'
	@ctest --test-dir build --output-on-failure --no-tests=error -j 2

demo: setup
	@$(MAKE) --no-print-directory build
	@examples/sedov/demo build

bench: setup
	@$(MAKE) --no-print-directory build
	@benchmarks/run build

soak: setup
	@$(MAKE) --no-print-directory build
	@tests/kill/run --kills 1000 --json build/kills.json
	@tests/powercut/run --cuts 50
	@GLEAN_SCHEDULES=5 build/bin/schedule_test --gtest_brief=1

sanitize: setup
	@set -e; for preset in asan tsan; do \
	  echo "--- $$preset"; \
	  cmake --preset $$preset --log-level=WARNING; \
	  cmake --build build-$$preset -j $(JOBS); \
	  ctest --test-dir build-$$preset --output-on-failure --no-tests=error -j 2; \
	done

install: build
	@cmake --install build --prefix '$(PREFIX)'

clean:
	rm -rf build build-dev build-asan build-tsan build-bare
