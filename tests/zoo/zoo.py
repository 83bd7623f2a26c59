#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trained networks of other people: downloads them, compiles them, runs them in float and int8 and
prints what came of it in one table.

    zoo.py [--fcs] [--read-text PROGRAM] [--directory DIR] [NETWORK...]

A network is judged by what it is for (tasks.py), on samples that calibration never saw. The exit
status is 1 if int8 does a task worse than float by more than a point (of 100), or if a network is
refused. --fcs lists placement and FCs as well; --read-text also runs
examples/read_text.cpp, which has to read the same lines as the networks in float.
"""

import argparse
import pathlib
import sys

import packages
import reading
import speaking
import tasks
from runner import SOURCE, Refused, Runner

from overtake_command import cosine, counted, print_details

POINT = 0.01
READS = {"text_detection", "text_recognition"}
# These are also compiled into one FC per BPU segment, for `make demo LARGE=...`.
WHOLE = {"text_detection"}
HEAD = (
    f"{'network':20} {'BPU':>4} {'CPU':>4} {'time ms':>8} {'FCs':>5} {'longest':>8} {'cosine':>7} "
    f"{'float':>7} {'int8':>7}  task"
)


def line(name, summary, similarity, scores, what):
    counts = {kind: sum(types.values()) for kind, types in counted(summary).items()}
    total = summary["total"]
    return (
        f"{name:20} {counts['BPU']:4} {counts['CPU']:4} {total['us'] / 1000:8.3f} "
        f"{total['fc_count']:5} {total['longest_fc_us']:5.0f} us {similarity:7.4f} "
        + " ".join(f"{100 * score:6.2f}%" for score in scores)
        + f"  {what}"
    )


def _similarity(found, wanted):
    """Returns the cosine; of several outputs by name, the least."""
    if isinstance(wanted, dict):
        return min(cosine(found[name], wanted[name]) for name in wanted)
    return cosine(found, wanted)


class Table:
    """Prints a line as soon as it is known, and keeps the misses: scores in int8 too far below those in float."""

    def __init__(self, zoo, has_fcs):
        self._zoo = zoo
        self._has_fcs = has_fcs
        self.compiled, self.refused, self.misses = [], [], []

    def add(self, name, make_task):
        """Adds one network. Its task is made here, because the samples of some networks come from
        others."""
        try:
            task = make_task(self._zoo) if make_task else None
            self._add(tasks.NETWORKS[name], task)
        except Refused as refused:
            self.refused.append(name)
            print(f"{name:20} refused: {refused}", flush=True)
            self.misses.append(f"{name} is refused")

    def _add(self, network, task):
        summary = self._zoo.compile(network, task.calibration if task else {})
        if network.name in WHOLE:
            self._zoo.compile(network, task.calibration, limit_us=0)
        self.compiled.append(network.name)
        if not task:
            print(f"{network.name:20} compiles", flush=True)
            return
        wanted, found = (
            self._output(task, execute(network, task.samples))
            for execute in (self._zoo.float, self._zoo.int8)
        )
        name = network.name
        for what, score in task.scores.items():
            scores = score(wanted), score(found)
            print(line(name, summary, _similarity(found, wanted), scores, what), flush=True)
            self.judge(network.name, what, *scores)
            name = ""
        if self._has_fcs:
            print_details(summary)

    @staticmethod
    def _output(task, outputs):
        if isinstance(task.output, tuple):
            return {name: outputs[name] for name in task.output}
        if task.output:
            return outputs[task.output]
        (output,) = outputs.values()
        return output

    def judge(self, name, what, in_float, in_int8):
        if not in_int8 >= in_float - POINT:
            self.misses.append(f"{name}, {what}: float {in_float:.4f}, int8 {in_int8:.4f}")

    def add_program(self, program):
        """Adds the whole program that reads text, and compares it with the same networks in
        float."""
        wanted = reading.lines_in_float(self._zoo)
        found = reading.lines_of_program(program, self._zoo)
        scores = reading.characters_read(wanted), reading.characters_read(found)
        shares = " ".join(f"{100 * score:6.2f}%" for score in scores)
        print(f"{'read_text, the program':62}{shares:>24}  characters read on whole pages")
        pairs = [pair for page in zip(wanted, found) for pair in zip(*page)]
        same = sum(one == other for one, other in pairs)
        count = sum(map(len, wanted))
        print(f"read_text reads {same} of {count} lines exactly as the networks in float do", flush=True)
        for one, other in pairs:
            if one != other:
                print(f"    float: {one}\n    int8:  {other}")
        if same != count or sum(map(len, found)) != count:
            self.misses.append(f"read_text reads {count - same} of {count} lines differently")

    def add_all_that_listen(self, heard):
        """Adds wake words again, with every network of the chain in int8."""
        scores = [heard.everything(execute) for execute in (self._zoo.float, self._zoo.int8)]
        shares = " ".join(f"{100 * score:6.2f}%" for score in scores)
        what = "wake words, all in int8"
        print(f"{'':62}{shares:>24}  {what}", flush=True)
        self.judge("the networks of sound", what, *scores)


def makers(zoo, names):
    """Returns functions that make the tasks of these networks, by name, and the object behind those
    of sound."""
    known = {
        "text_detection": tasks.text_detection,
        "text_recognition": tasks.text_recognition,
        "text_direction": tasks.text_direction,
        **{f"captcha_reading{which}": tasks.captcha_reading(which) for which in ("", "_old")},
        "captcha_finding": tasks.captcha_finding,
        **{name: tasks.line_segments(name) for name in tasks.LINES},
        **{name: tasks.face(name) for name in tasks.face_tasks.KINDS},
        "segmentation_medium": tasks.segmentation("segmentation_medium"),
        "segmentation_small": tasks.segmentation("segmentation_small"),
        **{name: tasks.speaking_or_not(name) for name in speaking.FRAMES},
    }
    heard = None
    if {"melspectrogram", "speech_embedding", *tasks.listening.PHRASES} & set(names):
        try:
            heard = tasks.Listening(zoo)
        except Refused as refused:
            print(f"there are no samples for the networks of sound: {refused}", flush=True)
        else:
            known["melspectrogram"] = heard.melspectrogram
            known["speech_embedding"] = heard.speech_embedding
            known.update({name: heard.phrase(name) for name in heard.phrases})
    return known, heard


def print_table(zoo, names, has_fcs):
    table = Table(zoo, has_fcs)
    known, heard = makers(zoo, names)
    print(HEAD, flush=True)
    for name in names:
        table.add(name, known.get(name))
        if heard and name == heard.phrases[-1]:
            table.add_all_that_listen(heard)
    return table


def main():
    parser = argparse.ArgumentParser(description="Prints what trained networks compile to.")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=list(tasks.NETWORKS))
    parser.add_argument("--fcs", action="store_true", help="list placement and FCs too")
    parser.add_argument("--read-text", metavar="PROGRAM", help="run this program as well")
    parser.add_argument("--directory", type=pathlib.Path, default=SOURCE / "build/zoo",
                        help="where the networks are kept (build/zoo)")  # fmt: skip
    options = parser.parse_args()
    unknown = set(options.networks) - set(tasks.NETWORKS)
    if unknown:
        parser.error(f"no network {', '.join(sorted(unknown))}")
    try:
        packages.provide(options.directory)
    except packages.Unavailable as unavailable:
        sys.exit(f"zoo: {unavailable}")
    table = print_table(Runner(options.directory), options.networks, options.fcs)
    if options.read_text and READS <= set(table.compiled):
        table.add_program(options.read_text)
    count = len(table.compiled) + len(table.refused)
    print(f"{len(table.compiled)} of {count} networks compile as they were published")
    for miss in table.misses:
        print(f"MISSES: {miss}")
    sys.exit(1 if table.misses else 0)


if __name__ == "__main__":
    main()
