# SPDX-License-Identifier: MIT
# What one can do with the project. Each target does everything it needs; `make` alone lists them.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SEED ?= 1
COUNT ?= 2000
REQUESTS ?= 2000
REPEAT ?= 1
SINCE ?= HEAD

.DEFAULT_GOAL := help
.PHONY: help check-groups kernel-matrix agreement conformance fuzz-decoder fuzz-model fuzz-server fuzz-onnx setup build kmod debug-kernel demo networks test quick fresh zoo agreement-onnxruntime coverage mutants soak fuzz-kernel check format docs abi settings install uninstall install-kmod uninstall-kmod deb clean bench bench-ops bench-cpu-layouts bench-processors bench-submission bench-record-memory

help: ## this list
	@echo "Overtake: an NPU stack that preempts. make ..."
	@sed -n 's/^\([a-z-]*\):[^#]*## /  \1\t/p' Makefile | expand -t 18

setup: ## install the Debian packages that everything below needs, and name them (root or sudo)
	scripts/setup.sh all

build: ## compile the runtime, the compiler and the overtake command: build/bin/overtake
	scripts/setup.sh build
	cmake --preset release '-DCMAKE_INSTALL_PREFIX=$(PREFIX)'
	cmake --build --preset release -j $(JOBS)

kmod: ## compile the kernel module for Linux 6.12 or 7.3: build/kmod/overtake.ko
	scripts/setup.sh kmod
	scripts/build-module.sh

demo: ## predict what preemption buys, then boot a VM, load the driver and measure it (REPEAT=N times)
	JOBS=$(JOBS) LARGE='$(LARGE)' scripts/demo.sh all $(REQUESTS) $(REPEAT)

networks: build ## the five networks: compile time, memory, placement, FCs, similarity to float
	scripts/setup.sh test
	OVERTAKE='$(CURDIR)/build/bin/overtake' tests/models/networks_table.py --fcs

test: ## all quick tests, with totals (25 minutes on two quiet cores, 15 once all is compiled)
	scripts/setup.sh test
	$(MAKE) --no-print-directory build kmod
	scripts/run-tests.sh

quick: ## build what differs from SINCE (HEAD), run the tests nearest to it: two minutes after a small change
	scripts/quick.py --since $(SINCE) --jobs $(JOBS)

fresh: ## both commands of the README on bare systems of Debian 12 and 13 (RELEASE=..., BUSY=N: demo on a busy one)
	scripts/setup.sh fresh
	scripts/fresh.sh $(if $(RELEASE),--release $(RELEASE)) $(if $(VISITOR),--user $(VISITOR)) $(if $(BUSY),--busy $(BUSY))

kernel-matrix: ## module and tests on Linux 6.12 of Debian 12 and 13 and on the newest from backports, or KERNELS=...
	scripts/setup.sh fresh
	scripts/kernel-matrix.sh $(if $(SUITES),--suites '$(SUITES)') $(KERNELS)

coverage: kmod ## coverage by tests: lines and branches of the device code, lines of the kernel module
	JOBS=$(JOBS) scripts/coverage.sh
	scripts/setup.sh vm
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	scripts/coverage-kmod.sh

mutants: COUNT = 20
mutants: ## break the code on purpose: which of COUNT (20) faults per folder, drawn from SEED, the tests notice
	scripts/setup.sh test
	scripts/mutants.py --seed $(SEED) --count $(COUNT) --jobs $(JOBS) $(if $(HOURS),--hours $(HOURS)) \
		$(if $(AGAIN),--again) $(FOLDER:%=--folder %)

soak: build kmod ## the long tests: the VM suite on the debug kernel, repeated and random runs
	scripts/run-soak.sh

check-groups: build kmod ## the long checks of groups, and of plans for several cores: CHECKS of scripts/check-groups.sh
	scripts/setup.sh test
	scripts/setup.sh vm
	scripts/check-groups.sh $(CHECKS)

fuzz-kernel: build kmod ## random calls into the driver: 1,000,000 on the stock kernel, 100,000 on the debug kernel
	scripts/setup.sh vm
	tests/vm/run --timeout 7200 -- tests/kmod-fuzz/run --calls 1000000 --seed $(SEED)
	scripts/setup.sh debug-kernel
	scripts/build-debug-kernel.sh
	tests/vm/run --kernel debug --timeout 7200 -- tests/kmod-fuzz/run --calls 100000 --seed $(SEED)

bench-ops: ## GMAC/s of the vector operators on layers of ResNet-18 and MobileNetV2, and of two libraries
	scripts/setup.sh bench
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target bench_ops bench_slices bench_vnni
	build/release/tests/bench_slices
	build/release/tests/bench_ops
	build/release/tests/bench_vnni || [ $$? = 77 ]

bench: ## how fast the simulator is: FCs per second on one core
	scripts/setup.sh bench
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target simulator_benchmark
	build/release/tests/simulator_benchmark

bench-submission: build kmod ## the way of an empty FC to the device and back, on each backend, over floors; here and in a VM
	cmake --build --preset release -j $(JOBS) --target bench_submission
	build/release/tests/bench_submission
	tests/vm/run --timeout 900 -- tests/benchmarks/run-submission

bench-cpu-layouts: build ## five networks in float on the CPU: milliseconds in each layout and beside plain oneDNN, one thread
	cmake --build --preset release -j $(JOBS) --target bench_cpu_layouts bench_plain_onednn
	mkdir -p build/cpu-networks
	for name in mobilenetv2 resnet18 unet vit yolo; do \
		build/bin/overtake compile --cpu -q build/release/models/$$name.onnx -o build/cpu-networks/$$name.ovm || exit 1; done
	build/release/tests/bench_cpu_layouts build/cpu-networks/mobilenetv2.ovm build/cpu-networks/resnet18.ovm \
		build/cpu-networks/unet.ovm build/cpu-networks/vit.ovm build/cpu-networks/yolo.ovm
	build/release/tests/bench_plain_onednn build/cpu-networks/mobilenetv2.ovm build/cpu-networks/resnet18.ovm \
		build/cpu-networks/unet.ovm build/cpu-networks/vit.ovm build/cpu-networks/yolo.ovm

bench-record-memory: build ## ten networks: resident memory of a process that runs each, at record levels 0 and 2
	scripts/prepare-networks.sh
	mkdir -p build/cpu-networks
	for name in mobilenetv2 resnet18 unet vit yolo; do \
		build/bin/overtake compile --cpu -q build/release/models/$$name.onnx -o build/cpu-networks/$$name.ovm || exit 1; done
	scripts/record_memory.py build/bin/overtake \
		build/networks/glyphs.ovm build/networks/detector.ovm build/networks/mobilenetv2.ovm build/networks/resnet18.ovm \
		build/networks/large.ovm build/cpu-networks/mobilenetv2.ovm build/cpu-networks/resnet18.ovm \
		build/cpu-networks/unet.ovm build/cpu-networks/vit.ovm build/cpu-networks/yolo.ovm

bench-processors: build ## several processors: throughput and satisfaction of each policy, and the optimum
	scripts/setup.sh bench
	cmake --build --preset release -j $(JOBS) --target bench_coordinator bench_real_processors board_throughput
	build/release/tests/bench_coordinator
	/usr/bin/python3 -B tests/benchmarks/processors.py build/bin/overtake
	/usr/bin/python3 -B tests/benchmarks/processors.py build/bin/overtake --real build/release/tests/bench_real_processors
	/usr/bin/python3 -B tests/benchmarks/board_processors.py build/release

conformance: build ## ONNX's own test models: passed, refused, wrong or crashed, by operator
	scripts/setup.sh test
	OVERTAKE='$(CURDIR)/build/bin/overtake' /usr/bin/python3 -B tests/compiler/conformance.py

agreement: build ## COUNT (2000) random networks from number SEED (1) on: device and interpreter, bit by bit
	scripts/setup.sh test
	OVERTAKE='$(CURDIR)/build/bin/overtake' COMMAND_SERVER='$(CURDIR)/build/release/tests/command_server' \
		/usr/bin/python3 -B tests/compiler/agreement.py --seed $(SEED) --count $(COUNT) \
		--jobs $(JOBS) $(if $(SHRINK),--shrink)

agreement-onnxruntime: ## COUNT random networks (as OPSET=18..23 has them) and the zoo's in float: against ONNX Runtime, if installed
	SEED=$(SEED) COUNT=$(COUNT) OPSET=$(OPSET) JOBS=$(JOBS) scripts/agreement-onnxruntime.sh

zoo: ## trained networks of other people, by npm: placement, modelled time, and how well int8 does their tasks
	JOBS=$(JOBS) scripts/zoo.sh $(NETWORKS)

SECONDS ?= 600
fuzz-decoder: ## libFuzzer on the instruction decoder for SECONDS (600), under ASan and UBSan
	SECONDS=$(SECONDS) scripts/fuzz-decoder.sh

fuzz-model: build ## libFuzzer on reading and running model files, for SECONDS (600)
	SECONDS=$(SECONDS) JOBS=$(JOBS) scripts/fuzz-files.sh model

fuzz-server: ## libFuzzer on what clients say to a device server, for SECONDS (600)
	SECONDS=$(SECONDS) JOBS=$(JOBS) scripts/fuzz-files.sh server

fuzz-onnx: ## libFuzzer on ONNX import, from bytes to model file, for SECONDS (600)
	SECONDS=$(SECONDS) JOBS=$(JOBS) scripts/fuzz-files.sh onnx

debug-kernel: ## Linux 6.12 with KASAN, lockdep, kmemleak and fault injection: build/debug-kernel
	scripts/setup.sh debug-kernel
	scripts/build-debug-kernel.sh

check: kmod ## kernel style and static checks: checkpatch --strict, W=1, sparse, batches of sources
	scripts/setup.sh test
	scripts/check-joined-sources.sh
	scripts/check-kernel-style.sh

format: ## run clang-format on the C++ sources, and write the tests' scenarios with one record a line
	git ls-files '*.cpp' '*.hpp' | xargs -r clang-format -i
	scripts/format_scenarios.py

docs: ## the site of all pages and the C++ API, build/docs/site/index.html, and the table in docs/reference/board-errors.md
	scripts/setup.sh docs
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target board_tests
	tests/dnn/check-table build/release/tests/board_tests --renew
	scripts/site_pages.py build/docs/site
	@echo "docs: build/docs/site/index.html"

abi: ## write down anew what the library promises to linked programs (docs/reference/library.md): libruntime/abi
	scripts/setup.sh build
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target overtake_runtime_static abi_layout
	scripts/abi.py renew build/release

settings: ## write down anew the scheduler's settings in the documents that have them: firmware-sim/sched/settings.inc
	scripts/setup.sh build
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target print_settings
	scripts/settings.py renew build/release

install: ## install command, library and headers below PREFIX (/usr/local), or DESTDIR/PREFIX
	scripts/setup.sh build
	cmake --preset release '-DCMAKE_INSTALL_PREFIX=$(PREFIX)'
	cmake --build --preset release -j $(JOBS) --target to_install
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh install

uninstall: ## remove what `make install` installed below PREFIX
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh uninstall

install-kmod: ## install the kernel module for KERNEL (the running one, or the newest 6.12 or 7.3)
	scripts/setup.sh kmod
	scripts/install-module.sh install $(KERNEL)

uninstall-kmod: ## remove the module that `make install-kmod` installed
	scripts/install-module.sh uninstall $(KERNEL)

deb: ## Debian packages into build/deb: overtake-dkms, libovertake0.1, libdnn1, libovertake-dev, overtake-tools
	scripts/setup.sh deb
	JOBS=$(JOBS) scripts/build-deb.sh

clean: ## remove everything that was built, except the debug kernel
	find build -mindepth 1 -maxdepth 1 ! -name debug-kernel ! -name setup.installed -exec rm -rf {} +
