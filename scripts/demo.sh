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
models=build/release/models
out=build/demo
overtake=build/bin/overtake
mkdir -p "$out"

# compile NAME MODEL.onnx CALIBRATION.npy [OPTION...]: only if something it depends on is newer
compile()
{
	name=$1 model=$2 calibration=$3
	shift 3
	if [ -e "$out/$name.ovm" ] && [ "$out/$name.ovm" -nt "$model" ] &&
		[ "$out/$name.ovm" -nt "$overtake" ]; then
		return
	fi
	echo "compiling $name"
	"$overtake" compile "$model" --calibration "$calibration" -o "$out/$name.ovm" "$@"
}

compile detector $models/detector.onnx $models/detector_calibration.npy
compile large $models/large.onnx $models/large_calibration.npy
compile large-1000us $models/large.onnx $models/large_calibration.npy --max-time-per-fc 1000
compile glyphs models/glyphs/glyphs.onnx models/glyphs/calibration.npy

echo "the classifier in float, and in int8 on the embedded device"
models/float_reference.py models/glyphs/glyphs.onnx \
	--input image=models/glyphs/heldout_images.npy --output-dir "$out/glyphs-float"
"$overtake" run "$out/glyphs.ovm" --device embedded \
	--input image=models/glyphs/heldout_images.npy --output-dir "$out/glyphs-embedded"

echo "booting a VM with a stock Debian kernel"
exec tests/vm/run --timeout 900 --share "$out" -- scripts/demo-guest.sh "$requests"
