# SPDX-License-Identifier: MIT
"""A sweep on two dask workers, whole and with one of them killed half-way; TAP.

    dask_workers.py GRID FILE      FILE has the table that one process makes of the grid
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from distributed import Client

import overtake


def start(*command):
    return subprocess.Popen([sys.executable, "-B", "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_worker(scheduler, directory, name):
    return start("distributed.cli.dask_worker", "--scheduler-file", scheduler, "--nthreads", "1", "--no-nanny",
                 "--no-dashboard", "--name", name, "--local-directory", directory)


def kill_half_way(client, worker, killed):
    """As soon as both workers have finished something: then each has more to do."""
    while True:
        done = [sum("_run_shard" in str(key) for key in keys) for keys in client.has_what().values()]
        if len(done) == 2 and min(done) >= 1:
            break
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    killed.append(done)


def main():
    grid, want = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        scheduler_file = os.path.join(directory, "scheduler.json")
        processes = [start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                           "--scheduler-file", scheduler_file)]
        processes += [start_worker(scheduler_file, directory, name) for name in ("one", "two")]
        try:
            client = Client(scheduler_file=scheduler_file, timeout=60)
            client.wait_for_workers(2, timeout=60)
            begin = time.monotonic()
            sweep = overtake.sweep("demo-both", grid, client=client)
            good = sweep.to_text() == want
            failed += not good
            print(f"# {len(sweep)} points on two dask workers: {time.monotonic() - begin:.1f} s")
            print("ok" if good else "not ok", "clusters two dask workers make the table of one process")

            killed = []
            killer = threading.Thread(target=kill_half_way, args=(client, processes[2], killed), daemon=True)
            killer.start()
            begin = time.monotonic()
            sweep = overtake.sweep("demo-both", grid, client=client, shards=16)
            killer.join(60)
            good = sweep.to_text() == want and bool(killed) and len(client.nthreads()) == 1
            failed += not good
            print(f"# with one killed when the two had done {killed}: {time.monotonic() - begin:.1f} s")
            print("ok" if good else "not ok", "clusters one of two dask workers is killed, and the table is the same")
            client.close()
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
