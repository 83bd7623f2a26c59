#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile the project's own networks into build/networks, and let the classifier judge its held-out
# images in float and on an embedded device, for others to compare with. Only what has changed.
# Needs `make build`.
set -eu
cd "$(dirname "$0")/.."
models=build/release/models
out=build/networks
overtake=build/bin/overtake
mkdir -p "$out"

# compile NAME MODEL.onnx CALIBRATION.npy [OPTION...]
compile()
{
	name=$1 model=$2 calibration=$3
	shift 3
	if [ -e "$out/$name.ovm" ] && [ "$out/$name.ovm" -nt "$model" ] &&
		[ "$out/$name.ovm" -nt "$overtake" ]; then
		return
	fi
	"$overtake" compile "$model" --calibration "$calibration" -o "$out/$name.ovm" "$@"
}

compile detector $models/detector.onnx $models/detector_calibration.npy
compile large $models/large.onnx $models/large_calibration.npy
compile large-1000us $models/large.onnx $models/large_calibration.npy --max-time-per-fc 1000
compile glyphs models/glyphs/glyphs.onnx models/glyphs/calibration.npy

# infer DIRECTORY COMMAND...: the classifier's answers to the held-out images
infer()
{
	directory=$1
	shift
	if [ "$directory/probabilities.npy" -nt "$out/glyphs.ovm" ]; then
		return
	fi
	"$@" --input image=models/glyphs/heldout_images.npy --output-dir "$directory"
}

infer "$out/glyphs-float" models/float_reference.py models/glyphs/glyphs.onnx
infer "$out/glyphs-embedded" "$overtake" run "$out/glyphs.ovm" --device embedded
