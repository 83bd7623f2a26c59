# SPDX-License-Identifier: MIT
"""Print gcovr's summary by part; exit 1 when a part has too few of its branches taken.

coverage_table.py SUMMARY.json PERCENT
"""

import json
import sys

PARTS = {"hw (without operators)": "firmware-sim/hw/", "fw": "firmware-sim/fw/",
         "sched": "firmware-sim/sched/"}
COUNTS = ("line_covered", "line_total", "branch_covered", "branch_total")


def percent(covered, total):
    return 100 * covered / total if total else 100.0


def cells(entry):
    lines = percent(entry["line_covered"], entry["line_total"])
    branches = percent(entry["branch_covered"], entry["branch_total"])
    return (f"{entry['line_covered']:>5}/{entry['line_total']:<5}{lines:6.1f} %"
            f"   {entry['branch_covered']:>5}/{entry['branch_total']:<5}{branches:6.1f} %")


def total(entries):
    return {count: sum(entry[count] for entry in entries) for count in COUNTS}


def main(path, limit):
    with open(path, encoding="utf-8") as file:
        files = json.load(file)["files"]
    print(f"{'':34}{'lines':>11}{'branches':>22}")
    failed = []
    for part, folder in PARTS.items():
        entries = [entry for entry in files if entry["filename"].startswith(folder)]
        for entry in entries:
            print(f"  {entry['filename']:32}{cells(entry)}")
        sums = total(entries)
        print(f"{part:34}{cells(sums)}\n")
        if not sums["branch_total"] or percent(sums["branch_covered"], sums["branch_total"]) < limit:
            failed.append(part)
    print(f"{'total':34}{cells(total(files))}")
    if failed:
        print(f"coverage: fewer than {limit:g} % of the branches taken: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
