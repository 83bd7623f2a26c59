# SPDX-License-Identifier: MIT
"""Models on a device, from Python: the bytes of `overtake run`, threads, errors, and the owners of memory."""

import asyncio
import copy
import errno
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import unittest

import numpy as np

import glyphs
import overtake


class Case(glyphs.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.device = overtake.open_device("embedded", cores=2)

    def refuse(self, code, text, call, *arguments, **options):
        with self.assertRaises(overtake.Error) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        self.assertIn(text, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class Results(Case):
    def test_the_classifier_gives_the_bytes_of_the_command(self):
        with overtake.Session(self.device, self.model, max_priority=255, core_limit=1) as session:
            ours = np.concatenate([session.run({"image": self.images[i:i + 1]}, priority=255)["probabilities"]
                                   for i in range(len(self.images))])
        glyphs.overtake("run", self.path, "--device", "embedded", "--input",
                        f"image={glyphs.FILES / 'heldout_images.npy'}", "--output-dir", self.directory.name)
        theirs = np.load(pathlib.Path(self.directory.name) / "probabilities.npy")
        self.assertEqual(len(ours), 640)
        self.assertEqual(ours.dtype, theirs.dtype)
        self.assertEqual(ours.tobytes(), theirs.reshape(ours.shape).tobytes())
        accuracy = np.mean(ours.argmax(axis=1) == glyphs.labels())
        self.assertEqual(accuracy, np.mean(theirs.reshape(ours.shape).argmax(axis=1) == glyphs.labels()))
        self.assertGreater(accuracy, 0.95)

    def test_several_processors_give_the_same_bytes(self):
        images = self.images[:32]
        with overtake.Session(self.device, self.model) as session:
            one = [session.run({"image": images[i:i + 1]})["probabilities"].tobytes() for i in range(len(images))]
        for processors, policy in (("npu,cpu", "heft"), ("npu=2,cpu=x1", "least-slack"), ("cpu", "priority")):
            with overtake.Session(self.device, self.model, processors=processors, policy=policy) as session:
                several = [session.run({"image": images[i:i + 1]})["probabilities"].tobytes()
                           for i in range(len(images))]
            self.assertEqual(several, one, processors)
        self.refuse(errno.EINVAL, "core 9, but its device has 2", overtake.Session, self.device, self.model,
                    processors="npu=9,cpu")
        self.refuse(errno.EINVAL, "no policy 'fair'", overtake.Session, self.device, self.model,
                    processors="npu,cpu", policy="fair")

    def test_a_request_names_a_processor_and_a_deadline(self):
        image = {"image": self.images[:1]}
        with overtake.Session(self.device, self.model, processors="npu,cpu", policy="fixed") as session:
            self.refuse(errno.EINVAL, "the policy fixed needs the processor", session.run, image)
            one = session.run(image, on="cpu", slo=3600)["probabilities"].tobytes()
            task = session.submit(image, on="npu.2")
            self.assertEqual(task.result()["probabilities"].tobytes(), one)
            self.assertEqual(task.core, 2)
            self.assertEqual(asyncio.run(session.run_async(image, on="npu", slo=3600))["probabilities"].tobytes(), one)
            self.refuse(errno.EINVAL, "no processor 'dsp'", session.submit, image, on="dsp")
            self.refuse(errno.EINVAL, "slo is 0 s", session.submit, image, on="npu", slo=0)
            # Never dropped, however late.
            self.assertEqual(session.run(image, on="npu", slo=1e-9)["probabilities"].tobytes(), one)
        for drop in "late", "predicted":
            with overtake.Session(self.device, self.model, processors="npu,cpu", drop=drop) as session:
                self.assertEqual(session.run(image, slo=3600)["probabilities"].tobytes(), one)
                self.refuse(errno.ETIME, "it was dropped, since its deadline", session.run, image, slo=1e-9)
        self.refuse(errno.EINVAL, "drop is never, late or predicted, not 'soon'", overtake.Session, self.device,
                    self.model, processors="npu,cpu", drop="soon")
        with overtake.Session(self.device, self.model) as session:
            self.refuse(errno.EINVAL, "on and slo are for several processors", session.submit, image, on="npu")
            self.refuse(errno.EINVAL, "on and slo are for several processors", session.submit, image, slo=1)
    def test_record_levels_give_the_same_bytes(self):
        images = self.images[:16]
        results = []
        for level in (0, 1, 2):
            with overtake.Session(self.device, self.model, record=level) as session:
                results.append([session.run({"image": images[i:i + 1]})["probabilities"].tobytes()
                                for i in range(len(images))])
                self.assertEqual(session.given_back_bytes > 0, level == 2)
                self.assertEqual([tensor.name for tensor in session.model.inputs], ["image"])
                self.assertEqual(session.model.outputs[0].name, "probabilities")
        self.assertEqual(results[1], results[0])
        self.assertEqual(results[2], results[0])
        self.refuse(errno.EINVAL, "record level 3: 0, 1 and 2 are possible", overtake.Session, self.device, self.model,
                    record=3)
        self.refuse(errno.EINVAL, "record level 2: with several processors", overtake.Session, self.device, self.model,
                    record=2, processors="npu,cpu")

    def test_cpu_threads_are_checked(self):
        for count in (0, 65):
            self.refuse(errno.EINVAL, f"CPU threads: {count}, but 1..64 are possible", overtake.Session, self.device,
                        self.model, cpu_threads=count)  # fmt: skip
            self.refuse(errno.EINVAL, f"CPU threads: {count}, but 1..64 are possible", overtake.Session, self.device,
                        self.model, cpu_threads=count, processors="npu,cpu")  # fmt: skip
        with overtake.Session(self.device, self.model, cpu_threads=2) as session:
            self.assertEqual([tensor.name for tensor in session.model.inputs], ["image"])

    def test_cpu_layouts(self):
        path = pathlib.Path(self.directory.name) / "cpu.ovm"
        glyphs.overtake("compile", "--cpu", glyphs.FILES / "glyphs.onnx", "-o", path)
        model = overtake.Model(path)
        results = set()
        for layout in ("auto", "planes", "blocked"):
            with overtake.Session(self.device, model, cpu_layout=layout) as session:
                results.add(session.run({"image": self.images[:1]})["probabilities"].tobytes())
        self.assertEqual(len(results), 1)
        self.refuse(errno.EINVAL, "session: cpu_layout is auto, planes or blocked, not 'NCHW44'", overtake.Session,
                    self.device, self.model, cpu_layout="NCHW44")  # fmt: skip

    def test_the_file_goes_at_record_level_two(self):
        path = pathlib.Path(self.directory.name) / "goes.ovm"
        path.write_bytes(pathlib.Path(self.path).read_bytes())
        model = overtake.Model(path)
        session = overtake.Session(self.device, model, record=2)
        maps = pathlib.Path("/proc/self/maps")
        self.assertIn(str(path), maps.read_text())
        del model
        gc.collect()
        self.assertNotIn(str(path), maps.read_text())
        names = session.model
        session.run({"image": self.images[:1]})
        session.close()
        self.assertEqual(names.inputs[0].shape, (1, 1, 24, 24))

    def test_a_plan_for_two_cores_gives_the_same_bytes(self):
        networks = pathlib.Path(os.environ.get("OVERTAKE_MODELS", glyphs.SOURCE / "build/release/models"))
        path = pathlib.Path(self.directory.name) / "two.ovm"
        glyphs.overtake("compile", networks / "mobilenetv2.onnx", "--calibration",
                        networks / "mobilenetv2_calibration.npy", "--cores", 2, "-o", path)
        model = overtake.Model(path)
        image = np.load(networks / "mobilenetv2_calibration.npy")[:1]
        with overtake.Session(self.device, model) as session:
            several, one = (session.run({model.inputs[0].name: image}, core=core) for core in (0, 1))
        for name, array in one.items():
            self.assertEqual(several[name].tobytes(), array.tobytes())

    def test_expected_times_come_from_a_file(self):
        times = pathlib.Path(self.directory.name) / "times.json"
        glyphs.overtake("profile", self.path, "--device", "embedded", "--processors", "npu,cpu", "--runs", "3", "-o", times)
        with overtake.Session(self.device, self.model) as session:
            one = session.run({"image": self.images[:1]})["probabilities"].tobytes()
        for path in (times, str(times)):
            with overtake.Session(self.device, overtake.Model(self.path), processors="npu,cpu", times=path) as session:
                self.assertEqual(session.run({"image": self.images[:1]})["probabilities"].tobytes(), one)
        self.refuse(errno.EINVAL, "the engine has no class 'npu'", overtake.Session, self.device, self.model,
                    processors="cpu", times=times)
        self.refuse(errno.EINVAL, "EngineOptions::processors", overtake.Session, self.device, self.model, times=times)
        self.refuse(errno.ENOENT, "absent.json: cannot be opened", overtake.Session, self.device, self.model,
                    processors="npu,cpu", times="absent.json")

    def test_what_a_model_says_of_itself(self):
        self.assertEqual(self.model.name, "glyphs")
        self.assertEqual(self.model.max_time_per_fc_us, 1000)
        (image,), (scores,) = self.model.inputs, self.model.outputs
        self.assertEqual((image.name, image.shape, image.dtype, image.data_type),
                         ("image", (1, 1, 24, 24), np.dtype(np.float32), "float32"))
        self.assertEqual((scores.name, scores.shape, scores.dtype), ("probabilities", (1, 16), np.dtype(np.float32)))
        self.assertGreater(image.scale, 0)
        self.assertIn("image", repr(image))

    def test_bytes_and_a_path_are_the_same_model(self):
        data = self.path.read_bytes()
        want = None
        for source in (self.path, str(self.path), data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
            with self.subTest(type=type(source)):
                session = overtake.Session(self.device, overtake.Model(source))
                got = session.run({"image": self.images[:1]})["probabilities"]
                want = got if want is None else want
                np.testing.assert_array_equal(got, want)

    def test_a_model_with_a_segment_on_the_cpu(self):
        path = pathlib.Path(self.directory.name) / "small.ovm"
        subprocess.run([glyphs.MAKE_MODEL, path], check=True)
        model = overtake.Model(path)
        session = overtake.Session(self.device, model)
        inputs = {tensor.name: np.ones(tensor.shape, tensor.dtype) for tensor in model.inputs}
        task = session.submit(inputs)
        result = task.result()
        self.assertEqual({tensor.name for tensor in model.outputs}, set(result))
        self.assertEqual({True, False}, {segment["on_bpu"] for segment in task.segments()})
        for tensor in model.outputs:
            self.assertEqual((result[tensor.name].shape, result[tensor.name].dtype), (tensor.shape, tensor.dtype))

    def test_an_array_that_lies_otherwise_is_copied(self):
        image = self.images[:1]
        session = overtake.Session(self.device, self.model)
        want = session.run({"image": image})["probabilities"]
        wide = np.zeros((1, 1, 24, 48), np.float32)
        wide[..., ::2] = image
        raw = np.zeros(image.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(image.tobytes(), np.uint8)
        frozen = image.copy()
        frozen.flags.writeable = False
        for array in (wide[..., ::2], np.asfortranarray(image), raw[1:].view(np.float32).reshape(image.shape), frozen):
            np.testing.assert_array_equal(session.run({"image": array})["probabilities"], want)

    def test_an_array_that_fits_is_used_where_it_lies(self):
        image = self.images[:1].copy()
        before = sys.getrefcount(image)
        session = overtake.Session(self.device, self.model)
        task = session.submit({"image": image})
        self.assertEqual(sys.getrefcount(image), before + 1)
        task.wait()
        del task
        self.assertEqual(sys.getrefcount(image), before)


class Tasks(Case):
    def setUp(self):
        self.session = overtake.Session(self.device, self.model, max_priority=255)

    def test_a_task_ends_and_says_how(self):
        task = self.session.submit({"image": self.images[:1]}, priority=3, custom_id=-5, core=2)
        self.assertTrue(task.wait(60))
        self.assertTrue(task.done)
        self.assertEqual((task.status, task.core), (0, 2))
        self.assertLess(task.dispatched_ns, task.ended_ns)
        on_device = [segment for segment in task.segments() if segment["on_bpu"]]
        self.assertGreaterEqual(len(on_device), 1)
        for segment in on_device:
            self.assertGreater(segment["fcs_done"], 0)
            self.assertLessEqual(segment["start_ns"], segment["end_ns"])
        self.assertIs(task.result()["probabilities"], task.result()["probabilities"])

    def slow_device(self):
        """One core on which an FC takes its modelled time, and a model of many of them."""
        device = overtake.open_device("embedded", cores=1, mode="timed")
        return overtake.Session(device, self.model, task_limit=1)

    def test_time_is_out_before_the_task(self):
        session = self.slow_device()
        tasks = [session.submit({"image": self.images[:1]}) for _ in range(1000)]
        self.assertFalse(tasks[-1].done)
        self.assertFalse(tasks[-1].wait(0))
        with self.assertRaises(TimeoutError):
            tasks[-1].result(timeout=0)
        self.assertEqual(tasks[-1].status, -errno.EINPROGRESS)
        self.assertEqual(tasks[-1].segments(), [])
        tasks[-1].cancel()
        tasks[-1].wait()
        self.refuse(errno.ECANCELED, "cancelled", tasks[-1].result)
        self.assertEqual(tasks[-1].core, 0)

    def test_tasks_without_a_waiter_are_cancelled(self):
        session = self.slow_device()
        image = self.images[:1].copy()
        before = sys.getrefcount(image)
        for _ in range(1000):
            session.submit({"image": image})
        session.close()
        gc.collect()
        self.assertEqual(sys.getrefcount(image), before)

    def test_closing_ends_what_runs(self):
        session = self.slow_device()
        tasks = [session.submit({"image": self.images[:1]}) for _ in range(500)]
        session.close()
        session.close()
        self.assertTrue(all(task.done for task in tasks))
        self.assertEqual(tasks[-1].status, -errno.ECANCELED)
        self.refuse(errno.EINVAL, "session: it is closed", session.submit, {"image": self.images[:1]})

    def test_results_outlive_all_else(self):
        device = overtake.open_device("embedded", cores=1)
        session = overtake.Session(device, overtake.Model(self.path))
        task = session.submit({"image": self.images[:1]})
        result = task.result()["probabilities"]
        want = result.copy()
        session.close()
        del device, session, task
        gc.collect()
        np.testing.assert_array_equal(result, want)
        self.assertTrue(result.flags.owndata and result.flags.writeable)
        # And a task its session.
        task = overtake.Session(overtake.open_device("embedded"), self.model).submit({"image": self.images[:1]})
        gc.collect()
        np.testing.assert_array_equal(task.result()["probabilities"], want)

    def test_references_are_given_back(self):
        image = self.images[:1].copy()
        counts = []
        for _ in range(3):
            for _ in range(50):
                self.session.run({"image": image})
            with self.assertRaises(overtake.Error):
                self.session.submit({"image": image, "other": image})
            gc.collect()
            counts.append((sys.getrefcount(image), sys.getrefcount(self.session), sys.getrefcount(self.model)))
        self.assertEqual(counts[1], counts[2])

    def test_many_threads_on_one_session(self):
        want = [self.session.run({"image": self.images[i:i + 1]})["probabilities"].copy() for i in range(64)]
        wrong = []

        def work(first):
            for i in range(first, 64, 8):
                got = self.session.run({"image": self.images[i:i + 1]}, priority=i % 256)["probabilities"]
                if not np.array_equal(got, want[i]):
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(first % 8,)) for first in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_waiting_lets_other_threads_run(self):
        """While one waits for the last of a thousand, another cancels it. A thread that is held up for
        that long finds all of them done: not five times in a row."""
        ends = []
        for _ in range(5):
            session = self.slow_device()
            tasks = [session.submit({"image": self.images[:1]}) for _ in range(1000)]
            about_to_wait = threading.Event()
            waiter = threading.Thread(target=lambda: (about_to_wait.set(), tasks[-1].wait()))
            waiter.start()
            about_to_wait.wait()
            for task in reversed(tasks):
                task.cancel()
            waiter.join()
            ends.append(tasks[-1].status)
            session.close()
        self.assertIn(-errno.ECANCELED, ends)


class Errors(Case):
    def setUp(self):
        self.session = overtake.Session(self.device, self.model)

    def test_inputs_that_do_not_fit_are_named(self):
        image = self.images[:1]
        for inputs, why in [
                ({}, "input 'image': it is missing"),
                ({"image": image, "mask": image}, "input 'mask': glyphs has no such input; it has 'image'"),
                ({"image": image.tolist()}, "input 'image': it is of type list, but a numpy array of float32"),
                ({"image": image.astype(np.float64)}, "input 'image': its dtype is float64, but float32 is needed"),
                ({"image": image.astype(np.uint8)}, "input 'image': its dtype is uint8"),
                ({"image": image.astype(">f4")}, "input 'image': its dtype is >f4"),
                ({"image": self.images[:2]}, "input 'image': its shape is (2, 1, 24, 24), but (1, 1, 24, 24) is"),
                ({"image": image[0]}, "input 'image': its shape is (1, 24, 24)")]:
            with self.subTest(why=why):
                self.refuse(errno.EINVAL, why, self.session.submit, inputs)

    def test_rights_and_settings(self):
        image = {"image": self.images[:1]}
        self.refuse(errno.EPERM, "255", self.session.submit, image, priority=255)
        self.refuse(errno.EPERM, "256", self.session.submit, image, priority=256)
        self.refuse(errno.EINVAL, "", self.session.submit, image, core=3)
        self.refuse(errno.EINVAL, "core", overtake.open_device, "embedded", cores=65)
        self.refuse(errno.EINVAL, "mode 'slow': not functional, timed or both", overtake.open_device, "embedded", mode="slow")
        self.refuse(errno.EINVAL, "device 'gpu': not auto", overtake.open_device, "gpu")
        self.refuse(errno.ENOENT, "/dev/accel/none", overtake.open_device, "/dev/accel/none")
        self.refuse(errno.EINVAL, "", overtake.Session, self.device, self.model, slots=0)
        with self.assertRaises(TypeError):
            overtake.open_device("embedded", colour="red")
        with self.assertRaises(TypeError):
            overtake.Session(self.device, None)
        with self.assertRaises(TypeError):
            overtake.Session("embedded", self.model)

    def test_models_that_are_none(self):
        self.refuse(errno.ENOENT, "none.ovm", overtake.Model, "none.ovm")
        self.refuse(errno.EINVAL, "offset", overtake.Model, self.path.read_bytes()[:-64])
        self.refuse(errno.EINVAL, "hers", overtake.Model, b"nothing", name="hers")
        with self.assertRaises(TypeError):
            overtake.Model(3)
        with self.assertRaises(TypeError):
            overtake.Model(np.zeros(4, np.float32))

    def test_an_error_is_copied_whole(self):
        error = overtake.Error(errno.EPERM, "no")
        for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            self.assertEqual((type(other), other.code, str(other)), (overtake.Error, errno.EPERM, "no"))

    def test_settings_arrive_at_the_device(self):
        device = overtake.open_device("embedded", cores=3, mode="both", core_limits=[0, 1, 2], queue_timeout_ns=5)
        info = device.info()
        self.assertEqual((device.backend, info["core_count"], info["mode"], info["queue_timeout_ns"]),
                         ("embedded", 3, "both", 5))
        self.assertEqual([(core["core"], core["core_limit"]) for core in device.cores()], [(1, 0), (2, 1), (3, 2)])
        with overtake.Session(device, self.model, max_priority=255, core_limit=1):
            self.assertEqual([core["core_limit"] for core in device.cores()], [1, 1, 1])
        self.assertEqual([core["core_limit"] for core in device.cores()], [0, 1, 2])

    def test_cores_may_have_profiles_of_their_own(self):
        device = overtake.open_device("embedded", cores=2, profiles=["rk3588-core", "ideal"], watchdog_cycles=7)
        first, second = device.core_profiles()
        self.assertEqual(first, {
            "name": "rk3588-core", "clock_khz": 1000000, "macs_per_cycle": 1024, "vector_per_cycle": 64,
            "bytes_per_cycle": 32, "insn_overhead_cycles": 200, "fc_overhead_cycles": 1000, "watchdog_cycles": 7,
            "without": 0})  # fmt: skip
        self.assertEqual((second["name"], second["fc_overhead_cycles"]), ("ideal", 0))
        with self.assertRaises(overtake.Error) as refused:
            overtake.open_device("embedded", cores=3, profiles=["ideal"])
        self.assertEqual(refused.exception.code, errno.EINVAL)


class Exit(Case):
    def test_an_interpreter_that_ends_in_the_midst_of_it_ends_well(self):
        program = (
            "import sys, threading, numpy, overtake\n"
            "device = overtake.open_device('embedded', cores=1, mode='timed')\n"
            f"model = overtake.Model({str(self.path)!r})\n"
            "session = overtake.Session(device, model)\n"
            "image = numpy.zeros((1, 1, 24, 24), numpy.float32)\n"
            "tasks = [session.submit({'image': image}) for _ in range(1000)]\n"
            "threading.Thread(target=tasks[-1].wait, daemon=True).start()\n"
            "print('bye')\n")
        run = subprocess.run([sys.executable, "-B", "-X", "dev", "-c", program], capture_output=True, text=True,
                             timeout=120, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "bye\n", ""))


if __name__ == "__main__":
    unittest.main()
