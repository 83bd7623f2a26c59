# SPDX-License-Identifier: MIT
"""Prints gcovr's summary by part; exits with 1 if a part has too few of its lines or branches executed.

coverage_table.py SUMMARY.json PERCENT

PERCENT is the least for the lines of every part, and for the branches of every part except the operators.
Branches of operators are mostly edges of tensors. Random cases cover these, which compare AVX2 with
scalar code and with the tests' own reference.
"""

import json
import re
import sys

OPERATORS = r"firmware-sim/hw/(operators|op_\w+|operator_units|sampling)\.[ch]$"
SIMD = r"firmware-sim/hw/simd/"
# name, files that belong to it, whether its branches count. A file belongs to the first part that takes it.
PARTS = (("operators (scalar)", OPERATORS, False),
         ("operators (vectors)", SIMD, False),
         ("hw (without operators)", "firmware-sim/hw/", True),
         ("fw", "firmware-sim/fw/", True),
         ("host", "firmware-sim/host/", True),
         ("sched", "firmware-sim/sched/", True),
         ("service", "firmware-sim/service/", True))
COUNTS = ("line_covered", "line_total", "branch_covered", "branch_total")


def percent(covered, total):
    return 100 * covered / total if total else 0.0


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
    print(f"{'':36}{'lines':>11}{'branches':>22}")
    failed = []
    left = files
    for part, pattern, branches_count in PARTS:
        entries = [entry for entry in left if re.match(pattern, entry["filename"])]
        left = [entry for entry in left if entry not in entries]
        for entry in entries:
            print(f"  {entry['filename']:34}{cells(entry)}")
        sums = total(entries)
        print(f"{part:36}{cells(sums)}\n")
        if percent(sums["line_covered"], sums["line_total"]) < limit:
            failed.append(f"lines of {part}")
        if branches_count and percent(sums["branch_covered"], sums["branch_total"]) < limit:
            failed.append(f"branches of {part}")
    print(f"{'total':36}{cells(total(files))}")
    if failed:
        print(f"coverage: fewer than {limit:g} % executed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
