# SPDX-License-Identifier: MIT
"""A board program, unchanged, on one core, and on two unlike cores and the CPU behind one coordinator.

    board_processors.py BUILD_DIRECTORY

prints inferences per second of each, on a device server whose cores take the modelled time. Exits with 1 if several
processors are not faster than one core.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

COUNT, IN_FLIGHT, ROUNDS = "300", "8", 3
WAYS = {"one core": "npu=1", "two unlike cores": "npu=1,little=2", "and the CPU": "npu=1,little=2,cpu=x1"}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    overtake = build.parent / "bin/overtake"
    models = build / "models"
    with tempfile.TemporaryDirectory() as directory:
        model, socket = pathlib.Path(directory) / "detector.ovm", pathlib.Path(directory) / "device"
        subprocess.run([overtake, "compile", models / "detector.onnx", "-q", "-o", model, "--calibration",
                        models / "detector_calibration.npy", "--class", "npu=default", "--class",
                        "little=ethos-u65-512", "--class", "cpu", "--min-unit", "1"], check=True)
        server = subprocess.Popen([overtake, "serve", "--socket", socket, "--mode", "timed", "--profile",
                                   "default+ethos-u65-512"], stdout=subprocess.DEVNULL)
        try:
            while not socket.exists() and server.poll() is None:
                time.sleep(0.01)
            rates = {way: 0.0 for way in WAYS}
            for _ in range(ROUNDS):
                for way, processors in WAYS.items():
                    environment = {**os.environ, "OVERTAKE_DEVICE": f"server:{socket}",
                                   "OVERTAKE_PROCESSORS": processors, "OVERTAKE_POLICY": "heft"}
                    ran = subprocess.run([build / "tests/board_throughput", model, COUNT, IN_FLIGHT], check=True,
                                         env=environment, stdout=subprocess.PIPE, text=True)
                    rates[way] = max(rates[way], float(ran.stdout))
        finally:
            server.terminate()
            server.wait()
    first = rates["one core"]
    for way, rate in rates.items():
        print(f"{way:18} {rate:8.1f} inferences/s  {rate / first:5.2f}x")
    return 0 if rates["and the CPU"] > first and rates["two unlike cores"] > first else 1


if __name__ == "__main__":
    sys.exit(main())
