#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile the project's own networks into build/networks, and let an embedded device run the ones that
# others compare with: the classifier on its held-out images (in float too), NETWORK... (resnet18 and
# mobilenetv2) on one synthetic image each. Only what has changed. Needs `make build`.
#
#   scripts/prepare-networks.sh [NETWORK...]      of resnet18 mobilenetv2 yolo unet vit
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

# infer NAME DIRECTORY IMAGES COMMAND...: the answers of network NAME
infer()
{
	name=$1 directory=$2 images=$3
	shift 3
	if [ -e "$directory/done" ] && [ "$directory/done" -nt "$out/$name.ovm" ]; then
		return
	fi
	"$@" --input "image=$images" --output-dir "$directory"
	touch "$directory/done"
}

heldout=models/glyphs/heldout_images.npy
infer glyphs "$out/glyphs-float" $heldout models/float_reference.py models/glyphs/glyphs.onnx
infer glyphs "$out/glyphs-embedded" $heldout "$overtake" run "$out/glyphs.ovm" --device embedded

for network in ${*:-resnet18 mobilenetv2}; do
	case $network in
	resnet18 | mobilenetv2 | vit) size=224x224 ;;
	yolo) size=320x320 ;;
	unet) size=256x256 ;;
	*) echo "$0: no network $network" >&2; exit 2 ;;
	esac
	compile "$network" "$models/$network.onnx" "$models/${network}_calibration.npy"
	images=$out/$network-image.npy
	[ -e "$images" ] || models/synthetic_images.py "$images" --input $size --seed 7
	infer "$network" "$out/$network-embedded" "$images" \
		"$overtake" run "$out/$network.ovm" --device embedded
done
