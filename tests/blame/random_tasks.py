# SPDX-License-Identifier: MIT
"""Random scenarios, of tasks and of jobs, in which most of the work waits: few slots, small limits, short gaps,
processes that share a queue.
"""
import random


def segments(draw):
    shapes = [["b"], ["b"], ["c", "b"], ["b", "c"], ["b", "c", "b"], ["b", "c", "c", "b"], ["c", "b", "c", "b", "c"],
              ["c"], ["b", "b"], ["c", "c", "b", "b", "c", "b"]]
    made = []
    for kind in draw.choice(shapes):
        if kind == "b":
            made.append({"bpu": [draw.randint(1, 9) * 100 for _ in range(draw.randint(1, 4))]})
        else:
            made.append({"cpu": draw.randint(1, 20) * 100})
            if draw.random() < 0.3:
                made[-1]["estimate"] = draw.randint(1, 20) * 100
    return made


def group(draw, width, stages):
    """Parts whose stages have 0 to 2 random FCs; every part and every stage has at least one FC."""
    def durations(most):
        return [draw.randint(1, 9) * 100 for _ in range(draw.randint(0, most))]
    parts = [{"stages": [durations(2) for _ in range(stages)]} for _ in range(width)]
    for part in parts:
        if not any(part["stages"]):
            part["stages"][draw.randrange(stages)].append(300)
    for stage in range(stages):
        if not any(part["stages"][stage] for part in parts):
            draw.choice(parts)["stages"][stage].append(200)
    return parts


def with_groups(made, draw):
    """Makes groups of some BPU segments; the first of a model is the widest: the timeline shows all its cores."""
    made["sync"] = draw.choice([0, 50, 300])
    for model in made["models"].values():
        of = [segment for segment in model["segments"] if "bpu" in segment]
        if not of or draw.random() < 0.4:
            continue
        width = draw.randint(2, made["cores"])
        for segment in [of[0]] + [segment for segment in of[1:] if draw.random() < 0.5]:
            del segment["bpu"]
            segment["parts"] = group(draw, width if segment is of[0] else draw.randint(1, width),
                                     draw.randint(1, 4))
    wide = {name for name, model in made["models"].items()
            if any("parts" in segment for segment in model["segments"])}
    for item in made["tasks"] + made.get("loads", []):
        if "models" in item: # another model may begin with a narrower group
            del item["models"]
            item["model"] = draw.choice(list(made["models"]))
        if item["model"] in wide:
            item["core"] = 0
    return made


def jobs(seed):
    """Groups and other jobs at FC level."""
    draw = random.Random(seed)
    cores = draw.choice([2, 2, 3, 4])
    made = {"version": 1, "kind": "fc", "cores": cores, "sync": draw.choice([0, 50, 300]),
            "core_limit": draw.choice([0, 1, 1, 2]), "fair": draw.random() < 0.2, "jobs": []}
    if draw.random() < 0.3:
        made["normal_floor"] = draw.randint(1, 3)
    span = draw.choice([0, 20, 60, 150])
    for number in range(draw.randint(2, 25)):
        item = {"id": f"{number}", "at": draw.randint(0, span) * 100, "priority": draw.choice([0, 3, 255]),
                "context": draw.choice(["alpha", "beta", ""]), "class": draw.choice(["net", "detector"])}
        if draw.random() < 0.5:
            item["parts"] = group(draw, draw.randint(1, cores), draw.randint(1, 5))
            if draw.random() < 0.5:
                for part, core in zip(item["parts"], draw.sample(range(1, cores + 1), len(item["parts"]))):
                    part["core"] = core
        else:
            item["fcs"] = [draw.randint(1, 9) * 100 for _ in range(draw.randint(1, 4))]
            item["core"] = draw.randint(0, cores)
        made["jobs"].append(item)
    if draw.random() < 0.5:
        made["cancels"] = [{"id": item["id"], "at": item["at"] + draw.randint(0, 80) * 50}
                           for item in draw.sample(made["jobs"], min(4, len(made["jobs"])))]
    return made


def task(draw, processes, models, cores):
    item = {"process": draw.choice(processes), "priority": draw.choice([0, 0, 3, 3, 7, 200, 255]),
            "core": draw.randint(0, cores)}
    if draw.random() < 0.2:
        item["models"] = [draw.choice(models) for _ in range(2)]
    else:
        item["model"] = draw.choice(models)
    if draw.random() < 0.3:
        item["custom_id"] = draw.randint(-2, 2)
    if draw.random() < 0.4:
        item["slo"] = draw.choice([draw.randint(1, 90) * 100, {"isolated": draw.choice([1, 1.5, 3])}])
    return item


def scenario(seed, groups=False):
    draw = random.Random(seed)
    cores = draw.choice([2, 2, 3, 4] if groups else [1, 1, 1, 2, 3])
    processes = ["alpha", "beta", "", "delta"][:draw.randint(1, 4)]
    models = {f"net{i}": {"segments": segments(draw)} for i in range(draw.randint(1, 5))}
    made = {"version": 1, "kind": "task", "cores": cores, "core_limit": draw.choice([0, 1, 1, 2]),
            "service_mode": draw.random() < 0.5, "slots": draw.choice([1, 1, 1, 2]),
            "fair": draw.random() < 0.2, "policy": draw.choice(["priority"] * 3 + ["fifo", "shortest", "deadline"]),
            "env": {"HB_MAX_TASK_NUM": draw.choice([1, 2, 3, 8]), "HB_MAX_THREAD_NUM": draw.choice([1, 1, 2, 4]),
                    "HB_DNN_SCHEDULE_INSERT_FC_MAX_TIME": draw.choice([0, 0, 1]),
                    "HB_DNN_SCHEDULE_WAIT_DISPATCH_TIME": draw.choice([1, 1000]),
                    "HB_DNN_BPU_SCHEDULE_THRESHOLD": draw.choice([0, 10, 100])},
            "models": models, "tasks": []}
    if draw.random() < 0.3:
        made["share"] = True
    if draw.random() < 0.3:
        made["overdue"] = {"min_time": draw.choice([200, 700]), "factor": draw.choice([1, 2])}
    if draw.random() < 0.3:
        made["cpu_jitter"] = 0.5
        made["fc_jitter"] = {"type": "log_normal", "sigma": 0.4}
    span = draw.choice([0, 20, 60, 150])
    for number in range(draw.randint(1, 25)):
        made["tasks"].append({"id": f"{number}", "at": draw.randint(0, span) * 100,
                              **task(draw, processes, list(models), cores)})
    if draw.random() < 0.4:
        made["cancels"] = [{"id": item["id"], "at": item["at"] + draw.randint(0, 80) * 50}
                           for item in draw.sample(made["tasks"], min(3, len(made["tasks"])))]
    if draw.random() < 0.3:
        made["loads"] = [{"id": "load", **task(draw, processes, list(models), cores), "count": draw.randint(3, 15),
                          "arrivals": {"type": "closed_loop", "depth": draw.randint(1, 4)}}]
        made["seed"] = seed
    if draw.random() < 0.15:
        process = made["tasks"][-1]["process"]
        last = max(item["at"] for item in made["tasks"] if item["process"] == process)
        made["deaths"] = [{"process": process, "at": last + draw.randint(0, 40) * 50}]
    return with_groups(made, draw) if groups else made
