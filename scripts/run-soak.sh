#!/bin/sh
# SPDX-License-Identifier: MIT
# The long tests; `make soak`. All tests of `make test` are assumed to pass.
#
#   - the VM harness's own tests, on both kernels
#   - the VM suites on the debug kernel (KASAN, lockdep, kmemleak, DEBUG_OBJECTS): no complaint
#   - the VM suites ROUNDS times (20) on the stock kernel: no test passes only sometimes
#   - the module's suite with the kernel's mitigations against speculation, which are off otherwise
#   - 100,000 replays of a recorded job by each way to the driver: no allocation
#   - cheap attacks of an ordinary client on others, with default module parameters
#   - overtake sim replays recordings of a kernel device, nanosecond by nanosecond
#   - YOLO, U-Net and ViT on the kernel device: the embedded device's bits
#   - the table of the five networks: similarity to float, compile time, memory; then other limits of split FCs
#   - 2,000 random networks, device against interpreter
#   - ten minutes of libFuzzer each for model files, messages to a server and ONNX files
#   - trained networks of other people, if npm can download them: make zoo; the float executor against
#     ONNX Runtime, if that is installed: make agreement-onnxruntime
#   - groups of parts and plans for several cores: make check-groups
#   - the Debian packages: lintian, and the DKMS module built and loaded
#   - both commands of the README on bare systems, Debian 12 and 13: make fresh
#   - the module and its tests on each supported kernel: make kernel-matrix
#   - every operation with its n-th allocation or user copy failing: tests/kmod/run-fail-nth
#   - tests/soak/run-all on both kernels: kill -9 and unbind under load, many times
#
# The last line is "N passed, M failed", the numbers of runs.
set -u
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-20}
passed=0
failed=0

# soak NAME COMMAND...
soak()
{
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "ok $name"
	else
		failed=$((failed + 1))
		echo "not ok $name"
	fi
}

soak harness tests/vm/selftest
soak debug-kernel-build scripts/build-debug-kernel.sh
soak harness-debug tests/vm/selftest --kernel debug
soak debug-kernel tests/vm/run --kernel debug --timeout 7200 -- tests/vm/suites
for round in $(seq "$rounds"); do
	soak "round-$round" tests/vm/run --timeout 1800 -- tests/vm/suites
done
soak mitigations tests/vm/run --append mitigations=auto --timeout 1800 -- tests/kmod/run-all
soak replays tests/vm/run --timeout 3000 -- env OVERTAKE_TEST_REPLAYS=100000 tests/libruntime/run-kernel functional
soak attacks tests/vm/run --timeout 1800 -- tests/kmod/run-attacks
soak attacks-latency tests/vm/run --timeout 3000 -- tests/kmod/run-attacks-latency
soak replay tests/vm/run --timeout 3600 -- tests/overtake/run-replay
soak networks-embedded scripts/prepare-networks.sh glyphs resnet18 mobilenetv2 yolo unet vit
soak networks-table make networks
soak agreement make agreement
for target in model server onnx; do
	soak "fuzz-$target" make "fuzz-$target" SECONDS=600
done
! command -v npm > /dev/null || soak zoo make zoo
! [ -e build/zoo/text_detection.ovm ] || soak zoo-demo env LARGE=build/zoo/text_detection scripts/demo.sh predict
soak agreement-onnxruntime make agreement-onnxruntime
soak train-glyphs models/train_glyphs.py --output-dir build/glyphs
soak layout-benchmark sh -c 'cmake --preset release && ninja -C build/release layout_benchmark &&
	build/release/tests/layout_benchmark 40'
soak split-limits env OVERTAKE_SPLIT_LIMITS=1000,2000,5000 OVERTAKE="$PWD/build/bin/overtake" \
	/usr/bin/python3 -B tests/models/test_split_limits.py
soak networks tests/vm/run --timeout 7200 -- tests/models/run-kernel yolo unet vit
soak fail-nth tests/vm/run --kernel debug --timeout 7200 -- tests/kmod/run-fail-nth
soak long-runs tests/vm/run --timeout 14400 -- tests/soak/run-all
soak long-runs-debug tests/vm/run --kernel debug --timeout 14400 -- tests/soak/run-all
soak groups scripts/check-groups.sh
soak groups-debug scripts/check-groups.sh kills-debug
soak packages sh -c 'make deb && tests/packages/run'
soak fresh make fresh
soak kernel-matrix make kernel-matrix

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
