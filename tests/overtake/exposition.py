# SPDX-License-Identifier: MIT
"""Reads Prometheus's text exposition format (version 0.0.4), strictly."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


class Exposition:
    """The type, help and samples of each family; raises ValueError if the text is wrong."""

    def __init__(self, text):
        self.types, self.help, self.all = {}, {}, {}
        if not text.endswith("\n"):
            raise ValueError("no newline at the end")
        family = None
        for line in text.splitlines():
            if match := re.fullmatch(rf"# HELP ({NAME}) (.+)", line):
                family = match[1]
                if family in self.help:
                    raise ValueError(f"{family} comes twice")
                self.help[family] = match[2]
            elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge)", line):
                if match[1] != family or family in self.types:
                    raise ValueError(f"TYPE of {match[1]} does not follow its HELP")
                self.types[family] = match[2]
                self.all[family] = []
            elif (match := SAMPLE.fullmatch(line)) and match[1] == family:
                self.add(family, match[2] or "", float(match[3]))
            else:
                raise ValueError(f"'{line}' is out of place")

    def add(self, family, text, value):
        labels, end = {}, 0
        while end < len(text):
            match = LABEL.match(text, end)
            if not match or match[1] in labels:
                raise ValueError(f"labels of {family}: {text}")
            labels[match[1]] = re.sub(r"\\(.)", lambda it: "\n" if it[1] == "n" else it[1], match[2])
            end = match.end()
        if any(labels == other for other, _ in self.all[family]):
            raise ValueError(f"{family}{labels} comes twice")
        self.all[family].append((labels, value))

    def samples(self, family, **labels):
        """Returns the samples with these labels, and with any others."""
        return [(own, value) for own, value in self.all.get(family, [])
                if labels.items() <= own.items()]  # fmt: skip

    def value(self, family, **labels):
        """Returns the sum of the samples; there has to be one."""
        values = [value for _, value in self.samples(family, **labels)]
        if not values:
            raise KeyError((family, labels))
        return sum(values)
