#!/bin/sh
# SPDX-License-Identifier: MIT
# The demonstration; `make demo`. Needs `make build kmod` first.
#
#   scripts/demo.sh [REQUESTS]      detector requests in each row of the table (2000)
#
# Compiles the networks, boots a VM, loads the driver in it and runs the clients there. Everything that
# is worth keeping ends up in build/demo.
set -eu
cd "$(dirname "$0")/.."
requests=${1:-2000}
out=build/demo
mkdir -p "$out"

echo "compiling the networks to int8, running the classifier in float and on a device in the process"
scripts/prepare-networks.sh

echo "booting a VM with a stock Debian kernel"
tests/vm/run --timeout 900 --share "$out" -- scripts/demo-guest.sh "$requests"
if command -v rsvg-convert > /dev/null; then
	for picture in "$out"/timeline-*.svg; do
		rsvg-convert "$picture" -o "${picture%.svg}.png"
	done
fi
