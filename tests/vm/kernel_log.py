# SPDX-License-Identifier: MIT
"""Does a kernel log contain a complaint? Judges the text of /dev/kmsg; no VM needed.

A record is a complaint when its level is warning or worse, or when it looks like one of the
kernel's bug reports whatever its level. Two things excuse a record:

- tests/vm/dmesg-allow: regular expressions, each under a comment that says why it is harmless;
- a test that announces it: `echo "overtake-test: expect REGEX" > /dev/kmsg`. From there on records
  that match REGEX are no complaint, and it is a complaint if none comes.
"""

import re
from dataclasses import dataclass

LEVEL_WARNING = 4
FACILITY_USER = 1

# Reports of faults that some paths of the kernel print at a harmless level.
BUG_REPORT = re.compile(
    r"\bBUG\b|WARNING:|\bOops\b|Kernel panic|Call Trace|cut here"
    r"|general protection fault|unable to handle|invalid opcode|scheduling while atomic"
    r"|KASAN|UBSAN|ODEBUG|DMA-API|refcount_t|list_(add|del) corruption|kmemleak: [1-9]"
    r"|lockdep|possible (circular|recursive|irq lock)|inconsistent lock state|suspicious RCU"
    r"|DEBUG_LOCKS_WARN|INFO: task .* blocked|soft lockup|workqueue lockup|rcu.*\bstall"
)

# Beginnings of the reports of crashes that end a kernel.
CRASH = re.compile(
    r"\bBUG: |\bOops: |kernel BUG at|general protection fault|Kernel panic|divide error: |double fault: |int3: "
)
# The report of a breakpoint that the kernel does not know, if the instruction is the kernel's own.
UNKNOWN_BREAKPOINT = re.compile(r"\bOops: int3|\bint3: [0-9]{4} ")
INSTRUCTION = re.compile(r"\bRIP: [0-9a-f]+:(\S+)( \[\w+\])?")

ANNOUNCEMENT = re.compile(r"overtake-test: expect (.+)")
OWN_WORDS = re.compile(r"overtake-(test|vm): ")
# PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT. Lines that start with a space continue a record.
RECORD = re.compile(r"(\d+),\d+,(\d+),[^;]*;(.*)")
# The form of a backslash, and of bytes that are not printable ASCII, in /dev/kmsg.
ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


@dataclass
class Record:
    facility: int
    level: int
    time_us: int
    text: str

    def __str__(self):
        return f"[{self.time_us / 1e6:12.6f}] <{self.level}> {self.text}"


def parse(kmsg_text):
    """Returns the records in text read from /dev/kmsg."""
    records = []
    for line in kmsg_text.splitlines():
        match = RECORD.fullmatch(line)
        if match:
            priority = int(match[1])
            text = ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), match[3])
            records.append(Record(priority >> 3, priority & 7, int(match[2]), text))
    return records


def read_rules(path):
    """Returns the regular expressions of an allow file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    return [re.compile(line) for line in lines if line and not line.startswith("#")]


def begins_a_crash(line):
    """Whether this line of a console begins the report of a crash."""
    return CRASH.search(line) is not None


def lost_a_patch(console):
    """Whether the kernel has crashed of a breakpoint of its own, in itself and not in a module.

    It patches its instructions by breakpoints, whose handler knows them until the last CPU has
    passed. Emulated CPUs now and then pass later. No code of a module can do that.
    """
    if not UNKNOWN_BREAKPOINT.search(console):
        return False
    first = next(line for line in console.splitlines() if CRASH.search(line))
    places = INSTRUCTION.findall(console)
    return bool(UNKNOWN_BREAKPOINT.search(first) and places and not places[0][1])


def complaints(records, allow_rules):
    """Returns the faults that these records show, as lines to print; empty if there are none."""
    found = []
    expected = {}  # regular expression -> has it been seen
    for record in records:
        if record.facility == FACILITY_USER and OWN_WORDS.match(record.text):
            announcement = ANNOUNCEMENT.match(record.text)
            if announcement:
                expected.setdefault(announcement[1], False)
            continue
        announced = [regex for regex in expected if re.search(regex, record.text)]
        for regex in announced:
            expected[regex] = True
        if announced or any(rule.search(record.text) for rule in allow_rules):
            continue
        if record.level <= LEVEL_WARNING or BUG_REPORT.search(record.text):
            found.append(str(record))
    found += [f"announced but never logged: {regex}" for regex, seen in expected.items() if not seen]
    return found
