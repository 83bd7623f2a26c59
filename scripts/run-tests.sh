#!/bin/bash
# SPDX-License-Identifier: MIT
# Run all quick tests, phase by phase; `make test`. Needs `make build kmod` first.
#
#   scripts/run-tests.sh [PHASE...]      phases: unit sanitizers style protocol harness vm
#
# Each phase prints TAP ("ok NAME", "ok NAME # SKIP REASON", "not ok NAME"), whose lines the totals count;
# its whole output stays in build/test/PHASE.log. At the end, the script names the slowest, the skipped and the
# failed tests. The last line is "N passed, M failed, K skipped". The exit status is 0 only if a test passed
# and none failed.
set -u -o pipefail
cd "$(dirname "$0")/.."
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

phases=${*:-unit sanitizers style protocol harness vm}
log_directory=build/test
passed=0
failed=0
skipped=0
mkdir -p "$log_directory"

# ctest_as_tap PRESET: runs the preset's tests, and prints a TAP line for each
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
	local status=0
	# Without a compiler cache, the build has compiled joined sources already.
	! grep -q '^OVERTAKE_JOIN_SOURCES:BOOL=OFF' build/release/CMakeCache.txt ||
		scripts/check-joined-sources.sh || status=1
	scripts/check-kernel-style.sh || status=1
	return $status
}

phase_protocol()
{
	tests/protocol/run
}

phase_harness()
{
	local status=0
	tests/setup/run || status=1
	tests/kmod/run-probe || status=1
	tests/kmod/run-simd-objects || status=1
	tests/vm/selftest || status=1
	return $status
}

phase_vm()
{
	scripts/prepare-networks.sh && tests/vm/run --timeout 2700 --repeatable -- tests/vm/suites
}

# count PATTERN LOG
count()
{
	grep -cE "$1" "$2"
}

# named PATTERN: prints the lines of these phases' logs that match, "PHASE: LINE"
named()
{
	local phase
	for phase in $phases; do
		sed -nE "/$1/s/^/$phase: /p" "$log_directory/$phase.log"
	done
}

# failures: prints the failed tests of these phases, "PHASE: not ok NAME", and the comments ("# ...") below each;
# if a phase failed without naming a test, prints the end of its log
failures()
{
	local phase status
	for phase in $phases; do
		read -r status _ < "$log_directory/$phase.status"
		if [ "$status" != 0 ] && ! grep -q '^not ok ' "$log_directory/$phase.log"; then
			echo "$phase: not ok (exit status $status)"
			tail -n 100 "$log_directory/$phase.log" | sed 's/^/    /'
		fi
		awk -v phase="$phase" '
			/^not ok / { print phase ": " $0; shown = 14; next }
			/^#/ && shown-- > 0 { print "    " $0; next }
			{ shown = 0 }' "$log_directory/$phase.log"
	done
}

# reports: prints the files that have the durations of these phases' tests
reports()
{
	local phase
	for phase in $phases; do
		case $phase in
		unit) echo "$log_directory/release.xml" ;;
		sanitizers) echo "$log_directory/asan-ubsan.xml" ;;
		*) echo "$log_directory/$phase.log" ;;
		esac
	done
}

# run_phase PHASE: writes its output to its log, exit status and seconds to PHASE.status
run_phase()
{
	local started=$SECONDS status
	"phase_$1" > "$log_directory/$1.log" 2>&1
	status=$?
	echo "$status $((SECONDS - started))" > "$log_directory/$1.status"
}

# show_phase PHASE PID: prints the phase's output as it comes, until the process has ended
show_phase()
{
	local runner=$2
	echo "== $1"
	tail -n +1 -f -s 0.2 --pid "$runner" "$log_directory/$1.log"
	wait "$runner"
}

# count_phase PHASE: prints the phase's totals, and adds them to those of all phases
count_phase()
{
	local log=$log_directory/$1.log status seconds skip ok not_ok
	read -r status seconds < "$log_directory/$1.status"
	skip=$(count '^ok .*# SKIP' "$log")
	ok=$(($(count '^ok ' "$log") - skip))
	not_ok=$(count '^not ok ' "$log")
	# A phase that fails without naming a test counts as one failure.
	if [ "$status" != 0 ] && [ "$not_ok" = 0 ]; then
		echo "not ok $1 (exit status $status)"
		not_ok=1
	fi
	passed=$((passed + ok))
	failed=$((failed + not_ok))
	skipped=$((skipped + skip))
	echo "== $1: $ok passed, $not_ok failed, $skip skipped, $seconds s"
}

has_vms()
{
	[ "$1" = harness ] || [ "$1" = vm ]
}

# A VM uses one CPU most of the time, and its tests also wait. So phases without a VM run beside the phases
# with one, at idle priority: the tests in the VM are as fast as alone.
is_beside_vms()
{
	! has_vms "$1"
}

# Phases run in the background, where bash makes them ignore an interrupt.
trap 'trap - INT TERM; kill 0' INT TERM

# A function, so that bash has read this file whole before the first test runs.
main()
{
	local beside='' phase other runner='' vms=''
	for phase in $phases; do
		: > "$log_directory/$phase.log"
		echo "143 0" > "$log_directory/$phase.status"
		! has_vms "$phase" || vms=yes
	done
	for phase in $phases; do
		[ -z "$vms" ] || ! is_beside_vms "$phase" || beside="$beside $phase"
	done
	for phase in $phases; do
		case "$beside " in *" $phase "*) continue ;; esac
		if [ -n "$beside" ] && [ -z "$runner" ]; then
			(
				chrt --idle --pid 0 "$BASHPID" || :
				for other in $beside; do run_phase "$other"; done
			) &
			runner=$!
		fi
		run_phase "$phase" &
		show_phase "$phase" $!
		count_phase "$phase"
	done
	if [ -n "$runner" ]; then
		for other in $beside; do
			echo "== $other (beside the VMs)"
			tail -n +1 -f -s 0.2 --pid "$runner" "$log_directory/$other.log"
			count_phase "$other"
		done
		wait "$runner"
	fi

	echo "the ten slowest:"
	/usr/bin/python3 scripts/slowest_tests.py $(reports)
	# Failures come last, where a reader of the end of a log sees them.
	named '^ok .*# SKIP'
	failures
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
main
