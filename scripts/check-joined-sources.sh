#!/bin/bash
# SPDX-License-Identifier: MIT
# Compiles the sources of each library and of many tests in batches, as a build without a compiler cache does; TAP.
#
#   scripts/check-joined-sources.sh
#
# A build with a cache compiles each source by itself (cmake/QuickBuild.cmake). It therefore does not notice
# a name that two sources of a target have in an anonymous namespace. Objects are in build/joined.
set -u -o pipefail
cd "$(dirname "$0")/.."
log=build/joined.log
mkdir -p build
targets=$(git ls-files '*CMakeLists.txt' | xargs sed -n 's/^overtake_join_sources(\(.*\))$/\1/p')
# shellcheck disable=SC2086 # names of targets
if cmake -S . -B build/joined -G Ninja -DCMAKE_BUILD_TYPE=Release -DOVERTAKE_WERROR=ON \
	-DOVERTAKE_JOIN_SOURCES=ON -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCMAKE_C_FLAGS_RELEASE=-O2 > "$log" 2>&1 &&
	cmake --build build/joined -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target $targets >> "$log" 2>&1; then
	echo "ok sources of a library can be compiled in batches"
else
	grep -E 'error|Error' "$log" >&2
	echo "not ok sources of a library can be compiled in batches (build/joined.log)"
	exit 1
fi
