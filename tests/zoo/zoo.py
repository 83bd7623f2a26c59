#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trained networks of other people: downloads them, compiles them, runs them in float and int8 and
prints what came of it in one table.

    zoo.py [--fcs] [--directory DIR] [NETWORK...]

A network is judged by what it is for (tasks.py), on samples that calibration never saw. The exit
status is 1 if int8 does a task worse than float by more than a point (of 100), or if a network is
refused that should not be. --fcs lists placement and FCs as well.
"""

import argparse
import collections
import pathlib
import sys

import packages
import tasks
from runner import SOURCE, Refused, Runner

from overtake_command import cosine

POINT = 0.01
# What they need beyond what the compiler takes: recurrence, and a branch that depends on data.
MAY_BE_REFUSED = {
    "silero_vad_legacy": "LSTM", "silero_vad_v5": "LSTM", "silero_vad_v6": "LSTM",
    "hey_jarvis": "If",
}  # fmt: skip
HEAD = (
    f"{'network':20} {'BPU':>4} {'CPU':>4} {'time ms':>8} {'FCs':>5} {'longest':>8} {'cosine':>7} "
    f"{'float':>7} {'int8':>7}  task"
)


def counted(summary):
    """Operators on each processor, by type."""
    counts = {"BPU": collections.Counter(), "CPU": collections.Counter()}
    for node in summary["nodes"]:
        counts[node["processor"]][node["type"]] += 1
    return counts


def print_details(summary):
    for processor, types in counted(summary).items():
        listed = ", ".join(f"{count} {kind}" for kind, count in types.most_common())
        print(f"    {processor}: {listed or 'nothing'}")
    for number, segment in enumerate(summary["segments"]):
        if segment["processor"] == "CPU":
            print(f"    segment {number}: CPU, {len(segment['ops'])} operators")
            continue
        times = " ".join(f"{fc['us']:.1f}" for fc in segment["fcs"])
        print(f"    segment {number}: BPU, {segment['us']:.1f} us: FCs of {times} us")


def line(name, summary, similarity, scores, what):
    counts = {kind: sum(types.values()) for kind, types in counted(summary).items()}
    total = summary["total"]
    return (
        f"{name:20} {counts['BPU']:4} {counts['CPU']:4} {total['us'] / 1000:8.3f} "
        f"{total['fc_count']:5} {total['longest_fc_us']:5.0f} us {similarity:7.4f} "
        + " ".join(f"{100 * score:6.2f}%" for score in scores)
        + f"  {what}"
    )


class Table:
    """Prints a line as soon as it is known, and remembers what is not as it should be."""

    def __init__(self, zoo, has_fcs):
        self._zoo = zoo
        self._has_fcs = has_fcs
        self.compiled, self.refused, self.misses = [], [], []

    def add(self, name, make_task):
        """One network: its task is made here, as the samples of some come from other networks."""
        try:
            task = make_task(self._zoo) if make_task else None
            self._add(tasks.NETWORKS[name], task)
        except Refused as refused:
            self.refused.append(name)
            print(f"{name:20} refused: {refused}", flush=True)
            wanted = MAY_BE_REFUSED.get(name)
            if not wanted or wanted not in str(refused):
                self.misses.append(f"{name} is refused")

    def _add(self, network, task):
        summary = self._zoo.compile(network, task.calibration if task else {})
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
            print(line(name, summary, cosine(found, wanted), scores, what), flush=True)
            self.judge(network.name, what, *scores)
            name = ""
        if self._has_fcs:
            print_details(summary)

    @staticmethod
    def _output(task, outputs):
        if task.output:
            return outputs[task.output]
        (output,) = outputs.values()
        return output

    def judge(self, name, what, in_float, in_int8):
        if not in_int8 >= in_float - POINT:
            self.misses.append(f"{name}, {what}: float {in_float:.4f}, int8 {in_int8:.4f}")

    def add_all_that_listen(self, heard):
        """Wake words again, with every network of the chain in int8."""
        scores = [heard.everything(execute) for execute in (self._zoo.float, self._zoo.int8)]
        shares = " ".join(f"{100 * score:6.2f}%" for score in scores)
        what = "wake words, all in int8"
        print(f"{'':62}{shares:>24}  {what}", flush=True)
        self.judge("the networks of sound", what, *scores)


def listening_tasks(zoo, names):
    """Makers of the tasks of sound, by name, and what is behind them."""
    if not {"melspectrogram", "speech_embedding", *tasks.listening.PHRASES} & set(names):
        return {}, None
    try:
        heard = tasks.Listening(zoo)
    except Refused as refused:
        print(f"without {refused}, there are no samples for the networks of sound", flush=True)
        return {}, None
    makers = {"melspectrogram": heard.melspectrogram, "speech_embedding": heard.speech_embedding}
    makers.update({name: heard.phrase(name) for name in heard.phrases})
    return makers, heard


def print_table(zoo, names, has_fcs):
    table = Table(zoo, has_fcs)
    makers = {
        "text_detection": tasks.text_detection,
        "text_recognition": tasks.text_recognition,
        "text_direction": tasks.text_direction,
        "segmentation_medium": tasks.segmentation("segmentation_medium"),
        "segmentation_small": tasks.segmentation("segmentation_small"),
    }
    of_sound, heard = listening_tasks(zoo, names)
    makers.update(of_sound)
    print(HEAD, flush=True)
    for name in names:
        table.add(name, makers.get(name))
        if heard and name == heard.phrases[-1]:
            table.add_all_that_listen(heard)
    return table


def main():
    parser = argparse.ArgumentParser(description="Prints what trained networks compile to.")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=list(tasks.NETWORKS))
    parser.add_argument("--fcs", action="store_true", help="list placement and FCs too")
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
    count = len(table.compiled) + len(table.refused)
    print(f"{len(table.compiled)} of {count} networks compile as they were published")
    for miss in table.misses:
        print(f"MISSES: {miss}")
    sys.exit(1 if table.misses else 0)


if __name__ == "__main__":
    main()
