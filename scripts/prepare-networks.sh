#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile the project's own networks into build/networks. An embedded device runs those whose outputs
# tests compare: the classifier glyphs on its held-out images (in float too), resnet18, mobilenetv2,
# yolo, unet and vit on one synthetic image each. Repeats only steps whose inputs have changed. Needs the
# overtake command and, except for glyphs, the networks' graphs in build/release/models (`make build`
# makes both). OVERTAKE in the environment names another program with the command `compile`.
#
#   scripts/prepare-networks.sh [NETWORK...]
#
# NETWORK is detector, large (as it is, and split), glyphs, resnet18, mobilenetv2, yolo, unet or vit;
# default: the first five.
set -eu
cd "$(dirname "$0")/.."
models=build/release/models
out=build/networks
overtake=${OVERTAKE:-build/bin/overtake}
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

# infer NAME DIRECTORY IMAGES COMMAND...: COMMAND writes the outputs of network NAME to DIRECTORY
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

prepare_glyphs()
{
	heldout=models/glyphs/heldout_images.npy
	compile glyphs models/glyphs/glyphs.onnx models/glyphs/calibration.npy
	infer glyphs "$out/glyphs-float" $heldout models/float_reference.py models/glyphs/glyphs.onnx
	infer glyphs "$out/glyphs-embedded" $heldout "$overtake" run "$out/glyphs.ovm" --device embedded
}

# prepare_with_image NETWORK HEIGHTxWIDTH
prepare_with_image()
{
	compile "$1" "$models/$1.onnx" "$models/$1_calibration.npy"
	images=$out/$1-image.npy
	[ -e "$images" ] || models/synthetic_images.py "$images" --input "$2" --seed 7
	infer "$1" "$out/$1-embedded" "$images" "$overtake" run "$out/$1.ovm" --device embedded
}

for network in ${*:-detector large glyphs resnet18 mobilenetv2}; do
	case $network in
	detector) compile detector $models/detector.onnx $models/detector_calibration.npy ;;
	large)
		compile large $models/large.onnx $models/large_calibration.npy
		compile large-1000us $models/large.onnx $models/large_calibration.npy --max-time-per-fc 1000
		;;
	glyphs) prepare_glyphs ;;
	resnet18 | vit) prepare_with_image "$network" 224x224 ;;
	mobilenetv2)
		prepare_with_image mobilenetv2 224x224
		compile mobilenetv2-on-two $models/mobilenetv2.onnx $models/mobilenetv2_calibration.npy --cores 2
		;;
	yolo) prepare_with_image yolo 320x320 ;;
	unet) prepare_with_image unet 256x256 ;;
	*) echo "$0: no network $network" >&2; exit 2 ;;
	esac
done
