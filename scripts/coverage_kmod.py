# SPDX-License-Identifier: MIT
"""Prints how many lines of kmod/ were executed, from the files of tests/vm/coverage/collect.

coverage_kmod.py OVERTAKE.ko DIRECTORY PERCENT

A basic block begins with a call of __sanitizer_cov_trace_pc; if the return address of this call was
recorded, the block was executed. The instructions up to the next such call belong to the block. The
instructions before a function's first call belong to its first block. A line counts if instructions
come from it; it is covered if one of these was executed.
"""

import collections
import os
import re
import subprocess
import sys

SOURCE = re.compile(r".*/(kmod/[\w.]+\.c)$")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
SECTION = re.compile(r"^Disassembly of section (\S+):$")
PLACE = re.compile(r"^(\S+):(\d+)(?: \(discriminator \d+\))?$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)")
TRACE = "__sanitizer_cov_trace_pc"

Instruction = collections.namedtuple("Instruction", "address place is_trace")


def read_hits(directory):
    """Returns {section: set of recorded return addresses}, relative to the section."""
    bases, areas, sections = {}, {"text": set(), "init": set()}, {}
    with open(os.path.join(directory, "hits"), encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[0] == "base":
                bases[words[1]] = int(words[2], 16)
            else:
                areas[words[0]].add(int(words[1], 16))
    with open(os.path.join(directory, "sections"), encoding="ascii") as file:
        for line in file:
            name, address = line.split()
            sections[name] = int(address, 16)
    hits = {}
    for name, address in sections.items():
        area = "init" if name.startswith(".init") else "text"
        hits[name] = {bases[area] + offset - address for offset in areas[area]}
    return hits


def functions(module):
    """Yields (section, function, instructions) for each function that objdump shows."""
    text = subprocess.run(["objdump", "-drl", "--no-show-raw-insn", module], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    section, function, place, found = None, None, None, []
    for line in text.splitlines():
        if match := SECTION.match(line):
            new = (match[1], None)
        elif match := FUNCTION.match(line):
            new = (section, match[1])
        else:
            if match := PLACE.match(line):
                place = (match[1], int(match[2]))
            elif TRACE in line and "R_X86_64" in line and found:
                found[-1] = found[-1]._replace(is_trace=True)
            elif match := INSTRUCTION.match(line):
                found.append(Instruction(int(match[1], 16), place, False))
            continue
        if function and found:
            yield section, function, found
        (section, function), place, found = new, None, []
    if function and found:
        yield section, function, found


def source_of(place):
    match = SOURCE.match(os.path.normpath(place[0])) if place else None
    return match and match[1]


def walk(instructions, hits):
    """Yields (place, executed) of each instruction of one function."""
    returns = [instructions[index + 1].address if index + 1 < len(instructions) else None
               for index in range(len(instructions))]
    executed = next((returns[index] in hits for index, one in enumerate(instructions) if one.is_trace),
                    None)
    if executed is None:
        return  # not traced
    for index, one in enumerate(instructions):
        if one.is_trace:
            executed = returns[index] in hits
        yield one.place, executed


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main(module, directory, limit):
    hits = read_hits(directory)
    lines = collections.defaultdict(dict)  # file -> line -> covered
    ran = {}  # (file, function) -> executed at all
    for section, function, instructions in functions(module):
        own = source_of(next((one.place for one in instructions if one.place), None))
        for place, executed in walk(instructions, hits.get(section, set())):
            if name := source_of(place):
                lines[name][place[1]] = lines[name].get(place[1], False) or executed
            if own:
                key = (own, re.sub(r"\.(cold|part|isra|constprop).*", "", function))
                ran[key] = ran.get(key, False) or executed
    all_covered = all_lines = 0
    print(f"{'':34}{'lines':>11}")
    for name in sorted(lines):
        covered, total = sum(lines[name].values()), len(lines[name])
        all_covered += covered
        all_lines += total
        print(f"  {name:32}{covered:>5}/{total:<5}{percent(covered, total):6.1f} %")
        missed = [str(line) for line, executed in sorted(lines[name].items()) if not executed]
        with open(os.path.join(directory, os.path.basename(name) + ".missed"), "w",
                  encoding="ascii") as file:
            file.write("\n".join(missed) + "\n")
    print(f"{'kmod':34}{all_covered:>5}/{all_lines:<5}{percent(all_covered, all_lines):6.1f} %")
    for (name, function), executed in sorted(ran.items()):
        if not executed:
            print(f"never ran: {function} ({name})")
    if not all_lines or percent(all_covered, all_lines) < limit:
        print(f"coverage: fewer than {limit:g} % of the lines of kmod taken")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
