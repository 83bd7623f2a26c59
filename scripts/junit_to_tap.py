#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Print a JUnit report of ctest as TAP: junit_to_tap.py REPORT.xml"""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        # ctest's status: run, fail, disabled, notrun (skipped, or its program is missing)
        status = case.get("status")
        if status == "run":
            print("ok", case.get("name"))
        elif status == "disabled" or case.find("skipped[@message='SKIP_RETURN_CODE=77']") is not None:
            print("# skipped", case.get("name"))
        else:
            print("not ok", case.get("name"))


if __name__ == "__main__":
    main()
