#!/bin/sh
# SPDX-License-Identifier: MIT
# The demonstration; `make demo`.
#
#   scripts/demo.sh [all|predict|measure] [REQUESTS [REPEAT]]
#
# predict   prints the simulator's prediction; builds only the two networks and overtake_first, the part
#           of the overtake command that compiles networks and predicts
# measure   measures a device: builds the whole command and the kernel module, boots a VM, loads the
#           driver in it and runs the clients there
# all       first predict, then measure
#
# LARGE in the environment names another large network: LARGE.ovm as it is and LARGE-1000us.ovm split,
# which both have to exist. `make zoo` makes those of LARGE=build/zoo/text_detection.
#
# In each row of the table, the detector has REQUESTS requests (2000); each row is measured REPEAT times
# (1). The script prints how long each stage took. build/demo/index.html has all results.
set -eu
cd "$(dirname "$0")/.."
what=${1:-all}
requests=${2:-2000}
repeat=${3:-1}
out=build/demo
networks=build/networks
large=${LARGE:-$networks/large}
jobs=${JOBS:-$(nproc)}
begin=$(date +%s)
mkdir -p "$out"

# span SECONDS: prints them as seconds, or as minutes and seconds
span()
{
	if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# stage NAME COMMAND...: prints NAME, runs the command, prints how long it took
stage()
{
	name=$1
	shift
	echo "== $name"
	stage_begin=$(date +%s)
	"$@"
	echo "== $name: $(span $(($(date +%s) - stage_begin)))"
	echo
}

# build TARGET...
build()
{
	cmake --preset release > build/configure.log || {
		cat build/configure.log
		exit 1
	}
	cmake --build --preset release -j "$jobs" --target "$@"
}

prepare_networks()
{
	OVERTAKE=build/bin/overtake_first scripts/prepare-networks.sh detector
	[ -n "${LARGE-}" ] || OVERTAKE=build/bin/overtake_first scripts/prepare-networks.sh large
}

# demo OPTION...
demo()
{
	build/bin/overtake_first demo --detector $networks/detector.ovm --large "$large.ovm" \
		--large-split "$large-1000us.ovm" --requests "$requests" --output-dir "$out" "$@"
}

boot()
{
	# A row of 2000 requests takes 20 s; the rest is for the VM, whose CPUs may be emulated.
	tests/vm/run --timeout $((900 + repeat * requests / 4)) --share "$out" -- \
		scripts/demo-guest.sh "$requests" "$repeat" "$large"
}

predict()
{
	stage "Debian packages to build with" scripts/setup.sh build
	stage "compiling what the first table needs, generating the two networks" \
		build overtake_first demo_networks
	stage "compiling the networks to int8" prepare_networks
	stage "the table as the simulator predicts it" demo --predict
	echo "The first table came $(span $(($(date +%s) - begin))) after the start."
	echo
}

measure()
{
	stage "Debian packages for the kernel module and the VM" scripts/setup.sh vm
	stage "compiling the rest of the overtake command" build overtake
	stage "compiling the kernel module" scripts/build-module.sh
	stage "compiling the classifier, running it in float and on a device in the process" \
		scripts/prepare-networks.sh glyphs
	stage "booting a VM with a stock Debian kernel, measuring on the driver" boot
}

for model in "$large.ovm" "$large-1000us.ovm"; do
	if [ -n "${LARGE-}" ] && [ ! -e "$model" ]; then
		echo "demo: LARGE=$LARGE: there is no $model" >&2
		exit 1
	fi
done
case $what in
all)
	predict
	measure
	;;
predict | measure) $what ;;
*)
	echo "demo: all, predict or measure is wanted, not '$what'" >&2
	exit 2
	;;
esac
echo "All of it took $(span $(($(date +%s) - begin)))."
