#!/bin/bash
# SPDX-License-Identifier: MIT
# Every quick test, one phase after the other; `make test`. Needs `make build kmod` first.
#
#   scripts/run-tests.sh [PHASE...]      phases: unit sanitizers style protocol harness vm
#
# Each phase prints TAP ("ok NAME", "ok NAME # SKIP REASON", "not ok NAME"), which is what the totals
# count; its whole output stays in build/test/PHASE.log. The totals name what failed and what was skipped;
# the last line is "N passed, M failed, K skipped". The exit status is 0 only when something passed and
# nothing failed.
set -u -o pipefail
cd "$(dirname "$0")/.."
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

phases=${*:-unit sanitizers style protocol harness vm}
log_directory=build/test
passed=0
failed=0
skipped=0
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
	local status=0
	tests/setup/run || status=1
	tests/vm/selftest || status=1
	return $status
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

# named PATTERN: the lines of these phases' logs, "PHASE: LINE"
named()
{
	local phase
	for phase in $phases; do
		sed -nE "/$1/s/^/$phase: /p" "$log_directory/$phase.log"
	done
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

		skip=$(count '^ok .*# SKIP' "$log")
		ok=$(($(count '^ok ' "$log") - skip))
		not_ok=$(count '^not ok ' "$log")
		# A phase that fails without naming a test has one more failure: itself.
		if [ "$status" != 0 ] && [ "$not_ok" = 0 ]; then
			echo "not ok $phase (exit status $status)"
			not_ok=1
		fi
		passed=$((passed + ok))
		failed=$((failed + not_ok))
		skipped=$((skipped + skip))
		echo "== $phase: $ok passed, $not_ok failed, $skip skipped, $((SECONDS - started)) s"
	done

	named '^not ok '
	named '^ok .*# SKIP'
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
main
