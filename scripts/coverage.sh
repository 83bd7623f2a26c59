#!/bin/sh
# SPDX-License-Identifier: MIT
# Print how many lines and branches of the device code the quick tests execute, for each file, each part
# and in total. Fails if a part has fewer than 95 % of its lines executed, or of its branches; branches
# of the operators do not count.
#
# The parts are PARTS in scripts/coverage_table.py. The tests are those of tests/firmware-sim,
# tests/scenarios and tests/simulator. build/coverage/report has the details.
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh coverage
build=build/coverage
mkdir -p "$build"

# step NAME COMMAND...: shows the command's output only if it fails
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
step report gcovr --root . --filter 'firmware-sim/(host|hw|fw|sched|service)/' --filter 'firmware-sim/[^/]*$' \
	--exclude-unreachable-branches --exclude-throw-branches \
	--json-summary "$build/report/summary.json" --html-details "$build/report/index.html" \
	"$build/firmware-sim" "$build/tests/firmware-sim"
/usr/bin/python3 scripts/coverage_table.py "$build/report/summary.json" 95
