#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzz a reader of untrusted bytes with libFuzzer, under the address and undefined-behaviour
# sanitizers, for SECONDS (600). Needs no device.
#
#   SECONDS=60 scripts/fuzz-files.sh model [LIBFUZZER OPTION...]    model files, which it runs as well
#   SECONDS=60 scripts/fuzz-files.sh server [LIBFUZZER OPTION...]   messages of clients to a device server
#   SECONDS=60 scripts/fuzz-files.sh onnx [LIBFUZZER OPTION...]     ONNX import, to the model file
#
# Inputs are kept in build/fuzz-files/NAME/corpus from run to run. An input that breaks the target is left
# in build/fuzz-files/NAME/crash-*: replay it with build/fuzz-targets/tests/fuzz_* FILE. Then add a similar
# input to the folder of this target in tests/fuzz, so that `make test` runs it.
set -eu
cd "$(dirname "$0")/.."
seconds=${SECONDS:-600}
jobs=${JOBS:-$(nproc)}
name=${1:?model, server or onnx}
shift
build=build/fuzz-files/$name
targets=build/fuzz-targets/tests

scripts/setup.sh fuzz
mkdir -p "$build/corpus"
cmake --preset fuzz > "$build/configure.log"
case $name in
model)
	cmake --build --preset fuzz -j "$jobs" --target fuzz_model_file fuzz_model_seeds
	target=$targets/fuzz_model_file
	$targets/fuzz_model_seeds "$build/corpus"
	# If the compiler was built, its output gives instructions of real networks.
	if [ -x build/bin/overtake ]; then
		/usr/bin/python3 -B tests/fuzz/model_file/compiled_seeds.py "$build/corpus"
	fi
	limits="-max_len=32768 -timeout=20"
	;;
server)
	cmake --build --preset fuzz -j "$jobs" --target fuzz_server_messages fuzz_server_seeds
	target=$targets/fuzz_server_messages
	$targets/fuzz_server_seeds "$build/corpus"
	limits="-max_len=4096 -timeout=60"
	;;
onnx)
	cmake --build --preset fuzz -j "$jobs" --target fuzz_onnx_import
	target=$targets/fuzz_onnx_import
	/usr/bin/python3 -B tests/fuzz/onnx_import/seeds.py "$build/corpus"
	# A child process may take a minute of CPU time; a parent with less memory starts children faster.
	limits="-max_len=16384 -timeout=900"
	export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=16"
	;;
*)
	echo "usage: scripts/fuzz-files.sh model|server|onnx [LIBFUZZER OPTION...]" >&2
	exit 2
	;;
esac

# shellcheck disable=SC2086
$target -max_total_time="$seconds" $limits -rss_limit_mb=3000 -print_final_stats=1 \
	-artifact_prefix="$build/" "$@" "$build/corpus" > "$build/log" 2>&1 || {
	tail -n 60 "$build/log" >&2
	echo "fuzz-files: $name: something was found; see $build" >&2
	exit 1
}
grep -E 'number_of_executed_units|new_units_added|slowest_unit|messages:|DONE' "$build/log"
