# SPDX-License-Identifier: MIT
"""Computes, from a scenario and its timeline alone, the causes of each task's time and their owners.

Shares nothing with tools/observe/blame, which follows events and keeps queues. For each moment at which a task waits,
this module looks up in the timeline what all other tasks do at that moment.
"""
import bisect
import collections

HIGH = 255
BLAMED = ("task_limit", "barred", "slot", "behind_normal", "behind_high", "held")


class Segment:
    """A segment of a task: its kind, its planned times and its real times."""

    def __init__(self, cpu, time, estimate=None, width=1):
        self.cpu = cpu
        self.width = width  # cores that it takes at once
        self.time = time
        self.estimate = time if estimate is None else estimate
        self.wait = None  # when it began to wait for a worker or a slot, or to run
        self.start = None
        self.end = None


class Task:
    def __init__(self, number, name, owner, item, segments, record):
        self.number = number
        self.name = name
        self.owner = owner  # (class, process)
        self.item = item
        self.priority = item.get("priority", 0)
        self.segments = segments
        self.arrival = record["arrival"]
        self.dispatched = record.get("dispatched")
        self.end = record["end"]
        self.cancelled = record["cancelled"]
        self.jobs = {}
        self.ready = []     # [from, to) of each wait for a slot after it was dispatched
        self.worker = 0
        self.slots = []     # (from, to, cores)
        self.width = max([segment.width for segment in segments], default=1)
        self.had_cores = frozenset()  # cores of a task that takes several, once it is placed
        self.overdue = None  # when it first became overdue
        self.planned_core = item.get("core", 0)

    def bpu(self):
        return [i for i, segment in enumerate(self.segments) if not segment.cpu]

    def bpu_time(self):
        return sum(self.segments[i].estimate for i in self.bpu())

    def counted(self, time):
        return (self.priority < HIGH and self.dispatched is not None
                and self.dispatched <= time < min(self.end, self.overdue or self.end))

    def slot_at(self, time):
        """Returns (since when, cores) of the task's slot; None: the task holds none."""
        for begin, end, cores in self.slots:
            if begin <= time < end:
                return begin, cores
        return None

    def gap_segment(self, time):
        """Returns the task's current CPU segment between BPU segments; None: the task is on a core."""
        for job in self.jobs.values():
            if job["arrival"] <= time < job["end"]:
                return None
        for segment in self.segments:
            if segment.cpu and segment.wait is not None and segment.wait <= time and (
                    segment.end is None or time < segment.end):
                return segment
        return None

    def cores_at(self, time):
        """Returns the cores that the task wants; empty: any."""
        for job in sorted(self.jobs.values(), key=lambda job: -job["arrival"]):
            if job["arrival"] <= time:
                return self.cores_of(job)
        return frozenset({self.planned_core} - {0})

    def cores_of(self, job):
        return self.had_cores if self.width > 1 else frozenset({job["core"]})


def planned_fcs(model):
    """Returns a function that sums FCs, each split as docs/reference/scenarios.md describes."""
    most, overhead = model.get("max_time_per_fc", 0), model.get("fc_overhead", 0)

    def total(times):
        whole = 0
        for time in times:
            parts = -(-time // most) if most and time > most else 1
            whole += time + (parts * overhead if parts > 1 else 0)
        return whole
    return total


def time_alone(parts, sync):
    """Returns the time of a group: the longest part of each stage, with the sync if the part waits for it."""
    whole = 0
    worked = None
    for stage in range(len(parts[0]["stages"])):
        times = [sum(part["stages"][stage]) for part in parts]
        ahead = worked[0] if worked is not None and len(worked) == 1 else None
        waits = [time + (sync if stage and number != ahead else 0) if time else 0
                 for number, time in enumerate(times)]
        whole += max(waits)
        worked = [number for number, part in enumerate(parts) if part["stages"][stage]]
    return whole


def segments_of(scenario, item):
    if "parts" in item:
        return [Segment(False, time_alone(item["parts"], scenario.get("sync", 0)), width=len(item["parts"]))]
    if scenario["kind"] == "fc":
        times = item["fcs"] if "fcs" in item else None
        if times is None:
            model = scenario["models"][item["model"]]
            return [Segment(False, planned_fcs(model)(model["fcs"]))]
        return [Segment(False, sum(times))]
    segments = []
    for name in item.get("models", [item.get("model")]):
        model = scenario["models"][name]
        total = planned_fcs(model)
        for segment in model["segments"]:
            if "parts" in segment:
                segments.append(Segment(False, time_alone(segment["parts"], scenario.get("sync", 0)),
                                        width=len(segment["parts"])))
            elif "bpu" in segment:
                segments.append(Segment(False, total(segment["bpu"])))
            else:
                segments.append(Segment(True, segment["cpu"], segment.get("estimate")))
    return segments


def class_of(scenario, item, is_load):
    if "class" in item:
        return item["class"]
    if is_load:
        return item["id"]
    if "models" in item and scenario["kind"] == "task":
        return "+".join(item["models"])
    return item.get("model", f"priority {item.get('priority', 0)}")


class Run:
    """A scenario and its timeline."""

    def __init__(self, scenario, timeline):
        self.scenario = scenario
        self.is_task = scenario["kind"] == "task"
        self.unit = 1 if scenario.get("time_unit") == "ns" else 1000
        env = scenario.get("env", {})
        self.limit = env.get("HB_MAX_TASK_NUM", 8)
        self.slots = scenario.get("slots", 1)
        self.tasks = {}
        self.make_tasks(timeline)
        self.lanes = collections.defaultdict(list)  # FCs of each core, by start
        for fc in timeline["fcs"]:
            self.lanes[fc["core"]].append(fc)
        self.starts = {core: [fc["start"] for fc in lane] for core, lane in self.lanes.items()}
        self.own_fcs = collections.defaultdict(list)
        for fc in timeline["fcs"]:
            self.own_fcs[fc["job"]].append(fc)
        self.find_holders(timeline)
        if self.is_task:
            for task in self.tasks.values():
                self.follow(task)
        self.by_arrival = sorted(self.tasks.values(), key=lambda task: (task.arrival, task.number))
        self.arrivals = [task.arrival for task in self.by_arrival]
        self.longest = max((task.end - task.arrival for task in self.by_arrival), default=0)

    def find_holders(self, timeline):
        """Finds the HIGH parts of groups on each core, by arrival: (arrival, left, owner, job)."""
        self.holders = collections.defaultdict(list)
        jobs = enumerate(timeline["jobs"])
        for _, job in sorted(jobs, key=lambda item: (item[1]["arrival"], item[0])):
            task = self.tasks[job["id"].rpartition(".")[0] if self.is_task else job["id"]]
            if task.priority < HIGH or len(job.get("parts", [])) < 2:
                continue
            for number, part in enumerate(job["parts"]):
                ran = [fc for fc in self.own_fcs[job["id"]] if fc["part"] == number]
                planned = sum(map(len, self.planned_parts(job["id"])[number]["stages"]))
                left = ran[-1]["end"] if len(ran) == planned else job["end"]
                self.holders[part["core"]].append((job["arrival"], left, task.owner, job["id"]))

    def planned_parts(self, name):
        """Returns the parts of the group with this job's name."""
        if not self.is_task:
            return self.tasks[name].item["parts"]
        name, _, number = name.rpartition(".")
        item = self.tasks[name].item
        segments = [segment for model in item.get("models", [item.get("model")])
                    for segment in self.scenario["models"][model]["segments"]]
        return segments[int(number)]["parts"]

    def make_tasks(self, timeline):
        listed = {item["id"]: item for item in
                  self.scenario.get("tasks" if self.is_task else "jobs", [])}
        loads = {item["id"]: item for item in self.scenario.get("loads", [])}
        self.owner_of_job = {}
        for number, record in enumerate(timeline["tasks" if self.is_task else "jobs"]):
            name = record["id"]
            is_load = name not in listed
            item = loads[name.rpartition("#")[0]] if is_load else listed[name]
            owner = (class_of(self.scenario, item, is_load),
                     str(item.get("process" if self.is_task else "context", "")))
            task = Task(number, name, owner, item, segments_of(self.scenario, item), record)
            self.tasks[name] = task
            if not self.is_task:
                task.jobs[0] = record
                self.owner_of_job[name] = owner
        if not self.is_task:
            return
        for job in timeline["jobs"]:
            name, _, segment = job["id"].rpartition(".")
            self.tasks[name].jobs[int(segment)] = job
            self.owner_of_job[job["id"]] = self.tasks[name].owner
            if self.tasks[name].width > 1:
                self.tasks[name].had_cores |= {part["core"] for part in job.get("parts", [job])}
        for cpu in timeline["cpu"]:
            segment = self.tasks[cpu["task"]].segments[cpu["segment"]]
            segment.start, segment.end = cpu["start"], cpu["end"]

    def follow(self, task):
        """Finds the waits and slots of each segment of a task, and when it became overdue."""
        time = task.dispatched
        bpu = task.bpu()
        slot = None
        lost_slot = False
        for number, segment in enumerate(task.segments):
            if time is None:
                break
            segment.wait = time
            if segment.cpu:
                over = self.overdue_time(task, segment)
                if over is not None:
                    if task.overdue is None:
                        task.overdue = over
                    lost_slot = True
                    if slot is not None:
                        task.slots.append((slot[0], over, slot[1]))
                        slot = None
                task.worker += (task.end if segment.start is None else segment.start) - time
                time = segment.end
                continue
            job = task.jobs.get(number)
            first = number == bpu[0]
            if task.priority < HIGH and (lost_slot or first) and number > 0 and (
                    job is None or job["arrival"] > time):
                task.ready.append((time, task.end if job is None else job["arrival"]))
            if job is None:
                break
            if task.priority < HIGH and slot is None:
                slot = (job["arrival"], task.cores_of(job))
                lost_slot = False
            time = job["end"]
            if number == bpu[-1] and slot is not None:
                task.slots.append((slot[0], time, slot[1]))
                slot = None
            if job["cancelled"]:
                break
        if slot is not None:
            task.slots.append((slot[0], task.end, slot[1]))

    def overdue_time(self, task, segment):
        """Returns the time from which a CPU segment waited, or then ran, for too long; None: never, or the priority is
        255."""
        if "overdue" not in self.scenario or task.priority == HIGH:
            return None
        rule = self.scenario["overdue"]
        allowed = max(rule["min_time"], rule.get("factor", 4) * segment.estimate)
        if segment.start is None:
            late = segment.wait + allowed
            return late if late < task.end else None
        if segment.start >= segment.wait + allowed:
            return segment.wait + allowed
        late = segment.start + allowed
        return late if late < segment.end else None

    # The queue.

    def rank(self, task):
        policy = self.scenario.get("policy", "priority")
        middle = ()
        if policy == "priority":
            middle = (-task.priority, task.item.get("custom_id", 0))
        elif policy == "shortest":
            middle = (-task.priority, task.bpu_time())
        elif policy == "deadline":
            middle = (-task.priority, self.deadline(task))
        return middle + (task.arrival, task.number)

    def deadline(self, task):
        slo = task.item.get("slo")
        if slo is None:
            return float("inf")
        if isinstance(slo, dict):
            slo = int(sum(segment.time for segment in task.segments) * slo["isolated"])
        return task.arrival + slo

    def around(self, begin, end, task):
        """Returns the tasks of the same queue that live at any time from `begin` to `end`."""
        shared = self.scenario.get("service_mode", False)
        low = bisect.bisect_left(self.arrivals, begin - self.longest)
        high = bisect.bisect_left(self.arrivals, end)
        return [other for other in self.by_arrival[low:high] if other.end > begin
                and (shared or other.owner[1] == task.owner[1])]

    @staticmethod
    def undispatched(task, time):
        until = task.end if task.dispatched is None else task.dispatched
        return task.priority < HIGH and task.arrival <= time < until

    @staticmethod
    def is_ready(task, time):
        return any(begin <= time < end for begin, end in task.ready)

    def has_room(self, task, near, time):
        counted = [other for other in near if other.counted(time)]
        if len(counted) >= self.limit:
            return False
        if not self.scenario.get("share", False):
            return True
        holding = {other.owner[1] for other in counted}
        waiting = {other.owner[1] for other in near if self.undispatched(other, time)}
        return task.owner[1] not in holding or len(counted) + len(waiting - holding) < self.limit

    def wanting(self, near, time):
        """Returns the tasks that wait only for slots, each with the cores that it wants (empty: any)."""
        return [(other, other.cores_at(time)) for other in near
                if self.is_ready(other, time) or (
                    self.undispatched(other, time) and not other.segments[0].cpu
                    and self.has_room(other, near, time))]

    def why_queued(self, task, near, time, end):
        """Returns (cause, owners each of whom may be to blame) for `time` to `end`, between which no event comes."""
        if self.undispatched(task, time) and not self.has_room(task, near, time):
            counted = [other for other in near if other.counted(time)]
            first = min(other.dispatched for other in counted)
            return "task_limit", {o.owner for o in counted if o.dispatched == first}
        wanting = self.wanting(near, time)
        own = task.cores_at(time)
        better = [(other, at) for other, at in wanting if self.rank(other) < self.rank(task)]
        barring = [other for other, at in better if (not at or at & own if own else not at)]
        if barring:
            return "barred", {min(barring, key=self.rank).owner}
        cores = sorted(own) if own else range(1, self.scenario["cores"] + 1)
        open_cores = [core for core in cores if all(core not in at for _, at in better)]
        if len(open_cores) < (len(own) or task.width):
            return "barred", {min((other for other, _ in better), key=self.rank).owner}
        lacking = [core for core in open_cores if not self.has_free_slot(task, near, core, time, end)]
        return "slot", self.in_the_way(task, near, lacking[0], time, end) if lacking else set()

    def holders_of(self, near, core, time):
        """Returns (since when, task) of each slot of the core that is held."""
        held = [(other.slot_at(time), other) for other in near]
        return [(slot[0], other) for slot, other in held if slot and core in slot[1]]

    def has_free_slot(self, task, near, core, time, end):
        holders = [other for _, other in self.holders_of(near, core, time)]
        taken = [other for other in holders
                 if other.gap_segment(time) is None or self.is_closed(other, task, time, end)]
        return len(taken) < self.slots

    def in_the_way(self, task, near, core, time, end):
        """Returns who is to blame for the core's slots: of the holders not in a gap those who have held for
        longest; if all are in gaps, the holders whose gap is not open to the task."""
        holders = self.holders_of(near, core, time)
        if len(holders) < self.slots:
            return set()
        active = [(since, other) for since, other in holders if other.gap_segment(time) is None]
        if active:
            first = min(since for since, _ in active)
            return {other.owner for since, other in active if since == first}
        return {other.owner for _, other in holders if self.is_closed(other, task, time, end)}

    def is_closed(self, holder, task, begin, end):
        """Whether the holder's gap is closed to the task. An open gap lets a task for one core in, so the end
        decides; a task for several cores waits on for the others, so the beginning decides."""
        time = begin if task.width > 1 else end
        env = self.scenario.get("env", {})
        if self.scenario.get("policy") == "fifo":
            return True
        per_ms = 1000 * 1000 // self.unit
        segment = holder.gap_segment(begin if task.width > 1 else time - 1)
        bpu = task.bpu_time()
        left = segment.estimate
        if segment.start is not None and segment.start < time:
            left = max(0, left - (time - segment.start))
        number = holder.segments.index(segment)
        following = next(s.estimate for s in holder.segments[number:] if not s.cpu)
        if (bpu - left) * 100 < env.get("HB_DNN_BPU_SCHEDULE_THRESHOLD", 10) * following:
            return False
        if bpu < env.get("HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME", 1000) * per_ms:
            return False
        return segment.estimate <= env.get("HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME", 20) * per_ms

    def queue_parts(self, task, begin, end, parts):
        near = self.around(begin, end, task)
        moments = {begin, end}
        for other in near:
            times = [other.arrival, other.dispatched, other.end, other.overdue]
            times += [at for slot in other.slots for at in slot[:2]]
            times += [at for segment in other.segments if segment.cpu
                      for at in (segment.wait, segment.start, segment.end)]
            times += [at for wait in other.ready for at in wait]
            times += [at for job in other.jobs.values() for at in (job["arrival"], job["end"])]
            moments.update(at for at in times if at is not None and begin < at < end)
        moments = sorted(moments)
        for at, until in zip(moments, moments[1:]):
            cause, by = self.why_queued(task, near, at, until)
            parts.append((cause, frozenset(by), (until - at) * self.unit))

    # The device.

    def idle_parts(self, core, begin, end, idle, own, parts):
        """Adds time in which the core runs no FC: the core may be held for a group; if this group is `own`, the time is
        `idle`."""
        moments = {begin, end}
        for arrival, left, _, _ in self.holders[core]:
            moments.update(at for at in (arrival, left) if begin < at < end)
        moments = sorted(moments)
        for at, until in zip(moments, moments[1:]):
            first = next((holder for holder in self.holders[core] if holder[1] > at), None)
            time = (until - at) * self.unit
            if first is None or first[0] > at or first[3] == own:
                parts.append((idle, frozenset(), time))
            else:
                parts.append(("held", frozenset({first[2]}), time))

    def core_parts(self, core, begin, end, parts, idle="host", own=None):
        """Adds the FCs that the core ran from `begin` to `end`."""
        lane = self.lanes[core]
        at = max(0, bisect.bisect_right(self.starts.get(core, []), begin) - 1)
        time = begin
        while at < len(lane) and lane[at]["start"] < end:
            fc = lane[at]
            at += 1
            since, until = max(begin, fc["start"]), min(end, fc["end"])
            if until <= since:
                continue
            self.idle_parts(core, time, since, idle, own, parts)
            parts.append(("behind_" + fc["ring"], frozenset({self.owner_of_job[fc["job"]]}),
                          (until - since) * self.unit))
            time = until
        if time < end:
            self.idle_parts(core, time, end, idle, own, parts)

    def fc_parts(self, core, begin, fcs, parts, idle="host", own=None):
        """Adds FCs on one core, which may run from `begin` on; returns the end of the last one."""
        time = begin
        for fc in fcs:
            self.core_parts(core, time, fc["start"], parts, idle, own)
            parts.append(("running", frozenset(), (fc["end"] - fc["start"]) * self.unit))
            time, idle, own = fc["end"], "host", None
        return time

    def group_parts(self, job, name, parts):
        """Adds the critical part of each stage, the one in which an FC ended last."""
        fcs = self.own_fcs[name]
        time = job["arrival"]
        between = {"idle": "stages", "own": name}
        for stage in sorted({fc["stage"] for fc in fcs}):
            of_stage = [fc for fc in fcs if fc["stage"] == stage]
            core = max(of_stage, key=lambda fc: (fc["end"], fc["core"]))["core"]
            time = self.fc_parts(core, time, [fc for fc in of_stage if fc["core"] == core], parts,
                                 **(between if stage else {"own": name}))
        planned = [sum(map(len, part["stages"])) for part in self.planned_parts(name)]
        waiting = [part["core"] for number, part in enumerate(job["parts"])
                   if len([fc for fc in fcs if fc["part"] == number]) < planned[number]]
        if waiting:
            self.core_parts(waiting[0], time, job["end"], parts, **between)

    def job_parts(self, job, name, parts):
        if len(job.get("parts", [])) > 1:
            self.group_parts(job, name, parts)
            return
        time = self.fc_parts(job["core"], job["arrival"], self.own_fcs[name], parts)
        self.core_parts(job["core"], time, job["end"], parts)

    def parts(self, task):
        """Returns a list of (cause, owners each of whom may be to blame, ns), many for each cause."""
        parts = []
        if not self.is_task:
            self.job_parts(task.jobs[0], task.name, parts)
            return parts
        if task.priority < HIGH:
            self.queue_parts(task, task.arrival, task.end if task.dispatched is None else task.dispatched,
                             parts)
        for begin, end in task.ready:
            self.queue_parts(task, begin, end, parts)
        parts.append(("worker", frozenset(), task.worker * self.unit))
        bpu = task.bpu()
        for number, segment in enumerate(task.segments):
            if segment.cpu and segment.start is not None:
                gap = bpu and bpu[0] < number < bpu[-1]
                parts.append(("gap" if gap else "cpu", frozenset(),
                              (segment.end - segment.start) * self.unit))
        for number, job in task.jobs.items():
            self.job_parts(job, f"{task.name}.{number}", parts)
        return parts


def differences(run, blamed):
    """Returns the errors of an entry of "blame"."""
    task = run.tasks[blamed["id"]]
    found = []
    latency = (task.end - task.arrival) * run.unit
    if blamed["latency_ns"] != latency or blamed["arrival_ns"] != task.arrival * run.unit:
        found.append(f"latency {blamed['latency_ns']}, but it took {latency}")
    if sum(part["ns"] for part in blamed["parts"]) != latency:
        found.append(f"the parts make {sum(part['ns'] for part in blamed['parts'])} of {latency}")
    at_least = collections.Counter()
    at_most = collections.Counter()
    causes = collections.Counter()
    for cause, by, ns in run.parts(task):
        causes[cause] += ns
        if len(by) == 1:
            at_least[cause, next(iter(by))] += ns
        for owner in by:
            at_most[cause, owner] += ns
    said = collections.Counter()
    for part in blamed["parts"]:
        said[part["cause"]] += part["ns"]
        if part["cause"] not in BLAMED:
            continue
        key = part["cause"], (part["by"], part["process" if run.is_task else "context"])
        if not at_least[key] <= part["ns"] <= at_most[key]:
            found.append(f"{key}: {part['ns']}, not {at_least[key]} to {at_most[key]}")
        at_least.pop(key, None)
    found += [f"{key}: nothing, not {ns}" for key, ns in at_least.items() if ns]
    found += [f"{cause}: {said[cause]}, not {causes[cause]}"
              for cause in set(said) | set(causes) if said[cause] != causes[cause]]
    return found
