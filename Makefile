# SPDX-License-Identifier: BSD-3-Clause
# The commands that people type. What they do is CMake's: CMakePresets.json, cmake/.

PREFIX ?= /usr/local
SHELL  := /bin/bash
JOBS   ?= $(shell nproc)
MPI    ?= openmpi
# Where munge is installed and does not run, each mpirun of Open MPI would wait two seconds for it.
export PMIX_MCA_psec ?= ^munge
# Where libpsm is installed, each rank would wait 0.2 seconds for hardware that only another way to send messages uses.
export OMPI_MCA_pml ?= ob1

.PHONY: all setup configure build test demo demo-staged demo-live bench figures soak install asan tsan sanitize clean help

all: build

help:
	@echo 'make             build into build/; the command is build/bin/glean'
	@echo 'make setup       install the Debian packages that are missing (root or sudo), and packages of Python into build/readers and build/python-venv'
	@echo 'make test        set up, build, run all tests'
	@echo 'make test MPI=mpich   the tests of the MPI-IO front end with MPICH, in build-mpich/'
	@echo 'make demo        set up, build, run the Sedov blast wave with and without GLEAN; results in build/demo/'
	@echo 'make demo-staged the same with stagers; results in build/demo-staged/'
	@echo 'make demo-live   watch two runs while they write, in a browser and in ParaView; pictures in build/demo-live/'
	@echo 'make bench       set up, build, run the benchmarks; results in build/bench/'
	@echo 'make figures     build, compute the published figures anew: docs/figures/'
	@echo 'make soak        the long form of tests that go on at random: kills, power cuts, schedules, fuzzing, programs; an hour'
	@echo 'make sanitize    make asan: build and test with address and undefined sanitizers, fuzz for 30 s; make tsan: with the thread sanitizer'
	@echo 'make install     install below PREFIX=$(PREFIX)'
	@echo 'make clean       remove build/ and build-*/'
	@echo 'JOBS=n           compile n files at once (here: $(JOBS))'

setup:
	@echo '--- packages'
	@tools/setup
	@tools/python_packages

# CMake says what is missing; `make setup` would install it.
configure:
	@echo '--- build'
	@cmake --preset release --log-level=WARNING -DCMAKE_INSTALL_PREFIX=$(PREFIX) \
	  || { echo 'make: the build could not be configured; "make setup" installs what is missing' >&2; exit 1; }

build: configure
	@cmake --build build -j $(JOBS)

# What needs 2 ranks at most: those of MPICH do not yield. Not mpiio.views and transparent.every_call_is_made, which MPICH 4.0 itself
# does not pass, nor what takes minutes there.
MPICH_TESTS   := ^(fortran|interposition)\.|^mpiio\.(types|captured|calls)|^transparent\.(shapes|corpus|differential)
MPICH_TARGETS := tests/fortran/all tests/interposition/all tests/mpiio/all tests/transparent/all

ifeq ($(MPI),mpich)
test:
	@echo '--- packages'
	@tools/setup libmpich-dev mpich
	@echo '--- build'
	@cmake --preset mpich --log-level=WARNING
	@cmake --build build-mpich -j $(JOBS) --target $(MPICH_TARGETS)
	@echo '--- tests'
	@ctest --test-dir build-mpich --output-on-failure --no-tests=error -R '$(MPICH_TESTS)'
else
test: setup
	@$(MAKE) --no-print-directory build
	@echo '--- tests'
	@ctest --test-dir build --output-on-failure --no-tests=error -j 4
endif

demo: setup
	@$(MAKE) --no-print-directory build
	@examples/sedov/demo build

demo-staged: setup
	@$(MAKE) --no-print-directory build
	@examples/sedov/demo_staged build

demo-live: setup
	@$(MAKE) --no-print-directory build
	@examples/sedov/demo_live build

bench: setup
	@$(MAKE) --no-print-directory build
	@benchmarks/run build

figures: setup
	@$(MAKE) --no-print-directory build
	@build/bin/figures_003 machines/mira.toml docs/figures/published-003.csv > build/seed-003.md
	@cp build/seed-003.md docs/figures/seed-003.md
	@cmake --build build -j $(JOBS) --target glean_command
	@python3 -B benchmarks/figures/simulated.py compare --glean build/bin/glean --machines machines --published docs/figures/published.csv \
	  --markdown docs/published-vs-simulated.md --csv docs/figures/simulated.csv
	@python3 -B benchmarks/figures/plots.py --glean build/bin/glean --machines machines --published docs/figures/published.csv \
	  --directory docs/figures/plots --cost

soak: export OMPI_ALLOW_RUN_AS_ROOT := 1
soak: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
soak: setup
	@$(MAKE) --no-print-directory build
	@tests/kill/run --kills 1000 --json build/kills.json
	@tests/in_own_shared_memory tests/rotation/run --build build --kills 1000 --full 200 --kills-of-nodes 100 --full-of-nodes 200
	@tests/powercut/run --cuts 50
	@TRIALS=40 KILLS=60 ctest --test-dir build --output-on-failure --no-tests=error \
	  -R '^(container\.files|copies\.are_made|session\.appending)$$'
	@tests/in_own_shared_memory mpirun --oversubscribe -n 3 build/bin/session_equality_test 1001 200 '--gtest_filter=*Programs' --gtest_brief=1
	@tests/in_own_shared_memory python3 -B tests/file_per_rank/random_test.py build --seconds 120
	@GLEAN_SCHEDULES=5 build/bin/schedule_test --gtest_brief=1
	@tests/fuzz/run 600
	@GLEAN_POOL_BUDGET=64MiB tests/transparent/differential --preload build/lib/libglean_preload.so --seconds 300
	@tests/in_own_shared_memory tests/transparent/differential --build build --kills 300 --full 300
	@tests/pnetcdf/differential --program build/bin/pnetcdf_random --preload build/lib/libglean_preload.so --seconds 300
	@build/bin/netcdf_differential_test 1 2000 --gtest_brief=1

asan: setup
	@echo '--- asan'
	@cmake --preset asan --log-level=WARNING
	@cmake --build build-asan -j $(JOBS)
	@ctest --test-dir build-asan --output-on-failure --no-tests=error -j $(JOBS)
	@tests/fuzz/run 30

# ThreadSanitizer looks at what threads and processes share.
THREADS := pool capture drain gather

tsan: setup
	@echo '--- tsan'
	@cmake --preset tsan --log-level=WARNING
	@cmake --build build-tsan -j $(JOBS) --target $(THREADS:%=glean_%_test)
	@ctest --test-dir build-tsan --output-on-failure --no-tests=error -j $(JOBS) -R '^($(subst $() ,|,$(THREADS)))\.'

sanitize: asan tsan

install: build
	@cmake --install build --prefix '$(PREFIX)'

clean:
	rm -rf build build-dev build-asan build-tsan build-bare build-mpich
