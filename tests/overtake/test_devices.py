# SPDX-License-Identifier: MIT
"""overtake devices on this machine, with or without nodes; tests/overtake/run-kernel has a driver."""

import pathlib
import unittest

from overtake_command import CommandTest

NODES = sorted(str(path) for path in pathlib.Path("/dev").glob("accel/accel[0-9]*"))


class Devices(CommandTest):
    def test_the_embedded_device_is_always_there(self):
        devices = self.succeed_json("devices")["devices"]
        self.assertEqual(sorted(d["path"] for d in devices if d["kind"] == "kernel"), NODES)
        self.assertEqual(
            [device for device in devices if device["kind"] == "embedded"],
            [{"kind": "embedded", "path": None, "backend": "embedded", "mode": "functional",
              "profile": "default", "cores": 2, "core_limits": [0, 0], "usable": True,
              "priority_255": True}],
        )  # fmt: skip

    def test_it_says_what_to_do_without_a_node(self):
        text = self.succeed("devices")
        self.assertIn("embedded device (of this process alone), mode functional", text)
        self.assertEqual("no /dev/accel/accel*: load the driver" in text, not NODES)

    def test_refusals(self):
        self.refuse(2, "spare", "devices", "spare")


if __name__ == "__main__":
    unittest.main()
