#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzz the instruction decoder and the operators behind it with libFuzzer, under the address and
# undefined-behaviour sanitizers, for SECONDS (600). Needs no device.
#
#   SECONDS=60 scripts/fuzz-decoder.sh [LIBFUZZER OPTION...]
#
# Inputs are kept in build/fuzz/corpus from run to run. An input that breaks the target is left in
# build/fuzz/crash-*: replay it with build/fuzz/target FILE, then keep it in tests/fuzz/decoder/corpus.
set -eu
cd "$(dirname "$0")/.."
seconds=${SECONDS:-600}
build=build/fuzz

scripts/setup.sh fuzz
mkdir -p $build/corpus
include="-I firmware-sim -I uapi -I libruntime/port -I tests/firmware-sim -I tests/fuzz/decoder"
hardware="firmware-sim/hw/decode.c firmware-sim/hw/decode_shapes.c firmware-sim/hw/operators.c
	firmware-sim/hw/profile.c $(ls firmware-sim/hw/op_*.c)"
options="-std=c11 -g -O1 -Wall -Wextra -Werror -fno-sanitize-recover=all -fno-omit-frame-pointer"
# Vector operators need gcc's vector extensions: gcc compiles them with the sanitizers, but not to guide the fuzzer.
rm -rf $build/vector_operators
mkdir $build/vector_operators
for source in firmware-sim/hw/simd/*.c; do
	# shellcheck disable=SC2086
	gcc $options $include -fsanitize=address,undefined -c "$source" \
		-o "$build/vector_operators/$(basename "$source" .c).o"
done
# shellcheck disable=SC2086
clang $options $include -fsanitize=fuzzer,address,undefined \
	tests/fuzz/decoder/case.c tests/fuzz/decoder/target.c $hardware $build/vector_operators/*.o -o $build/target
# shellcheck disable=SC2086
clang -std=c11 -O1 $include tests/fuzz/decoder/seeds.c tests/firmware-sim/random_*.c -o $build/seeds
$build/seeds $build/corpus
cp tests/fuzz/decoder/corpus/* $build/corpus/

$build/target -max_total_time="$seconds" -max_len=328 -timeout=10 -print_final_stats=1 \
	-artifact_prefix=$build/ "$@" $build/corpus > $build/log 2>&1 || {
	tail -n 60 $build/log >&2
	echo "fuzz-decoder: found something: $(ls $build/crash-* $build/timeout-* $build/leak-* 2> /dev/null)" >&2
	exit 1
}
grep -E 'number_of_executed_units|new_units_added|slowest_unit|DONE' $build/log
