#!/bin/sh
# SPDX-License-Identifier: MIT
# The demonstration; `make demo`.
#
#   scripts/demo.sh predict [REQUESTS]   what the simulator says; needs `make build`
#   scripts/demo.sh measure [REQUESTS]   what a device does; needs `make kmod` too, and takes minutes
#
# REQUESTS of the detector in each row of the table (2000). Both compile the networks; `measure` boots
# a VM, loads the driver in it and runs the clients there. Everything worth keeping ends up in build/demo.
set -eu
cd "$(dirname "$0")/.."
stage=$1
requests=${2:-2000}
out=build/demo
networks=build/networks
mkdir -p "$out"

echo "compiling the networks to int8, running the classifier in float and on a device in the process"
scripts/prepare-networks.sh

predict()
{
	echo "the table as the simulator predicts it from the compiled FCs"
	build/bin/overtake demo --predict --detector $networks/detector.ovm \
		--large $networks/large.ovm --large-split $networks/large-1000us.ovm \
		--requests "$requests" --output-dir "$out"
	echo
}

measure()
{
	echo "booting a VM with a stock Debian kernel"
	tests/vm/run --timeout 900 --share "$out" -- scripts/demo-guest.sh "$requests"
	if command -v rsvg-convert > /dev/null; then
		for picture in "$out"/timeline-*.svg; do
			rsvg-convert "$picture" -o "${picture%.svg}.png"
		done
	fi
}

case $stage in
predict | measure) $stage ;;
*)
	echo "demo: the stage is predict or measure, not '$stage'" >&2
	exit 2
	;;
esac
