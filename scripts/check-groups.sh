#!/bin/bash
# SPDX-License-Identifier: MIT
# The long checks of groups of parts, and of plans for several cores; `make check-groups`. After `make build kmod`:
#
#   scripts/check-groups.sh [CHECK...]       default: all below but those on the debug kernel
#
#   scenarios     100,000 random ones of jobs and as many of tasks, in the simulator: the oracle's timelines
#   embedded      100,000 random ones of jobs, on an embedded device with a manual clock: the oracle's timelines
#   driver        the same, 2,000 by ioctl and 2,000 by io_uring, in a VM
#   fuzz          1,000,000 runs of the device with faults, resets, kills, limits, fair and quota
#   kills         2,000 harms to a part of a group: the group ends once, and no other client is harmed
#   bits          2,000 random networks, 10 random plans of each: the bits of one core
#   search        10,000 random networks: the search finds the best of all plans
#   plans         prints how much faster plans are than one core, than fixed schemes, and how long a search takes
#   times         four networks on 2, 4 and 8 cores of a kernel device: the predicted time; in a VM
#   attack        the driver's cases of groups; one has a HIGH job beside groups of 64 parts and 4,096 stages; in a VM
#   kills-debug   kills, and the other suites of the set-up functional, on the debug kernel (`make debug-kernel`)
#
# Prints the seconds of each check, and ends with "N passed, M failed". Takes hours on two cores.
set -u
cd "$(dirname "$0")/.." || exit
tests=build/release/tests
models=build/release/models
passed=0
failed=0

# suite PROGRAM FILTER: runs these tests of PROGRAM; fails if none of them ran
suite()
{
	local log
	log=$(mktemp) || return
	"$tests/$1" --gtest_filter="$2" 2>&1 | tee "$log"
	local status=${PIPESTATUS[0]}
	grep -q '^\[       OK \]' "$log" || status=1
	rm -f "$log"
	return "$status"
}

check_scenarios()
{
	OVERTAKE_TEST_SCENARIOS=100000 suite group_scenario_tests 'RandomGroups.*'
}

check_embedded()
{
	OVERTAKE_TEST_SCENARIOS=100000 suite group_drive_tests '*.RandomScenarios*/embedded'
}

check_driver()
{
	tests/vm/run --timeout 7200 -- env OVERTAKE_TEST_SCENARIOS=2000 tests/libruntime/run-kernel four-cores
}

check_fuzz()
{
	OVERTAKE_TEST_SCENARIOS=1000000 suite test_fuzz 'FuzzGroups.*'
}

check_kills()
{
	OVERTAKE_GROUP_KILLS=2000 suite group_kill_tests '*'
}

check_kills_debug()
{
	tests/vm/run --kernel debug --timeout 7200 -- env OVERTAKE_GROUP_KILLS=2000 tests/libruntime/run-kernel functional
}

check_bits()
{
	OVERTAKE_CORE_NETWORKS=2000 CORE_BITS=$PWD/$tests/core_bits OVERTAKE_MODELS=$PWD/$models \
		/usr/bin/python3 -B tests/compiler/test_core_bits.py
}

check_search()
{
	OVERTAKE_TEST_NETWORKS=10000 suite compiler_tests 'CoreSearch.Finds*'
}

check_plans()
{
	[ -e build/resnet101.onnx ] || {
		models/generate.py resnet101 build/resnet101-new.onnx &&
			mv build/resnet101-new.onnx build/resnet101.onnx || return
	}
	$tests/bench_core_plans $models/{resnet18,mobilenetv2,yolo,unet,vit}.onnx build/resnet101.onnx
}

check_times()
{
	tests/models/run-plan-times
}

check_attack()
{
	tests/vm/run --timeout 3000 -- tests/kmod/run-all group
}

[ $# != 0 ] || set -- scenarios embedded driver fuzz kills bits search plans times attack
for check; do
	declare -F "check_${check//-/_}" > /dev/null || {
		sed -n 's/^#   \(scripts.*\)/usage: \1/p' "$0" >&2
		exit 2
	}
done
for check; do
	begin=$SECONDS
	if "check_${check//-/_}"; then
		passed=$((passed + 1))
		echo "ok $check, $((SECONDS - begin)) s"
	else
		failed=$((failed + 1))
		echo "not ok $check, $((SECONDS - begin)) s"
	fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
