#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The ABI that libovertake.so promises to linked programs: its symbols and the layout of its public
structs. docs/reference/library.md has the rules.

    scripts/abi.py check  BUILD_DIRECTORY     compares the library with libruntime/abi
    scripts/abi.py renew  BUILD_DIRECTORY     writes libruntime/abi anew (make abi)

Needs binutils (nm, readelf, c++filt). check exits with 1 and names each difference.
"""

import pathlib
import re
import subprocess
import sys

ABI = pathlib.Path(__file__).resolve().parent.parent / "libruntime/abi"
MAP = ABI / "libovertake.map"
LAYOUT = ABI / "layout"
PRIVATE = "OVERTAKE_PRIVATE"
OURS = re.compile(r"_Z(N[KRO]*|T[VISC]N?)8overtake|overtake_")
MAP_HEAD = """\
# SPDX-License-Identifier: MIT
# The symbols of libovertake.so, and since which version each is there. `make abi` adds what is new and
# takes away what is gone; docs/reference/library.md says what that means for programs. What OVERTAKE_PRIVATE has
# is for Overtake's own tools of the same version.
"""


def fail(text):
    sys.exit(f"abi: {text}")


def output_of(*command, text=None):
    try:
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    except FileNotFoundError:
        fail(f"there is no {command[0]}: install binutils, or build first")
    except subprocess.CalledProcessError as error:
        fail(f"{command[0]} failed with {error.returncode}")


def demangled(symbols):
    symbols = list(symbols)
    if not symbols:
        return {}
    return dict(zip(symbols, output_of("c++filt", text="\n".join(symbols) + "\n").splitlines()))


def read_map():
    """Returns the version node of each symbol, and the nodes from the oldest to the newest."""
    nodes, symbols, node = [], {}, None
    for line in MAP.read_text().splitlines() if MAP.exists() else []:
        line = line.split("#")[0].strip()
        if opened := re.fullmatch(r"(\w[\w.]*) \{", line):
            node = opened[1]
            nodes.append(node)
        elif listed := re.fullmatch(r"(_Z\w+|overtake_\w+);", line):
            symbols[listed[1]] = node
    return nodes, symbols


def write_map(nodes, symbols):
    names = demangled(symbols)
    public = [node for node in nodes if node != PRIVATE]
    text = MAP_HEAD
    for before, node in zip([None, *public], [*public, PRIVATE]):
        text += f"\n{node} {{\n"
        listed = sorted((s for s in symbols if symbols[s] == node), key=lambda s: (names[s], s))
        if listed:
            text += "global:\n"
        previous = None
        for symbol in listed:
            if names[symbol] != previous:
                text += f"\t# {names[symbol]}\n"
            previous = names[symbol]
            text += f"\t{symbol};\n"
        if before is None:
            text += "local:\n\t*;\n"
        text += f"}}{' ' + before if before else ''};\n"
    MAP.write_text(text)


def marked(archive):
    """Returns the symbols of ours that the sources mark with OVERTAKE_API: they are global and not hidden."""
    symbols = set()
    for line in output_of("readelf", "--syms", "--wide", str(archive)).splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[5] == "DEFAULT" \
                and fields[6] != "UND" and OURS.match(fields[7]):
            symbols.add(fields[7])
    return symbols


def exported(library):
    """Returns the version node of each symbol that the library exports."""
    symbols = {}
    for line in output_of("nm", "--dynamic", "--defined-only", "--with-symbol-versions",
                          str(library)).splitlines():
        name, _, node = line.split()[-1].partition("@")
        if name != node.strip("@") and line.split()[-2] != "A":
            symbols[name] = node.lstrip("@")
    return symbols


def soname(library):
    found = re.search(r"\(SONAME\).*\[(.+)\]", output_of("readelf", "--dynamic", str(library)))
    return found[1] if found else "none"


def lines_that_differ(before, after):
    return ([f"- {line}" for line in before if line not in after] +
            [f"+ {line}" for line in after if line not in before])


def layout_of(build, name):
    return f"soname {name}\n" + output_of(str(build / "tests/abi_layout"))


def check(build):
    library = build / "libruntime/libovertake.so"
    _, promised = read_map()
    found = exported(library)
    problems = []
    # ld also reports a symbol of the map that no object defines, but the library may be older than the map.
    for symbol in sorted(promised.keys() - found.keys()):
        problems.append(f"- {symbol}")
    for symbol in sorted(found.keys() - promised.keys()):
        problems.append(f"+ {symbol}")
    for symbol in sorted(found.keys() & promised.keys()):
        if found[symbol] != promised[symbol]:
            problems.append(f"{symbol} is in {found[symbol]}, but libovertake.map says {promised[symbol]}")
    for symbol in sorted(marked(build / "libruntime/libovertake_runtime_static.a") - promised.keys()):
        problems.append(f"{symbol} is marked OVERTAKE_API, but not in libovertake.map")
    problems += lines_that_differ(LAYOUT.read_text().splitlines(),
                                  layout_of(build, soname(library)).splitlines())
    if problems:
        print(output_of("c++filt", text="\n".join(problems) + "\n"), end="", file=sys.stderr)
        fail("the library's ABI is not what libruntime/abi says; if that is meant, read docs/reference/library.md, "
             "then run 'make abi'")
    print(f"{len(found)} exported symbols and the layout of the public structs are as libruntime/abi says")


def project_version():
    text = (ABI.parent.parent / "CMakeLists.txt").read_text()
    return re.search(r"project\(overtake VERSION (\d+\.\d+)", text)[1]


def renew(build):
    nodes, promised = read_map()
    found = marked(build / "libruntime/libovertake_runtime_static.a")
    newest = f"OVERTAKE_{project_version()}"
    if newest not in nodes:
        nodes.append(newest)
    symbols = {symbol: promised.get(symbol, newest) for symbol in found}
    layout = layout_of(build, f"libovertake.so.{project_version()}")
    before = LAYOUT.read_text().splitlines() if LAYOUT.exists() else []
    changes = ([f"- {symbol}" for symbol in sorted(promised.keys() - found)] +
               [f"+ {symbol}" for symbol in sorted(found - promised.keys())] +
               lines_that_differ(before, layout.splitlines()))
    write_map(nodes, symbols)
    LAYOUT.write_text(layout)
    print(output_of("c++filt", text="\n".join(changes) + "\n") if changes else "nothing has changed\n",
          end="")
    if any(change.startswith("- ") for change in changes):
        print("abi: what was there has changed or gone: if it was ever released, the next release is a new "
              "minor version (docs/reference/library.md)")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "renew"):
        print("usage: scripts/abi.py check|renew BUILD_DIRECTORY", file=sys.stderr)
        sys.exit(2)
    {"check": check, "renew": renew}[sys.argv[1]](pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
