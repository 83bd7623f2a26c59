#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Build what has changed, and run the tests that can notice it; `make quick`.

    scripts/quick.py [--since COMMIT] [--seconds SECONDS] [--jobs JOBS] [--list]

A file has changed if it differs from COMMIT (HEAD), or if git does not track it yet. A unit test can notice
the change if its program, its script or another file in its command or environment is as new as the change.
Tests of the changed folders come first, then the quick before the slow. The script chooses tests until the
times that ctest measured before add up to SECONDS for each of JOBS. It prints the number of the tests
left, which `make test` runs. After a change of the driver or of the device's code, it also boots a VM for the
module's suite, and runs the cases that KERNEL_CASES names.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "release"
KERNEL_FOLDERS = ("kmod", "firmware-sim", "uapi")
# The beginnings of names of cases; these take milliseconds each, and together make every call of the driver.
KERNEL_CASES = ["job-", "refusal-", "schedule-", "uring-job", "uring-fault", "task-", "sysfs-", "fence-job", "usage-"]
UNKNOWN_COST = 1.0


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True,
                          check=True).stdout.splitlines()


def changed_files(since):
    names = git("diff", "--name-only", "--diff-filter=d", since) + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(names))


def folders(names):
    """Returns the words that folders of sources share with names of tests: "compiler", "kmod", ..."""
    words = set()
    for name in names:
        parts = pathlib.PurePath(name).parts[:-1]
        words.update(part for part in parts if part not in ("tools", "tests", "src", "include", "shared"))
    return words


def costs(data):
    """Returns seconds by test, from ctest's record of earlier runs."""
    found = {}
    for line in data.splitlines():
        words = line.rsplit(" ", 2)
        if len(words) == 3 and words[1].isdigit():
            found[words[0]] = float(words[2])
    return found


def files_of(test):
    """Yields the files of the project in a test's command and environment."""
    texts = list(test.get("command", []))
    for entry in test.get("properties", []):
        if entry["name"] == "ENVIRONMENT":
            texts += [value.partition("=")[2] for value in entry["value"]]
    for text in texts:
        path = pathlib.Path(text)
        if path.is_absolute() and path.is_relative_to(PROJECT):
            yield path


def select(tests, can_notice, words, cost, budget):
    """Chooses tests that can notice a change, the nearest and the quickest first: (indexes to run, number left)."""
    noticing = [(index, test) for index, test in enumerate(tests, 1) if can_notice(test)]

    def is_near(test):
        names = [test["name"]] + [str(path.relative_to(PROJECT)) for path in files_of(test)]
        return any(word in name for word in words for name in names)

    noticing.sort(key=lambda item: (not is_near(item[1]), cost(item[1]["name"])))
    chosen, used = [], 0.0
    for index, test in noticing:
        used += cost(test["name"])
        if used > budget and chosen:
            break
        chosen.append(index)
    return chosen, len(noticing) - len(chosen)


def stage(title, command, **options):
    print(f"== {title}", flush=True)
    return subprocess.run(command, cwd=PROJECT, check=False, **options).returncode


def unit_tests(changed, options):
    """Returns 0 if the chosen tests passed."""
    oldest = min((PROJECT / name).stat().st_mtime for name in changed)
    shown = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], capture_output=True,
                           text=True, check=True).stdout
    tests = json.loads(shown)["tests"]
    data = BUILD / "Testing" / "Temporary" / "CTestCostData.txt"
    known = costs(data.read_text()) if data.exists() else {}

    def can_notice(test):
        return any(path.exists() and path.stat().st_mtime >= oldest for path in files_of(test))

    chosen, left = select(tests, can_notice, folders(changed), lambda name: known.get(name, UNKNOWN_COST),
                          options.seconds * options.jobs)
    left_text = f"; {left} more can notice it: make test" if left else ""
    if not chosen:
        print("== no unit test can notice it")
        return 0
    if options.list:
        print("\n".join(tests[index - 1]["name"] for index in chosen))
        return 0
    numbers = "0,0,0," + ",".join(map(str, sorted(chosen)))
    return stage(f"{len(chosen)} unit tests{left_text}",
                 ["ctest", "--test-dir", str(BUILD), "-j", str(options.jobs), "-I", numbers, "--output-on-failure",
                  "--progress"])


def kernel_tests(options):
    if options.list:
        print("\n".join(case + "..." for case in KERNEL_CASES))
        return 0
    return stage("the module's suite, in a VM: cases " + " ".join(case + "*" for case in KERNEL_CASES),
                 ["tests/vm/run", "--timeout", "600", "--", "tests/kmod/run-all", *KERNEL_CASES])


def main():
    parser = argparse.ArgumentParser(prog="scripts/quick.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="what counts as unchanged (%(default)s)")
    parser.add_argument("--seconds", type=float, default=45, help="for unit tests (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (%(default)s)")
    parser.add_argument("--list", action="store_true", help="only build, and name the tests")
    options = parser.parse_args()
    changed = changed_files(options.since)
    if not changed:
        print(f"quick: nothing differs from {options.since}; name an older commit: --since")
        return 0
    is_kernel = any(name.startswith(tuple(folder + "/" for folder in KERNEL_FOLDERS)) for name in changed)
    print("quick: changed: " + ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else ""))
    if is_kernel and stage("compiling the module", ["scripts/build-module.sh"], stdout=subprocess.DEVNULL):
        return 1
    if stage("compiling", ["cmake", "--preset", "release"], stdout=subprocess.DEVNULL) or \
            stage("compiling", ["cmake", "--build", "--preset", "release", "-j", str(options.jobs)]):
        return 1
    status = unit_tests(changed, options)
    if is_kernel:
        status |= kernel_tests(options)
    print("quick: " + ("passed" if status == 0 else "FAILED"))
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
