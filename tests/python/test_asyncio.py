# SPDX-License-Identifier: MIT
"""Requests from coroutines: many at once, cancelled ones, several loops, and no thread for any."""

import asyncio
import errno
import gc
import sys
import threading
import unittest

import numpy as np

import glyphs
import overtake


class Asyncio(glyphs.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session = overtake.Session(overtake.open_device("embedded", cores=2), cls.model, max_priority=255)
        cls.want = np.concatenate([cls.session.run({"image": cls.images[i:i + 1]})["probabilities"]
                                   for i in range(len(cls.images))])

    def image(self, i):
        return {"image": self.images[i:i + 1]}

    def slow_session(self):
        return overtake.Session(overtake.open_device("embedded", cores=1, mode="timed"), self.model, task_limit=1)

    async def run_all(self, count=640):
        results = await asyncio.gather(*[self.session.run_async(self.image(i), priority=i % 256, custom_id=-i)
                                         for i in range(count)])
        return np.concatenate([result["probabilities"] for result in results])

    def test_all_images_at_once(self):
        threads = threading.active_count()
        got = asyncio.run(self.run_all())
        self.assertEqual(got.tobytes(), self.want.tobytes())
        self.assertEqual(threading.active_count(), threads)

    def test_several_loops_share_a_session(self):
        got = [None] * 4

        def work(i):
            got[i] = asyncio.run(self.run_all(200))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for of in got:
            self.assertEqual(of.tobytes(), self.want[:200].tobytes())

    def test_the_loop_goes_on_meanwhile(self):
        """The awaited request ends only because the loop runs other code meanwhile."""
        async def main():
            session = self.slow_session()
            behind = [session.submit(self.image(0)) for _ in range(1000)]
            last = asyncio.ensure_future(session.run_async(self.image(1)))
            turns = 0
            while not last.done():
                await asyncio.sleep(0)
                turns += 1
                if turns == 3:
                    for task in behind:
                        task.cancel()
            self.assertGreater(turns, 3)
            return (await last)["probabilities"].shape

        self.assertEqual(asyncio.run(main()), (1, 16))

    def test_who_cancels_it_cancels_the_request(self):
        async def main():
            session = self.slow_session()
            image = self.images[:1].copy()
            before = sys.getrefcount(image)
            requests = [asyncio.ensure_future(session.run_async({"image": image})) for _ in range(1000)]
            await asyncio.sleep(0)
            for request in requests[1::2]:
                request.cancel()
            for request in requests[::2]:
                self.assertEqual((await request)["probabilities"].shape, (1, 16))
            for request in requests[1::2]:
                with self.assertRaises(asyncio.CancelledError):
                    await request
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(*[session.run_async({"image": image})
                                                        for _ in range(1000)]), 0.01)
            self.assertEqual((await session.run_async(self.image(1)))["probabilities"].shape, (1, 16))
            session.close()
            del request, requests
            gc.collect()
            self.assertEqual(sys.getrefcount(image), before)

        asyncio.run(main())

    def test_errors_arrive(self):
        async def main():
            for inputs, priority, code in (({}, 0, errno.EINVAL), (self.image(0), 256, errno.EPERM)):
                with self.assertRaises(overtake.Error) as caught:
                    await self.session.run_async(inputs, priority=priority)
                self.assertEqual(caught.exception.code, code)
            session = self.slow_session()
            requests = [asyncio.ensure_future(session.run_async(self.image(0))) for _ in range(500)]
            await asyncio.sleep(0)
            session.close()
            ended = await asyncio.gather(*requests, return_exceptions=True)
            self.assertEqual(ended[-1].code, errno.ECANCELED)
            self.assertTrue(all(isinstance(one, dict) or one.code == errno.ECANCELED for one in ended))

        asyncio.run(main())

    def test_a_loop_that_is_gone_leaves_nothing(self):
        def descriptors():
            gc.collect()
            return len(list((glyphs.pathlib.Path("/proc/self/fd")).iterdir()))

        counts = []
        for _ in range(3):
            for _ in range(20):
                asyncio.run(self.session.run_async(self.image(0)))
            counts.append(descriptors())
        self.assertEqual(counts[1], counts[2])


if __name__ == "__main__":
    unittest.main()
