#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads the accesses of firmware-sim/fw/queue.c to the memory that host and firmware share, for the model.

    queue_accesses.py defines FILE          the -D options with which the model does as FILE does
    queue_accesses.py without BARRIER FILE  FILE, but with a plain access in place of the barrier
    queue_accesses.py barriers              the names of the barriers that FILE can be without

Each function of the queues is a sequence of accesses to slots and to indices. An index by which one side
notifies the other is stored with release and loaded with acquire. The model is written for the sequences
in FUNCTIONS. If FILE has an access without its barrier, or on the wrong side of the slot, the model gets the
same access, and its checks fail. A function, an access or an order that the model lacks is an error.
"""
import re
import sys

# The accesses of each function, in the order of the model.
FUNCTIONS = {
    "ovt_fw_push_command": ["write commands", "release command_tail"],
    "ovt_fw_peek_command": ["acquire command_tail", "read commands"],
    "ovt_fw_consume_command": ["release command_head", "count"],
    "ovt_fw_event_room": ["acquire event_head"],
    "ovt_fw_push_event": ["write events", "release event_tail"],
    "ovt_fw_pop_event": ["acquire event_tail", "read events", "release event_head"],
    # The host's lock is held here (reservation.pml).
    "ovt_fw_reserve": ["count"],
    "ovt_fw_unreserve": ["count"],
}
# Each function's own index: only the function's thread stores it, and loads it without a barrier.
OWN = {
    "ovt_fw_push_command": "command_tail",
    "ovt_fw_peek_command": "command_head",
    "ovt_fw_consume_command": "command_head",
    "ovt_fw_event_room": "event_tail",
    "ovt_fw_push_event": "event_tail",
    "ovt_fw_pop_event": "event_head",
}
INDEX = "(?:command|event)_(?:head|tail)"
SLOT = r"fw->config\.(commands|events)\["
# The first pattern that fits counts; "" means no access to shared memory.
ACCESSES = [
    (rf"ovt_store_release\(&fw->({INDEX}),", "release {}"),
    (rf"ovt_load_acquire\(&fw->({INDEX})\)", "acquire {}"),
    (rf"ovt_write_once\(fw->({INDEX}),", "store {}"),
    (rf"ovt_read_once\(fw->({INDEX})\)", "load {}"),
    (rf"{SLOT}[^;=]*\] = ", "write {}"),
    (rf"{SLOT}[^;=]*\]", "read {}"),
    (r"fw->commands_reserved( [-+]= slots|--);", "count"),
    (r"fw->config\.command_count - fw->commands_reserved", ""),
    (rf"fw->({INDEX})(?: = |\+\+| \+= )", "store {}"),
    (rf"fw->({INDEX})", "load {}"),
    (r"fw->config\.event_count", ""),
]


def fail(text):
    sys.exit(f"queue_accesses.py: {text}")


def functions_of(source):
    """Returns the bodies of functions by name, without comments."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    found = re.findall(r"^[a-z][^;{}]*?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", source, flags=re.S | re.M)
    return dict(found)


def accesses_of(name, body):
    accesses = []
    at = 0
    while (mention := body.find("fw->", at)) >= 0:
        found = [(match, access) for pattern, access in ACCESSES
                 for match in re.compile(pattern).finditer(body, at)
                 if match.start() <= mention < match.end()]
        if not found:
            fail(f"{name}: the model does not know this access: {body[mention:].splitlines()[0]}")
        match, access = found[0]
        accesses.append(access.format(match[1] if match.lastindex else ""))
        at = match.end()
    own = OWN.get(name)
    return [access for access in accesses if access and access != f"load {own}"]


def without_barriers(accesses):
    names = {"release": "store", "acquire": "load"}
    return [" ".join(names.get(word, word) for word in access.split()) for access in accesses]


def define(access):
    kind, index = access.split()
    return f"-DNO_{kind.upper()}_{index.upper()}"


def defines_of_function(name, accesses):
    """Returns the options for barriers that are missing, or that are on the wrong side of a slot's access."""
    wanted = FUNCTIONS[name]
    if sorted(without_barriers(accesses)) != sorted(without_barriers(wanted)):
        fail(f"{name}: the model has {', '.join(wanted)}; the code {', '.join(accesses)}")
    barriers = [access for access in wanted if re.match("release|acquire", access)]
    slots = [access for access in wanted if re.match("read|write", access)]
    missing = {access for access in barriers if access not in accesses}
    for barrier in barriers:
        for slot in slots:
            before = wanted.index(barrier) < wanted.index(slot)
            if barrier in accesses and (accesses.index(barrier) < accesses.index(slot)) != before:
                missing.add(barrier)
    if not missing and accesses != wanted:
        fail(f"{name}: the model has {', '.join(wanted)} in this order; the code {', '.join(accesses)}")
    return [define(barrier) for barrier in barriers if barrier in missing]


def defines(source):
    bodies = functions_of(source)
    for name in FUNCTIONS.keys() ^ bodies.keys():
        fail(f"{name}: in the {'code' if name in bodies else 'model'} alone")
    return [option for name in FUNCTIONS
            for option in defines_of_function(name, accesses_of(name, bodies[name]))]


def barriers():
    """Returns function and access of each barrier, by the barrier's name."""
    return {access.replace("_", "-").replace(" ", "-of-"): (name, access)
            for name, accesses in FUNCTIONS.items() for access in accesses
            if re.match("release|acquire", access)}


def without(barrier, source):
    if barrier not in barriers():
        fail(f"no barrier {barrier}; there are {', '.join(barriers())}")
    name, access = barriers()[barrier]
    kind, index = access.split()
    begin = re.search(rf"^[a-z].*\b{name}\(", source, flags=re.M).start()
    end = source.index("\n}", begin)
    body = source[begin:end]
    weak = body.replace(f"ovt_store_release(&fw->{index},", f"ovt_write_once(fw->{index},") \
        if kind == "release" else \
        body.replace(f"ovt_load_acquire(&fw->{index})", f"ovt_read_once(fw->{index})")
    if weak == body:
        fail(f"{name} does not have {access}")
    return source[:begin] + weak + source[end:]


def main():
    match sys.argv[1:]:
        case ["barriers"]:
            print("\n".join(barriers()))
        case ["defines", path]:
            print(" ".join(defines(open(path, encoding="utf-8").read())))
        case ["without", barrier, path]:
            sys.stdout.write(without(barrier, open(path, encoding="utf-8").read()))
        case _:
            print(__doc__.strip(), file=sys.stderr)
            sys.exit(2)


main()
