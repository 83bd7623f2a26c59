# SPDX-License-Identifier: MIT
"""Maps COUNT files of root under the name of libovertake, as any user can in namespaces of their own:

    disguised_libraries.py COUNT READY

creates the file READY once they are mapped, and keeps them until it is killed.
"""
import ctypes
import mmap
import os
import sys

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        sys.exit(f"disguised_libraries: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    check(libc.mount(source.encode(), target.encode(), kind, ctypes.c_ulong(flags), None))


def enter_own_namespaces():
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    for name, text in [("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")]:
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", "/mnt", b"tmpfs", 0)


def files_of_root(count):
    for directory, _, names in os.walk("/usr"):
        for name in names:
            path = os.path.join(directory, name)
            if count and os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path):
                count -= 1
                yield path


def main():
    count, ready = int(sys.argv[1]), sys.argv[2]
    report = os.open(ready + ".part", os.O_WRONLY | os.O_CREAT, 0o644)
    os.rename(ready + ".part", ready)  # the file is empty: nothing to read yet
    enter_own_namespaces()
    sources = list(files_of_root(count))
    kept = []
    for number, path in enumerate(sources):
        name = f"/mnt/libovertake.so.{number}"
        with open(name, "wb"):
            pass
        mount(path, name, None, MS_BIND)
        with open(name, "rb") as file:
            kept.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE))
    os.write(report, str(len(kept)).encode())
    libc.pause()


main()
