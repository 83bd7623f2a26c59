# SPDX-License-Identifier: MIT
"""overtake cdi: its output follows the rules of the CDI specification (SPEC.md and schema.json of
container-device-interface, version 0.5.0). tests/overtake/run-metrics has kernel devices."""

import json
import pathlib
import re
import unittest

from overtake_command import CommandTest

DEVICES = sorted(pathlib.Path("/sys/class/accel").glob("accel*/device/core1"))

# The keys of version 0.5.0; readers refuse others. True: the key is required.
NODE = {"path": (str, True), "hostPath": (str, False), "type": (str, False), "major": (int, False),
        "minor": (int, False), "fileMode": (int, False), "permissions": (str, False), "uid": (int, False),
        "gid": (int, False)}  # fmt: skip
MOUNT = {"hostPath": (str, True), "containerPath": (str, True), "type": (str, False), "options": (list, False)}
EDITS = {"env": (list, False), "deviceNodes": (list, False), "mounts": (list, False), "hooks": (list, False)}
DEVICE = {"name": (str, True), "containerEdits": (dict, True)}
TOP = {"cdiVersion": (str, True), "kind": (str, True), "devices": (list, True), "containerEdits": (dict, False)}


class Cdi(CommandTest):
    def check_object(self, value, rules):
        self.assertIs(type(value), dict)
        self.assertLessEqual(value.keys(), rules.keys())
        for key, (kind, is_required) in rules.items():
            if is_required or key in value:
                self.assertIs(type(value[key]), kind, key)

    def check_edits(self, edits):
        self.check_object(edits, EDITS)
        self.assertTrue(any(edits.values()))  # at least one edit has to be there
        for variable in edits.get("env", []):
            self.assertRegex(variable, r"^\w+=.")
        for node in edits.get("deviceNodes", []):
            self.check_object(node, NODE)
            self.assertRegex(node["path"], r"^/dev/accel/accel\d+$")
            self.assertIn(node["type"], {"b", "c", "u", "p"})
            self.assertLessEqual(set(node["permissions"]), set("rwm"))
        for mount in edits.get("mounts", []):
            self.check_object(mount, MOUNT)
            for key in ("hostPath", "containerPath"):
                self.assertTrue(mount[key].startswith("/"), mount)
            self.assertTrue(all(isinstance(option, str) for option in mount["options"]))
            self.assertTrue({"bind", "rbind"} & set(mount["options"]))

    def check(self, text):
        specification = json.loads(text)
        self.check_object(specification, TOP)
        self.assertEqual(specification["cdiVersion"], "0.5.0")  # names may begin with digits
        vendor, name = specification["kind"].split("/")
        self.assertRegex(vendor, r"^[a-zA-Z]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?$")
        self.assertRegex(name, r"^[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$")
        self.assertEqual(specification["kind"], "overtake/npu")
        names = [device["name"] for device in specification["devices"]]
        self.assertEqual(len(set(names)), len(names))
        self.assertTrue(names)
        for device in specification["devices"]:
            self.check_object(device, DEVICE)
            self.assertTrue(re.fullmatch(r"[a-zA-Z0-9]([a-zA-Z0-9_.:-]*[a-zA-Z0-9])?", device["name"]))
            self.check_edits(device["containerEdits"])
        return specification

    def test_a_server_is_a_device(self):
        specification = self.check(self.succeed("cdi", "--server", "/run/user/7/overtake/socket"))
        self.assertEqual(len(specification["devices"]), 1 + (len(DEVICES) + 1 if DEVICES else 0))
        self.assertEqual(specification["devices"][-1], {
            "name": "server",
            "containerEdits": {
                "env": ["OVERTAKE_SERVER=/run/overtake/socket"],
                "mounts": [{"hostPath": "/run/user/7/overtake", "containerPath": "/run/overtake",
                            "options": ["bind", "nosuid", "nodev", "noexec"]}],
            },
        })  # fmt: skip

    def test_a_path_becomes_an_absolute_one(self):
        specification = self.check(self.succeed("cdi", "--server", "here/socket"))
        mount = specification["devices"][-1]["containerEdits"]["mounts"][0]
        self.assertEqual(mount["hostPath"], str(pathlib.Path.cwd() / "here"))

    def test_a_file_appears(self):
        path = self.directory / "overtake.json"
        self.assertEqual(self.succeed("cdi", "--server", "/x/y", "-o", str(path)), "")
        self.check(path.read_text(encoding="ascii"))

    def test_refusals(self):
        if not DEVICES:
            self.refuse(1, "no Overtake device is here: load the driver (sudo modprobe overtake), or", "cdi")
        self.refuse(1, "no/such", "cdi", "--server", "/x/y", "-o", str(self.directory / "no/such"))
        self.refuse(2, "--server", "cdi", "--server", "")
        self.refuse(2, "spare", "cdi", "spare")


if __name__ == "__main__":
    unittest.main()
