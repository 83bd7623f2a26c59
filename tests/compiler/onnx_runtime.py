# SPDX-License-Identifier: MIT
"""ONNX Runtime, an implementation of ONNX that is no part of Overtake, as a judge of the float executor.

It comes with the package onnxruntime-node of the npm registry and runs in a process of its own
(onnx_runtime_server.js)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "onnxruntime-node@1.23.2"
INSTALLED = SOURCE / "build/onnxruntime/node_modules"
INSTALL = f"npm install --prefix build/onnxruntime --ignore-scripts {PACKAGE}"


class Refused(Exception):
    """ONNX Runtime refuses the network."""


def missing():
    """Returns the reason for which ONNX Runtime cannot run, and the remedy, in a sentence; empty if there
    is no reason."""
    if not shutil.which("node"):
        return "there is no node; install the Debian packages nodejs and npm, then: " + INSTALL
    probe = subprocess.run(
        ["node", "-e", "require('onnxruntime-node')"],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if probe.returncode == 0:
        return ""
    if "Cannot find module 'onnxruntime-node'" in probe.stderr:
        return "onnxruntime-node is not installed; install it with: " + INSTALL
    words = [line for line in probe.stderr.splitlines() if "Error" in line]
    return f"onnxruntime-node does not start: {(words or ['no word'])[0]}"


def environment():
    paths = [str(INSTALLED), os.environ.get("NODE_PATH", "")]
    return {**os.environ, "NODE_PATH": ":".join(path for path in paths if path)}


class OnnxRuntime:
    """Runs networks, one after the other, until it is stopped."""

    def __init__(self):
        self._process = None
        self._directory = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop()
        self._directory.cleanup()

    def _stop(self):
        if self._process:
            self._process.communicate()
            self._process = None

    def run(self, model, inputs):
        """Returns output arrays by name. `inputs` has the arrays by input that the network takes at
        once."""
        if self._process is None:
            server = pathlib.Path(__file__).with_name("onnx_runtime_server.js")
            self._process = subprocess.Popen(
                ["node", str(server)], env=environment(), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        directory = pathlib.Path(self._directory.name)
        files = {}
        for index, (name, array) in enumerate(inputs.items()):
            files[name] = str(directory / f"in{index}.npy")
            np.save(files[name], np.asarray(array, order="C"))
        request = {"model": str(model), "inputs": files, "directory": str(directory)}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self._process = None
            raise Refused(f"the process ended with {status}")
        answer = json.loads(line)
        if answer["error"]:
            raise Refused(answer["error"])
        names = enumerate(answer["outputs"])
        return {name: np.load(directory / f"{index}.npy") for index, name in names}


def main():
    """Says whether ONNX Runtime is missing, for scripts."""
    why = missing()
    if why:
        print(f"agreement with ONNX Runtime: skipped, as {why}")
    sys.exit(1 if why else 0)


if __name__ == "__main__":
    main()
