#!/bin/sh
# SPDX-License-Identifier: MIT
# The part of the demonstration (scripts/demo.sh) that runs in the VM.
set -eu
requests=$1
repeat=$2
large=$3
out=build/demo
networks=build/networks
overtake=build/bin/overtake

# load PARAMETER...
load()
{
	echo
	echo "\$ insmod overtake.ko $*"
	insmod "$OVERTAKE_KO" "$@"
	ls -l /dev/accel/accel0
}

# insmod, unlike modprobe, does not load the modules that a module needs.
modprobe drm_shmem_helper

# demo OPTION...
demo()
{
	"$overtake" demo --detector $networks/detector.ovm --large "$large.ovm" \
		--large-split "$large-1000us.ovm" --output-dir "$out" "$@"
}

# A host that is too slow for the device's clock gets a slower clock: a quarter, or a sixteenth. The number of
# requests shrinks with the clock, but stays large enough for a 99th percentile.
scale=1
load cores=1 mode=timed
while ! demo --probe --time-scale $scale && [ $scale != 16 ]; do
	scale=$((scale * 4))
	scripts/unload-module.sh
	load cores=1 mode=timed clock_khz=$((1000000 / scale))
done
least=250
[ "$requests" -ge $least ] || least=$requests
requests=$((requests / scale))
[ "$requests" -ge $least ] || requests=$least
demo --requests "$requests" --repeat "$repeat" --time-scale $scale
scripts/unload-module.sh

# Arithmetic on an emulated CPU beside other work takes longer than an FC may by default.
load cores=2 mode=functional fc_clock_ms=60000
echo "the trained classifier computes its held-out images on /dev/accel/accel0"
"$overtake" run $networks/glyphs.ovm --device kernel \
	--input image=models/glyphs/heldout_images.npy --output-dir "$out/glyphs-kernel"
scripts/unload-module.sh
models/accuracy.py "$out/glyphs-kernel/probabilities.npy" models/glyphs/heldout_labels.npy \
	--reference "$networks/glyphs-float/probabilities.npy"
if cmp "$out/glyphs-kernel/probabilities.npy" "$networks/glyphs-embedded/probabilities.npy"; then
	echo "kernel and embedded device agree on every bit"
else
	echo "demo: kernel and embedded device disagree, see the files above" >&2
	exit 1
fi
echo
echo "The tables and the timelines of all five set-ups: $out/index.html"
