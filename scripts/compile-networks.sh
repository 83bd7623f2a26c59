#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile the project's own networks into build/networks, what has changed only. Needs `make build`.
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
