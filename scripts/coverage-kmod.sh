#!/bin/sh
# SPDX-License-Identifier: MIT
# Print how many lines of each file of the kernel module the VM suites execute, and the functions that
# never ran. Fails below 80 % of all lines.
#
#   scripts/coverage-kmod.sh [COMMAND-IN-THE-VM...]     default: tests/vm/suites
#
# Debian's kernels have neither GCOV nor KCOV. The module is compiled with a call at the beginning of
# each basic block (build/kmod-coverage), tests/vm/coverage/coverage.ko records the callers, and
# scripts/coverage_kmod.py maps them to lines: an instruction was executed if its block was. The module
# is optimised as usual, so lines that the compiler merged count together.
set -eu
cd "$(dirname "$0")/.."
. scripts/kernels.sh
version=$(default_kernel)
output=build/kmod-coverage
tracer=build/vm/coverage
[ $# -gt 0 ] || set -- tests/vm/suites

mkdir -p "$tracer" "$output/hits"
cp -asf "$PWD/tests/vm/coverage/." "$tracer"
make -s -C "$(kernel_build_tree "$version")" M="$PWD/$tracer" modules >&2
scripts/build-module.sh --kernel "$version" --output "$output" \
	KCFLAGS="-Werror -fsanitize-coverage=trace-pc" KBUILD_EXTRA_SYMBOLS="$PWD/$tracer/Module.symvers"
rm -f "$output/hits/"*

status=0
tests/vm/run --timeout 3600 --share "$output/hits" -- \
	tests/vm/coverage/collect "$PWD/$tracer/coverage.ko" "$PWD/$output/overtake.ko" "$PWD/$output/hits" \
	"$@" > "$output/suites.log" || status=$?
[ "$status" = 0 ] || echo "coverage-kmod: the suites failed ($status): $PWD/$output/suites.log"
/usr/bin/python3 scripts/coverage_kmod.py "$output/overtake.ko" "$output/hits" 80
