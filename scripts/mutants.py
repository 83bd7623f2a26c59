#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Breaks the code on purpose, one place at a time, and checks whether a test notices.

    mutants.py [--seed N] [--count N] [--hours H] [--folder FOLDER]... [--jobs N]
    mutants.py --again [--hours H] [--folder FOLDER]... [--jobs N]

Draws COUNT faults (scripts/mutation.py) for each folder from SEED. For each fault, it changes the code,
builds it, runs the tests that cover the folder until one fails, and restores the code. Prints the share of
noticed faults by folder, and every fault that survived. Three kinds of faults do not count, and another
fault is drawn instead: those that do not compile, those that leave the machine code as it is, and those that
tests/mutants/equivalent lists. After HOURS, no new fault is begun. --again tries the faults that survived
the last run, for example after tests were added. The script changes only a copy of the sources, in build/mutants.

Exits with 1 if it cannot work (for example, if the tests fail without any fault), or if it is interrupted
before the first fault.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import mutation

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build/mutants"
TREE = WORK / "tree"
BUILD = WORK / "build"
LOG = WORK / "log"
SURVIVORS = WORK / "survivors.json"
EQUIVALENT = ROOT / "tests/mutants/equivalent"

KILLED, TOO_SLOW, SURVIVED, EQUAL, UNCOMPILED = (
    "killed", "killed: too slow", "survived", "equivalent", "does not compile")
KILLS = (KILLED, TOO_SLOW)


@dataclasses.dataclass(frozen=True)
class Stage:
    """Some tests, and the targets that they need."""

    targets: tuple
    tests: str  # as ctest's -R takes it
    sanitized: bool = False  # AddressSanitizer reserves more address space than we would grant


def firmware_tests(*names, sanitized=False):
    targets = tuple(f"test_{name}" for name in names)
    return Stage(targets, rf"^firmware-sim\.({'|'.join(names)})$", sanitized)


RUNTIME = Stage(
    ("conformance_tests", "model_tests", "cpu_operation_tests", "session_tests", "runtime_unit_tests"),
    r"^libruntime\.[A-Z]")
DEVICES = Stage(("conformance_tests", "scenario_tests"), r"^libruntime\.[A-Z].*(Queue|Timeline|Refus)|^scenarios\.")
SIMULATOR = Stage(
    ("simulator_tests", "sim_differential", "test_fuzz"),
    r"^simulator\.|^sim_(differential|examples)_library$|^(Fuzz|FuzzCase|Campaign)\.")
PROCESSORS = Stage(("processor_scenario_tests",), r"^scenarios\.Processor(Scenario|Summary)\.")
MODEL_FUZZ = Stage(("test_model_mutations",), r"^fuzz\.[A-Z]")
ENGINE = Stage(("engine_tests", "task_scenario_tests"),
               r"^libruntime\.(Engine|Estimate)|^scenarios\.(.*TaskScenarioTest|RandomTaskScenario)")
BOARD = Stage(("board_tests", "board_load", "board_scenario_tests"),
              r"^dnn\.(Board(Estimates|Interface|Misuse|Processes|Regions|Resize)\.|Board/BoardScenarioTest|load)")
SERVER = Stage(("server_tests", "board_scenario_tests"),
               r"^libruntime\.(Server|.*(Service|Hostile))|^dnn\..*ServiceMode")
FW = firmware_tests("ban", "core", "fw", "fw_clock", "fw_fair", "fw_group_ends", "fw_groups", "fw_instants", "fw_overtaking",
                    "fw_place", "fw_quota", "steps")
HW = firmware_tests(
    "decode", "decode_random", "operators", "profile", "simd", "simd_conv", "simd_work", "core", "steps",
    sanitized=True)
DECODER_CORPUS = Stage(("fuzz_decoder_replay",), r"^fuzz\.decoder_corpus$", sanitized=True)

# The tests that cover a folder; those that fail soonest come first. Code that only the virtual machine tests
# is not here (libruntime/src/kernel, the module), nor are the compiler's tests.
FOLDERS = {
    "firmware-sim": (firmware_tests("tree"), SIMULATOR),
    "firmware-sim/fw": (FW, DEVICES, SIMULATOR),
    "firmware-sim/sched": (
        firmware_tests("sched_dispatch", "sched_end", "sched_follow", "sched_insert", "sched_service", "sched_span",
                       "sched_waits_for"), SIMULATOR, DEVICES,
        firmware_tests("sched_scale")),
    "firmware-sim/sched/coord": (firmware_tests("coord_host", "coord_plan", "coord_scale"), PROCESSORS),
    "firmware-sim/service": (firmware_tests("service", "service_times"), SERVER),
    "firmware-sim/host": (firmware_tests("group_rules", "job_result", "job_rules", "limits"), DEVICES),
    "firmware-sim/hw": (HW, DECODER_CORPUS, DEVICES, SIMULATOR),
    "libruntime/src": (RUNTIME, DEVICES, MODEL_FUZZ),
    "libruntime/src/dnn": (BOARD,),
    "libruntime/src/engine": (ENGINE, BOARD),
    "libruntime/src/network": (RUNTIME, BOARD),
    "libruntime/src/embedded": (RUNTIME, DEVICES, SIMULATOR),
    "libruntime/src/model": (RUNTIME, MODEL_FUZZ),
    "libruntime/src/server": (SERVER, DEVICES),
    "libruntime/src/session": (RUNTIME, MODEL_FUZZ),
    "libruntime/shared/cpu": (RUNTIME, MODEL_FUZZ),
}

MEMORY_BYTES = 16 << 30  # a fault may allocate without end
FILE_BYTES = 1 << 30
SHORTEST_LIMIT_S = 30
SLOWER = 5  # tests that take so many times their usual duration count as hung


class CannotWork(Exception):
    """The reason for which no run is possible."""


def log(text):
    print(text, file=sys.stderr, flush=True)


# Commands

def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, seconds=None, memory=False):
    """Returns whether the command succeeds within that time; its output goes to LOG."""

    def prepare():
        limit_files()
        if memory:
            limit_memory()

    environment = {**os.environ, "CCACHE_DISABLE": "1"} if seconds else None
    with LOG.open("wb") as output, subprocess.Popen(
            [str(word) for word in command], stdout=output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True, env=environment, preexec_fn=prepare) as process:
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            # This also ends processes that a test has left behind.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def must(command, what, memory=False):
    if not run(command, memory=memory):
        kept = WORK / f"{what.split()[0]}.log"
        shutil.copyfile(LOG, kept)
        raise CannotWork(f"{what} failed; the whole log is {kept}")


# The copy of the sources and its build

def copy_tree():
    """Brings TREE up to date; a file that has not changed keeps its time, so that it is not built again."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if listed.returncode != 0:
        raise CannotWork("git ls-files failed; mutants.py needs a checkout")
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, copy = ROOT / name, TREE / name
        if copy.is_file() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
    for copy in TREE.rglob("*"):
        if copy.is_file() and str(copy.relative_to(TREE)) not in names:
            copy.unlink()


def configure():
    """Configures the copy. With -O1, a fault may leave the machine code as it is. Each source has its own object."""
    must(["cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Mutants",
          "-DCMAKE_C_FLAGS_MUTANTS=-O1", "-DCMAKE_CXX_FLAGS_MUTANTS=-O1", "-DOVERTAKE_JOIN_SOURCES=OFF",
          "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], "configuring")


def ninja(jobs, targets):
    return ["ninja", "-C", BUILD, "-j", jobs, *targets]


def ctest(jobs, tests, seconds):
    return ["ctest", "--test-dir", BUILD, "-R", tests, "-j", jobs, "--stop-on-failure",
            "--timeout", int(seconds), "--no-tests=error"]


class Objects:
    """The objects of the sources: each source has one or more."""

    def __init__(self, targets):
        """Finds the objects that the targets need."""
        with (BUILD / "compile_commands.json").open(encoding="utf-8") as file:
            commands = json.load(file)
        needed = set(self._inputs(targets))
        self.of_file = collections.defaultdict(list)
        self.sanitized = set()
        for entry in commands:
            output = re.search(r" -o (\S+\.o) ", entry["command"]).group(1)
            if output not in needed:
                continue
            self.of_file[os.path.relpath(entry["file"], TREE)].append(output)
            if "-fsanitize" in entry["command"]:
                self.sanitized.add(output)

    @staticmethod
    def _inputs(targets):
        answer = subprocess.run(["ninja", "-C", str(BUILD), "-t", "inputs", *targets],
                                stdout=subprocess.PIPE, check=True)
        return answer.stdout.decode().split("\n")

    def plain(self, path):
        """Returns the objects that the compiler has not instrumented."""
        return [name for name in self.of_file[path] if name not in self.sanitized]


class Planted:
    """The copy of the sources has one fault until the end of the block.

    Then the source and its objects are as before, with times by which ninja finds nothing to compile.
    Files that were linked from them are removed, since they would look up to date.
    """

    def __init__(self, mutant, source, objects):
        self.file = TREE / mutant.path
        self.text = mutant.apply(source)
        self.source = source
        self.objects = [BUILD / name for name in objects]

    def __enter__(self):
        self.time = self.file.stat().st_mtime_ns
        self.before = [(name, name.read_bytes(), name.stat().st_mtime_ns) for name in self.objects]
        self.file.write_text(self.text, encoding="utf-8")
        return self

    def changes_code(self, plain):
        """Returns whether any of these objects, built again, differs from before."""
        before = {str(name): content for name, content, _ in self.before}
        return any((BUILD / name).read_bytes() != before[str(BUILD / name)] for name in plain)

    def __exit__(self, *_):
        self.file.write_text(self.source, encoding="utf-8")
        os.utime(self.file, ns=(self.time, self.time))
        for name, content, built in self.before:
            if name.exists() and name.stat().st_mtime_ns != built:
                built = name.stat().st_mtime_ns
                self._remove_linked(name)
            name.write_bytes(content)
            os.utime(name, ns=(built, built))

    @staticmethod
    def _remove_linked(name):
        answer = subprocess.run(["ninja", "-C", str(BUILD), "-t", "query", str(name.relative_to(BUILD))],
                                stdout=subprocess.PIPE, check=True)
        for line in answer.stdout.decode().partition("outputs:")[2].splitlines():
            linked = BUILD / line.strip()
            if line.strip() and linked.is_file():
                linked.unlink()


# Trying

class Bench:
    """Tries faults; has the tests' durations without a fault."""

    def __init__(self, folders, jobs):
        self.jobs = jobs
        self.seconds = {}
        stages = {stage for folder in folders for stage in FOLDERS[folder]}
        targets = sorted({target for stage in stages for target in stage.targets})
        log(f"building the tests ({len(targets)} programs)")
        must(ninja(jobs, targets), "building")
        self.objects = Objects(targets)
        for stage in sorted(stages, key=lambda stage: stage.tests):
            begin = time.monotonic()
            must(ctest(jobs, stage.tests, 600), "tests of the code without any fault", not stage.sanitized)
            self.seconds[stage] = time.monotonic() - begin
            log(f"  {self.seconds[stage]:5.1f} s  {stage.tests}")

    def notices(self, stage):
        """Returns the result of the stage's tests, one of KILLS, or None if they pass."""
        if not run(ninja(self.jobs, stage.targets), 600):
            return KILLED  # the build runs each program to list its tests, and one failed
        limit = max(SHORTEST_LIMIT_S, SLOWER * self.seconds[stage])
        if run(ctest(self.jobs, stage.tests, limit), limit, memory=not stage.sanitized):
            return None
        failed = re.search(rb"\*\*\*(?!Timeout)", LOG.read_bytes())
        return KILLED if failed else TOO_SLOW

    def outcome(self, mutant, source, stages):
        objects = self.objects.of_file[mutant.path]
        plain = self.objects.plain(mutant.path)
        with Planted(mutant, source, objects) as planted:
            if not run(ninja(self.jobs, objects), 600):
                return UNCOMPILED
            if not planted.changes_code(plain):
                return EQUAL
            for stage in stages:
                kill = self.notices(stage)
                if kill:
                    return kill
            return SURVIVED


class Folder:
    """The faults of a folder, in the order in which they are drawn, and their outcomes."""

    def __init__(self, name, seed, known, wanted=None):
        """Leaves out the faults in known; with wanted, draws only from those. Both are sets of keys."""
        self.name = name
        self.counts = collections.Counter()
        self.survivors = []
        self.listed = 0
        self.waiting = []
        for path in sources_of(name):
            source = (TREE / path).read_text(encoding="utf-8")
            self.waiting += [(mutant, source) for mutant in mutation.mutants(path, source)
                             if wanted is None or mutation.key_of(mutant, source) in wanted]
        random.Random(f"{seed} {name}").shuffle(self.waiting)
        self.known = known

    @property
    def counted(self):
        return self.killed + self.counts[SURVIVED]

    @property
    def killed(self):
        return sum(self.counts[kill] for kill in KILLS)

    def draw(self):
        """Returns the next fault that is not known to be equivalent, or None."""
        while self.waiting:
            mutant, source = self.waiting.pop(0)
            if mutation.key_of(mutant, source) not in self.known:
                return mutant, source
            self.listed += 1
        return None

    def enter(self, mutant, source, outcome):
        self.counts[outcome] += 1
        if outcome == SURVIVED:
            self.survivors.append((mutant, source))


def sources_of(folder):
    """Yields the sources below a folder, except those below other folders in FOLDERS."""
    inner = [name for name in FOLDERS if name.startswith(folder + "/")]
    skipped = inner + ["libruntime/src/kernel"]
    for path in sorted((TREE / folder).rglob("*")):
        name = str(path.relative_to(TREE))
        if path.suffix in (".c", ".cpp") and not any(name.startswith(other + "/") for other in skipped):
            yield name


def try_folders(bench, folders, count, deadline):
    """Tries a fault of each folder in turn, so that every folder gets its share of the time. Returns False if
    the time was too short."""
    active = list(folders)
    while active:
        for folder in list(active):
            if time.monotonic() >= deadline:
                return False
            drawn = folder.draw() if folder.counted < count else None
            if drawn is None:
                active.remove(folder)
                continue
            mutant, source = drawn
            begin = time.monotonic()
            outcome = bench.outcome(mutant, source, FOLDERS[folder.name])
            folder.enter(mutant, source, outcome)
            log(f"{folder.counted:4}/{count} {outcome:16} {time.monotonic() - begin:5.1f} s  "
                f"{mutant.path}:{mutant.line(source)} {mutant.operator}")
    return True


# Reporting

def keys_of_survivors(folders, again):
    """Returns the keys of survivors; with again, also of the faults without a turn, which survived before."""
    return [mutation.key_of(mutant, source) for folder in folders
            for mutant, source in folder.survivors + (folder.waiting if again else [])]


def read_survivors():
    if not SURVIVORS.is_file():
        raise CannotWork("--again: there was no run yet, so nothing has survived")
    return {tuple(key) for key in json.loads(SURVIVORS.read_text(encoding="utf-8"))}


def rate(killed, counted):
    return f"{100 * killed / counted:.1f} %" if counted else "-"


def report(folders):
    print(f"{'':26}{'tried':>7}{'killed':>8}{'rate':>9}{'listed as equivalent':>22}{'same code':>11}"
          f"{'do not compile':>16}")
    for name in dict.fromkeys([folder.name.split("/")[0] for folder in folders]):
        part = [folder for folder in folders if folder.name.split("/")[0] == name]
        for folder in part:
            print_row(folder.name, [folder])
        if len(part) > 1:
            print_row(f"{name} in all", part)
    survivors = [entry for folder in folders for entry in folder.survivors]
    print(f"\n{len(survivors)} survived" + (":" if survivors else ""))
    for mutant, source in sorted(survivors, key=lambda entry: (entry[0].path, entry[0].start)):
        print(f"\n{mutant.path}:{mutant.line(source)}\n- {mutant.old(source)}\n+ {mutant.new(source)}")


def print_row(name, folders):
    killed = sum(folder.killed for folder in folders)
    counted = sum(folder.counted for folder in folders)
    print(f"{name:26}{counted:7}{killed:8}{rate(killed, counted):>9}"
          f"{sum(folder.listed for folder in folders):22}"
          f"{sum(folder.counts[EQUAL] for folder in folders):11}"
          f"{sum(folder.counts[UNCOMPILED] for folder in folders):16}")


def arguments():
    parser = argparse.ArgumentParser(description="Break the code on purpose and see whether a test notices.")
    parser.add_argument("--seed", default="1", help="what the faults are drawn from (1)")
    parser.add_argument("--count", type=int, default=20, help="faults for each folder (20)")
    parser.add_argument("--hours", type=float, default=2, help="begin no new fault behind that (2)")
    parser.add_argument("--folder", action="append", choices=list(FOLDERS), help="only this one; may be repeated")
    parser.add_argument("--again", action="store_true", help="only those that survived the last run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many processes at a time")
    return parser.parse_args()


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an end in good order, as by Ctrl-C
    deadline = time.monotonic() + options.hours * 3600
    names = options.folder or list(FOLDERS)
    try:
        for program in ("cmake", "ninja", "ctest"):
            if not shutil.which(program):
                raise CannotWork(f"there is no {program}; scripts/setup.sh test installs it")
        known = {(entry.path, entry.old, entry.new)
                 for entry in mutation.read_equivalents(EQUIVALENT.read_text(encoding="utf-8"), EQUIVALENT)}
        TREE.mkdir(parents=True, exist_ok=True)
        copy_tree()
        configure()
        bench = Bench(names, options.jobs)
        wanted = read_survivors() if options.again else None
        folders = [Folder(name, options.seed, known, wanted) for name in names]
        count = len(wanted) if options.again else options.count
        try:
            complete = try_folders(bench, folders, count, deadline)
        except KeyboardInterrupt:
            complete = False
        SURVIVORS.write_text(json.dumps(keys_of_survivors(folders, options.again), indent=1), encoding="utf-8")
    except KeyboardInterrupt:
        log("mutants: interrupted before the first fault")
        return 1
    except (CannotWork, ValueError, OSError) as error:
        log(f"mutants: {error}")
        return 1
    report(folders)
    if not complete:
        print(f"\nStopped early, after {options.hours:g} hours at most: not every folder has its {count} "
              "(--hours, --count)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
