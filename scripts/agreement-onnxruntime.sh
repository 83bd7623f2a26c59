#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the float executor with ONNX Runtime: COUNT random networks from number SEED on, written in
# OPSET (18 to 23) if it is set, and the networks of build/zoo; `make agreement-onnxruntime`. Without
# ONNX Runtime it compares nothing and succeeds.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh zoo
/usr/bin/python3 -B tests/compiler/onnx_runtime.py || exit 0
make --no-print-directory build
OVERTAKE="$PWD/build/bin/overtake" COMMAND_SERVER="$PWD/build/release/tests/command_server" \
	exec /usr/bin/python3 -B tests/compiler/agreement_onnx_runtime.py --zoo \
	--seed "${SEED:-1}" --count "${COUNT:-2000}" ${OPSET:+--opset "$OPSET"} --jobs "${JOBS:-$(nproc)}"
