#!/bin/sh
# SPDX-License-Identifier: MIT
# Download trained networks of other people with npm into build/zoo, compile them, run them in float and
# int8, and print one table; `make zoo`. docs/use/zoo.md describes it.
#
#   scripts/zoo.sh [NETWORK...]
set -eu
cd "$(dirname "$0")/.."
command -v npm > /dev/null || {
	echo "zoo: npm is missing, with which the networks are downloaded: install the Debian package npm" >&2
	exit 1
}
scripts/setup.sh zoo
make --no-print-directory build

# The example is built as users build it: against the installed library.
echo "building examples/read_text.cpp against the library in build/zoo/prefix"
mkdir -p build/zoo
{
	cmake --install build/release --prefix build/zoo/prefix &&
		cmake -S examples -B build/zoo/examples -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$PWD/build/zoo/prefix" &&
		cmake --build build/zoo/examples
} > build/zoo/examples.log 2>&1 || {
	tail -n 5 build/zoo/examples.log >&2
	echo "zoo: the examples do not build (whole log: build/zoo/examples.log)" >&2
	exit 1
}
OVERTAKE="$PWD/build/bin/overtake" exec /usr/bin/python3 -B tests/zoo/zoo.py --fcs \
	--read-text build/zoo/examples/read_text "$@"
