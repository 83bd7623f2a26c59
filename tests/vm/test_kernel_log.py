#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests of kernel_log.py: the records that count as complaints. Prints TAP."""

import os
import re
import sys

import kernel_log


def kmsg(*lines):
    """Returns text in the form of /dev/kmsg; a line is (facility, level, text)."""
    return "".join(
        f"{facility << 3 | level},{number},{number * 1000},-;{text}\n SUBSYSTEM=test\n"
        for number, (facility, level, text) in enumerate(lines)
    )


def judged(*lines, allow=()):
    rules = [re.compile(rule) for rule in allow]
    return kernel_log.complaints(kernel_log.parse(kmsg(*lines)), rules)


def test_information_is_no_complaint():
    assert judged((0, 6, "accel: registered"), (0, 5, "notice")) == []


def test_a_warning_is_a_complaint():
    assert len(judged((0, 4, "something odd"), (0, 3, "something worse"))) == 2


def test_bug_reports_count_at_any_level():
    for text in (
        "BUG: KASAN: slab-use-after-free in x", "WARNING: possible circular locking", "Oops: 0000",
        "INFO: task a:1 blocked for more than 120 seconds.", "kmemleak: 2 new suspected memory leaks",
        "UBSAN: array-index-out-of-bounds in x", "rcu: INFO: rcu_preempt self-detected stall on CPU",
        "ODEBUG: free active", "watchdog: BUG: soft lockup - CPU#0 stuck", "Call Trace:",
    ):
        assert len(judged((0, 6, text))) == 1, text


def test_the_allow_list_excuses_only_what_it_names():
    assert judged((0, 4, "harmless 12"), allow=[r"^harmless \d+$"]) == []
    assert len(judged((0, 4, "not harmless 12"), allow=[r"^harmless \d+$"])) == 1


def test_an_announced_line_is_excused():
    lines = (1, 4, "overtake-test: expect fault on core [0-9]"), (0, 4, "fault on core 1")
    assert judged(*lines) == []


def test_what_the_log_escapes_is_read_as_it_was_written():
    text = "1,1,1,-;overtake-test: expect failed \\x5c(-[0-9]+\n0,2,2,-;failed (-12\n"
    records = kernel_log.parse(text)
    assert records[0].text == "overtake-test: expect failed \\(-[0-9]+"
    assert records[1].text == "failed (-12"


def crash(head, instruction):
    return (f"[    9.1] overtake: ready\n[   10.1] {head}: 0000 [#1] PREEMPT SMP NOPTI\n[   10.1] CPU: 0 UID: 0\n"
            f"[   10.1] RIP: 0010:{instruction}\n[   10.1] Call Trace:\n[   10.2] Kernel panic - not syncing\n")  # fmt: skip


def test_a_lost_patch_is_a_breakpoint_in_the_kernel_itself():
    assert kernel_log.lost_a_patch(crash("Oops: int3", "hrtimer_run_queues+0x5/0x20"))
    assert kernel_log.lost_a_patch(crash("int3", "hrtimer_run_queues+0x5/0x20"))
    assert not kernel_log.lost_a_patch(crash("Oops: int3", "ovt_submit+0x5/0x20 [overtake]"))
    assert not kernel_log.lost_a_patch(crash("Oops: invalid opcode", "hrtimer_run_queues+0x5/0x20"))
    assert not kernel_log.lost_a_patch("[   10.1] overtake: ready\n")
    # The first crash counts: later messages may be its consequence.
    earlier = "[    9.9] BUG: unable to handle page fault for address: 0\n"
    assert not kernel_log.lost_a_patch(earlier + crash("Oops: int3", "hrtimer_run_queues+0x5/0x20"))


def test_a_crash_begins_where_its_report_does():
    lines = crash("Oops: int3", "hrtimer_run_queues+0x5/0x20").splitlines()
    assert [kernel_log.begins_a_crash(line) for line in lines] == [False, True, False, False, False, True]


def test_an_announcement_does_not_reach_back():
    lines = (0, 4, "fault on core 1"), (1, 4, "overtake-test: expect fault"), (0, 4, "fault on core 2")
    assert len(judged(*lines)) == 1


def test_an_announced_line_that_never_comes_is_a_complaint():
    found = judged((1, 4, "overtake-test: expect fault on core"))
    assert found == ["announced but never logged: fault on core"]


def test_the_kernel_cannot_announce():
    assert len(judged((0, 4, "overtake-test: expect fault"), (0, 4, "fault"))) == 2


def test_the_shipped_allow_list_reads():
    directory = os.path.dirname(os.path.realpath(__file__))
    rules = kernel_log.read_rules(os.path.join(directory, "dmesg-allow"))
    assert rules and not any(rule.search("BUG: KASAN: WARNING: Oops") for rule in rules)


def main():
    failed = False
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                print(f"ok kernel_log_{name[5:]}")
            except AssertionError as error:
                failed = True
                print(f"not ok kernel_log_{name[5:]}\n# {error!r}")
    sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
