#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints a JUnit report of ctest as TAP: junit_to_tap.py REPORT.xml"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case):
    """Returns the reason for which the test skipped itself, or None. A missing program is no reason."""
    element = case.find("skipped")
    if element is None or not element.get("message", "").startswith("SKIP_"):
        return None
    said = re.search(r"(?:SKIPPED: |# SKIP )(.*)", case.findtext("system-out", ""))
    return said.group(1).strip() if said else "gives no reason"


def last_lines(case, count=12, width=160):
    """Returns ctest's word for the failure of a test ("Failed", "Timeout") and the end of the test's output."""
    failure = case.find("failure")
    word = "did not run" if failure is None else failure.get("message") or "Failed"
    lines = [line.rstrip()[:width] for line in case.findtext("system-out", "").splitlines() if line.strip()]
    return [f"{word} after {float(case.get('time') or 0):.0f} s", *lines[-count:]]


def main():
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        # ctest's status: run, fail, disabled, notrun (skipped, or its program is missing)
        status = case.get("status")
        reason = "disabled" if status == "disabled" else skip_reason(case)
        if status == "run":
            print("ok", case.get("name"))
        elif reason is not None:
            print("ok", case.get("name"), "# SKIP", reason)
        else:
            print("not ok", case.get("name"))
            print(*(f"# {line}" for line in last_lines(case)), sep="\n")


if __name__ == "__main__":
    main()
