# SPDX-License-Identifier: MIT
"""Children of fork(): calls on objects that the parent opened are refused there, and neither the child's end nor exit()
waits."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import glyphs

# Forks, tries every object of its own in the child, and lets the child end as a program ends.
PROGRAM = """
    import errno, gc, os, signal, sys, threading
    import numpy as np
    import overtake

    device = overtake.open_device(sys.argv[1])
    model = overtake.Model(sys.argv[2])
    images = np.load(sys.argv[3]).astype(np.float32)
    session = overtake.Session(device, model)
    expected = session.run({"image": images[:1]})["probabilities"]
    task = session.submit({"image": images[:1]})
    events = overtake.trace(device, seconds=60)
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        calls = {
            "run": lambda: session.run({"image": images[:1]}),
            "submit": lambda: session.submit({"image": images[:1]}),
            "wait": lambda: task.wait(),
            "cancel": lambda: task.cancel(),
            "session": lambda: overtake.Session(device, model),
            "trace": lambda: next(iter(events)),
            "cores": lambda: device.cores(),
        }
        for name, call in calls.items():
            try:
                call()
                print(name, "is not refused", flush=True)
            except overtake.Error as error:
                if error.code != errno.ENOTSUP or "opened before fork()" not in str(error):
                    print(name, error, flush=True)
        del task
        gc.collect()
        own = overtake.Session(overtake.open_device("embedded"), model)
        if own.run({"image": images[:1]})["probabilities"].tobytes() != expected.tobytes():
            print("the child's own device computes something else", flush=True)
        sys.exit(0)  # session, device and events live on
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        print("the child ended with", status)
    task.wait()
    if session.run({"image": images[:1]})["probabilities"].tobytes() != expected.tobytes():
        print("the parent computes something else")
    print("done")
"""


class Fork(glyphs.Case):
    def run_on(self, device):
        # Python 3.12 and newer warn of fork() with threads, which these tests need.
        ended = subprocess.run([sys.executable, "-B", "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(PROGRAM), device, str(self.path),
                                str(glyphs.FILES / "heldout_images.npy")],
                               capture_output=True, text=True, timeout=240)
        self.assertEqual((ended.stdout, ended.stderr, ended.returncode), ("done\n", "", 0))

    def test_an_embedded_device(self):
        self.run_on("embedded")

    def test_the_device_of_a_server(self):
        with tempfile.TemporaryDirectory() as directory:
            socket = os.path.join(directory, "device")
            with subprocess.Popen([glyphs.BINARY, "serve", "--socket", socket], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True) as server:
                self.assertIn(socket, server.stdout.readline())
                try:
                    self.run_on(f"server:{socket}")
                finally:
                    server.terminate()


if __name__ == "__main__":
    unittest.main()
