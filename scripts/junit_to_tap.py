#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Print a JUnit report of ctest as TAP: junit_to_tap.py REPORT.xml"""

import sys
import xml.etree.ElementTree as ElementTree


def skipped(case):
    """The test itself said that it cannot run here; a missing program is not that."""
    element = case.find("skipped")
    return element is not None and element.get("message", "").startswith("SKIP_")


def main():
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        # ctest's status: run, fail, disabled, notrun (skipped, or its program is missing)
        status = case.get("status")
        if status == "run":
            print("ok", case.get("name"))
        elif status == "disabled" or skipped(case):
            print("# skipped", case.get("name"))
        else:
            print("not ok", case.get("name"))


if __name__ == "__main__":
    main()
