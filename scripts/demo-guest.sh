#!/bin/sh
# SPDX-License-Identifier: MIT
# The part of the demonstration that runs in the VM: scripts/demo.sh.
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

# insmod, unlike modprobe, does not load what a module needs.
modprobe drm_shmem_helper

load cores=1 mode=timed
"$overtake" demo --detector $networks/detector.ovm --large "$large.ovm" \
	--large-split "$large-1000us.ovm" --requests "$requests" --repeat "$repeat" \
	--output-dir "$out"
scripts/unload-module.sh

load cores=2 mode=functional
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
