# SPDX-License-Identifier: MIT
"""overtake.trace: every event of a load with known counts, of an embedded device and of a server."""

import asyncio
import collections
import os
import pathlib
import subprocess
import threading
import time
import unittest

import glyphs
import overtake

REQUESTS = 40


class Trace(glyphs.Case):
    def load(self, device):
        """REQUESTS at priority 255 and as many at 7. Over, once this returns."""
        for priority in (255, 7):
            with overtake.Session(device, self.model, max_priority=priority) as session:
                for i in range(REQUESTS):
                    session.run({"image": self.images[i:i + 1]}, priority=priority)

    def check(self, events):
        counts = collections.Counter(event["event"] for event in events)
        self.assertEqual(counts["job_queue"], 2 * REQUESTS)
        self.assertEqual(counts["job_done"], 2 * REQUESTS)
        self.assertEqual(counts["ctx_destroy"], 2)
        queued = [event for event in events if event["event"] == "job_queue"]
        self.assertEqual([event["priority"] for event in queued], [255] * REQUESTS + [7] * REQUESTS)
        self.assertEqual({event["model"] for event in queued}, {"glyphs"})
        fcs = sum(event["fc_count"] for event in queued)
        self.assertEqual(counts["fc_start"], fcs)
        self.assertEqual(counts["fc_done"], fcs)
        self.assertEqual({event["pid"] for event in events}, {os.getpid()})
        for event in events:
            self.assertIs(type(event["time_ns"]), int)
            if "high" in event:
                self.assertIs(type(event["high"]), bool)
        times = [event["time_ns"] for event in events if event["event"] in ("fc_start", "fc_done")]
        self.assertEqual(times, sorted(times))

    @staticmethod
    def until_both_are_gone(trace):
        events, gone = [], 0
        for event in trace:
            events.append(event)
            gone += event["event"] == "ctx_destroy"
            if gone == 2:
                return events
        return events

    def test_every_event_of_an_embedded_device(self):
        device = overtake.open_device("embedded", cores=1)
        with overtake.trace(device) as trace:
            self.load(device)
            self.check(self.until_both_are_gone(trace))
            self.assertEqual(trace.lost, 0)
        self.assertEqual(list(trace), [])
        self.assertEqual(trace.lost, 0)

    def test_every_event_of_a_server(self):
        socket = pathlib.Path(self.directory.name, "device")
        server = subprocess.Popen([os.environ["OVERTAKE"], "serve", "--cores", "1", "--socket", socket],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        while not socket.exists():
            self.assertIsNone(server.poll())
            time.sleep(0.01)
        with overtake.trace(f"server:{socket}") as trace:
            self.load(overtake.open_device(f"server:{socket}"))
            self.check(self.until_both_are_gone(trace))

    def test_coroutines_may_watch(self):
        device = overtake.open_device("embedded", cores=1)

        async def watch():
            events, gone = [], 0
            with overtake.trace(device) as trace:
                load = asyncio.create_task(asyncio.to_thread(self.load, device))
                async for event in trace:
                    events.append(event)
                    gone += event["event"] == "ctx_destroy"
                    if gone == 2:
                        break
                await load
            return events

        self.check(asyncio.run(watch()))

    def test_it_ends_with_its_time(self):
        with overtake.trace(overtake.open_device("embedded"), seconds=0.05) as trace:
            self.assertEqual(list(trace), [])
            self.assertEqual(asyncio.run(self.list_of(trace)), [])

    @staticmethod
    async def list_of(trace):
        return [event async for event in trace]

    def test_closing_ends_a_wait(self):
        trace = overtake.trace(overtake.open_device("embedded"))
        seen = []
        waiter = threading.Thread(target=lambda: seen.extend(trace))
        waiter.start()
        trace.close()
        waiter.join(60)
        self.assertFalse(waiter.is_alive())
        self.assertEqual(seen, [])

    def test_what_cannot_be_watched_is_said(self):
        with self.assertRaisesRegex(overtake.Error, "cannot be watched by another"):
            overtake.trace("embedded")
        with self.assertRaisesRegex(overtake.Error, "no-such-socket"):
            overtake.trace("server:/no-such-socket")


if __name__ == "__main__":
    unittest.main()
