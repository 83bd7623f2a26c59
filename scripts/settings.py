#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks or writes the scheduler's settings in the documents, from the table firmware-sim/sched/settings.inc.

    scripts/settings.py check  BUILD_DIRECTORY     compares the documents with the table
    scripts/settings.py renew  BUILD_DIRECTORY     writes them anew (make settings)

The part of a document that is made from the table stands between two lines that SECTIONS names. check exits
with 1 and names each document that differs.
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
NS_PER_MS = 1_000_000
OWNERS = {
    "queue": "a process for its own queue, the administrator for the device's",
    "device": "the administrator",
    "process": "each process",
}


def fail(text):
    sys.exit(f"settings: {text}")


def read_table(build):
    program = pathlib.Path(build, "tests/print_settings")
    try:
        return json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)
    except FileNotFoundError:
        fail(f"there is no {program}: build first")


def in_own_unit(setting, value):
    """Returns a value in the unit of options, variables and documents: a time in milliseconds."""
    return value // NS_PER_MS if setting["unit"] == "time" else value


def quantity(setting, value):
    if setting["unit"] == "switch":
        return "on" if value else "off"
    return f"{in_own_unit(setting, value):,}" + {"percent": " %", "time": " ms"}.get(setting["unit"], "")


def number(value):
    """Returns a number as text: large round ones as powers."""
    for bits in (32, 64):
        if value == 2**bits - 1:
            return f"2^{bits} - 1"
    zeros = len(str(value)) - 1
    return f"10^{zeros}" if zeros > 5 and value == 10**zeros else f"{value}"


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("|" + "".join(f" {cell} |" if cell != "---" else "---|" for cell in line).replace("  |", " |") + "\n"
                   for line in lines)


def code(text):
    return f"`{text}`"


def what_they_are(table):
    rows = [[code("policy"), "By which tasks are ordered", "a name", table["policies"][0],
             ", ".join(table["policies"]), OWNERS["queue"]]]
    for setting in table["settings"]:
        usual = quantity(setting, setting["usual"])
        if setting["off_alone"]:
            usual += "; off in a process's own queue"
        unit = {"time": "ns", "switch": "0 or 1", "count": "number"}.get(setting["unit"], setting["unit"])
        rows.append([code(setting["public_name"]), setting["sentence"],
                     unit, usual, f"{setting['least']}..{number(setting['most'])}", OWNERS[setting["owner"]]])
    return markdown(["setting", "what it does", "unit", "default", "range", "who sets it"], rows)


def python_arguments():
    """Returns the names of the arguments of overtake.Session."""
    text = (ROOT / "tools/python/overtake/_core.pyi").read_text()
    return re.findall(r"(\w+): \w+ =", re.search(r"class Session:\n    def __init__\((.*?)\) ->", text, re.S)[1])


def where_they_are_set(table):
    def way_in(setting, key, spell):
        if key not in setting:
            return ""
        unit = " ms" if setting["unit"] == "time" else ""
        text = code(spell(setting[key]["name"]))
        return text if setting["unit"] == "switch" else f"{text} {setting['least']}..{number(setting[key]['most'])}{unit}"

    arguments = python_arguments()
    rows = [[code("policy"), code("policy"), "", code("--policy"), code("service/policy"),
             code("EngineOptions") + ", " + code("ServerOptions"), ""]]
    for setting in table["settings"]:
        name = setting["public_name"]
        is_shared = setting["owner"] != "process"
        structs = [code(f"{struct}") for struct, has in (("EngineOptions", setting["owner"] != "device"),
                                                         ("ServiceSettings", is_shared)) if has]
        rows.append([code(name), code(setting["scenario"]) if "scenario" in setting else "",
                     way_in(setting, "variable", str), way_in(setting, "option", lambda option: f"--{option}"),
                     code(f"service/{name}") if is_shared else "", ", ".join(structs),
                     code(f"{name}=") if name in arguments else ""])
    return markdown(["setting", "scenario", "environment of board programs", "`overtake serve`", "sysfs", "C++",
                     "Python's `Session`"], rows)


def of_service_mode(table):
    rows = [[code("--policy"), code("policy"), table["policies"][0], ""]]
    for setting in table["settings"]:
        if setting["owner"] == "process":
            continue
        usual = quantity(setting, setting["usual"])
        rows.append([code(f"--{setting['option']['name']}") if "option" in setting else "",
                     code(setting["public_name"]), "shared" if setting["name"] == "share" else usual,
                     code(setting["variable"]["name"]) if "variable" in setting else ""])
    return markdown(["option", "attribute", "default", "the environment's name for it"], rows)


def of_scenarios(table):
    rows = []
    for setting in table["settings"]:
        if not setting.get("scenario", "").startswith("env."):
            continue
        unit = {"count": "number", "time": "ms"}.get(setting["unit"], setting["unit"])
        rows.append([code(setting["scenario"].removeprefix("env.")), unit,
                     f"{in_own_unit(setting, setting['usual'])}",
                     f"at least {setting['least']}" if setting["least"] else ""])
    return markdown(["`env`", "unit", "default", ""], sorted(rows))


def of_board_programs(table):
    rows = []
    for setting in table["settings"]:
        if "variable" not in setting:
            continue
        meaning = setting["sentence"]
        if setting["unit"] == "time":
            meaning = "Milliseconds: " + meaning[0].lower() + meaning[1:]
        rows.append([setting["variable"]["name"], f"{setting['least']}..{number(setting['variable']['most'])}",
                     f"{in_own_unit(setting, setting['usual'])}", meaning])
    return markdown(["variable", "range", "default", "meaning"], sorted(rows))


def of_sysfs(table):
    """Returns entries in the form of the kernel's Documentation/ABI."""
    def entry(name, text):
        lines = textwrap.wrap(f"(RW) Service mode: {text}", 84, break_on_hyphens=False)
        return (f"What:\t\t/sys/bus/platform/devices/overtake.N/service/{name}\nDate:\t\tNovember 2026\n"
                "KernelVersion:\t6.12\nContact:\tThe Overtake authors, through the project's issue tracker\n"
                "Description:\n" + "".join(f"\t\t{line}\n" for line in lines) + "\n")

    text = entry("policy", f"name of the scheduling policy, as overtake sim has them ({table['policies'][0]}). Like all "
                           "files of this directory, writing fails with EBUSY while a context for tasks exists.")
    for setting in table["settings"]:
        if setting["owner"] == "process":
            continue
        sentence = setting["sentence"]
        what = sentence[0].lower() + sentence[1:] + (f", at least {setting['least']}" if setting["least"] else "")
        if setting["unit"] == "time":
            what = "nanoseconds: " + what
        if setting["unit"] == "switch":
            what = "1: " + what
        text += entry(setting["public_name"], f"{what} ({setting['usual']}).")
    return text


def of_man_page(table):
    text = (".TP\n.BI \\-\\-policy \" NAME\"\nThe order of tasks (with fifo, no task fills a gap):\n.BR "
            f"{table['policies'][0]} \" (default), \" " + " \", \" ".join(table["policies"][1:-1]) +
            f" \" or \" {table['policies'][-1]} .\n")
    for setting in table["settings"]:
        if "option" not in setting:
            continue
        option = "\\-\\-" + setting["option"]["name"].replace("-", "\\-")
        if setting["unit"] == "switch":
            text += f".TP\n.B {option}\n{setting['option_sentence']}.\n"
            continue
        argument = {"percent": "PERCENT", "time": "MS"}.get(setting["unit"], "N")
        sentence = setting.get("option_sentence", setting["sentence"])
        if setting["unit"] == "time":
            sentence = "Milliseconds: " + sentence[0].lower() + sentence[1:]
        sentence = re.sub(r"--[a-z-]+", lambda found: found[0].replace("-", "\\-"), sentence)
        text += (f".TP\n.BI {option} \" {argument}\"\n{sentence}; default "
                 f"{in_own_unit(setting, setting['usual'])}.\n")
    return text


def comment(what):
    return f"<!-- settings, {what}: written by make settings -->\n", "<!-- end of settings -->\n"


# Document, the lines before and after its part, the function that makes the part.
SECTIONS = (
    ("docs/reference/settings.md", *comment("what they are"), what_they_are),
    ("docs/reference/settings.md", *comment("where they are set"), where_they_are_set),
    ("docs/use/service.md", *comment("of service mode"), of_service_mode),
    ("docs/reference/scenarios.md", *comment("of scenarios"), of_scenarios),
    ("docs/start/board.md", *comment("of board programs"), of_board_programs),
    ("docs/ABI/sysfs-platform-overtake", "\t\t(WO) Sets coreN/normal_floor of every core.\n\n",
     "What:\t\t/sys/bus/platform/devices/overtake.N/bans\n", of_sysfs),
    ("docs/man/overtake-serve.1",
     "Settings of the task scheduler, for the tasks of all processes in service mode.\n", ".SS Asking a server\n",
     of_man_page),
)


def with_section(name, text, begin, end, section):
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        fail(f"{name} has no part between {begin.strip()!r} and {end.strip()!r}")
    return before + begin + section + end + after


def documents(table):
    """Returns the text that each document should have."""
    texts = {}
    for name, begin, end, make in SECTIONS:
        text = texts.get(name) or (ROOT / name).read_text()
        texts[name] = with_section(name, text, begin, end, make(table))
    return texts


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "renew"):
        sys.exit(__doc__.strip())
    wrong = []
    for name, text in documents(read_table(sys.argv[2])).items():
        if (ROOT / name).read_text() == text:
            continue
        wrong.append(name)
        if sys.argv[1] == "renew":
            (ROOT / name).write_text(text)
            print(f"written: {name}")
    if wrong and sys.argv[1] == "check":
        fail(f"{', '.join(wrong)}: not as firmware-sim/sched/settings.inc has it; run 'make settings'")


if __name__ == "__main__":
    main()
