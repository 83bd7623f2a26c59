# SPDX-License-Identifier: MIT
"""Random scenarios of tasks in which much waits: few slots, small limits, short gaps, processes that share."""
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


def scenario(seed):
    draw = random.Random(seed)
    cores = draw.choice([1, 1, 1, 2, 3])
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
    return made
