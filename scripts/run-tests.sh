#!/bin/bash
# SPDX-License-Identifier: MIT
# Every quick test, one phase after the other; `make test`. Needs `make build kmod` first.
#
#   scripts/run-tests.sh [PHASE...]      phases: unit sanitizers style protocol harness vm
#
# Each phase prints TAP ("ok NAME", "not ok NAME"), which is what the totals count; its whole output
# stays in build/test/PHASE.log. The last line is "N passed, M failed"; the exit status is 0 only
# when something passed and nothing failed.
set -u -o pipefail
cd "$(dirname "$0")/.."
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

phases=${*:-unit sanitizers style protocol harness vm}
log_directory=build/test
passed=0
failed=0
mkdir -p "$log_directory"

# ctest_as_tap PRESET: run the preset's tests; one TAP line each
ctest_as_tap()
{
	local report=$PWD/$log_directory/$1.xml status
	rm -f "$report"
	ctest --preset "$1" -j "$CMAKE_BUILD_PARALLEL_LEVEL" --output-junit "$report" \
		> "$log_directory/ctest-$1.log" 2>&1
	status=$?
	[ $status = 0 ] || cat "$log_directory/ctest-$1.log"
	/usr/bin/python3 scripts/junit_to_tap.py "$report" || return 1
	return $status
}

phase_unit()
{
	cmake --preset release > "$log_directory/configure-release.log" &&
		cmake --build --preset release && ctest_as_tap release
}

phase_sanitizers()
{
	cmake --preset asan-ubsan > "$log_directory/configure-asan-ubsan.log" &&
		cmake --build --preset asan-ubsan && ctest_as_tap asan-ubsan
}

phase_style()
{
	scripts/check-kernel-style.sh
}

phase_protocol()
{
	tests/protocol/run
}

phase_harness()
{
	tests/vm/selftest
}

phase_vm()
{
	scripts/prepare-networks.sh && tests/vm/run --timeout 1800 -- tests/vm/suites
}

# count PATTERN LOG
count()
{
	grep -cE "$1" "$2"
}

# A function, so that bash has read this file whole before the first test runs.
main()
{
	for phase in $phases; do
		log=$log_directory/$phase.log
		echo "== $phase"
		started=$SECONDS
		"phase_$phase" 2>&1 | tee "$log"
		status=${PIPESTATUS[0]}

		ok=$(count '^ok ' "$log")
		not_ok=$(count '^not ok ' "$log")
		# A phase that fails without naming a test has one more failure: itself.
		if [ "$status" != 0 ] && [ "$not_ok" = 0 ]; then
			echo "not ok $phase (exit status $status)"
			not_ok=1
		fi
		passed=$((passed + ok))
		failed=$((failed + not_ok))
		echo "== $phase: $ok passed, $not_ok failed, $((SECONDS - started)) s"
	done

	grep -H '^not ok ' "$log_directory"/*.log | sed "s|^$log_directory/||" |
		grep -E "^($(echo "$phases" | tr ' ' '|'))\.log:" || true
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
main
