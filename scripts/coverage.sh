#!/bin/sh
# SPDX-License-Identifier: MIT
# Which lines and branches of the device code the quick tests take: per file, for each part and in
# total. Fails when fewer than 95 % of the lines of a part are executed, or of the branches of a part
# that decides something (all but the operators' arithmetic).
#
# The parts: the operators in scalar code and in AVX2, the rest of the hardware, the firmware, the task
# scheduler. The tests: tests/firmware-sim, tests/scenarios, tests/simulator. Details: build/coverage/report.
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh coverage
build=build/coverage
mkdir -p "$build"

# step NAME COMMAND...: quiet unless it fails
step()
{
	name=$1
	shift
	"$@" > "$build/$name.log" 2>&1 || {
		tail -n 30 "$build/$name.log" >&2
		echo "coverage: $name failed (whole log: $PWD/$build/$name.log)" >&2
		exit 1
	}
}

step configure cmake --preset coverage
step build cmake --build --preset coverage -j "${JOBS:-$(nproc)}" \
	--target firmware_sim_tests scenario_tests simulator_tests
find "$build" -name '*.gcda' -delete
step test ctest --test-dir "$build" --output-on-failure --no-tests=error -j "${JOBS:-$(nproc)}" \
	-R '^(firmware-sim|scenarios|simulator)\.'

rm -rf "$build/report"
mkdir "$build/report"
step report gcovr --root . --filter 'firmware-sim/(host|hw|fw|sched)/' --filter 'firmware-sim/[^/]*$' \
	--exclude-unreachable-branches --exclude-throw-branches \
	--json-summary "$build/report/summary.json" --html-details "$build/report/index.html" \
	"$build/firmware-sim" "$build/tests/firmware-sim"
/usr/bin/python3 scripts/coverage_table.py "$build/report/summary.json" 95
