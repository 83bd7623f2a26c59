// SPDX-License-Identifier: MIT
#include "board_task.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "model_spec.hpp"
#include "overtake/custom_operator.hpp"
#include "programs.hpp"
#include "requests/request.hpp"

namespace overtake::test {

namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t tags_of_a_process = std::uint64_t{1} << 32;

struct Waiting : CustomOperator {
    explicit Waiting(CpuKey key_) : key(key_) {}
    void compute(std::span<const std::span<const float>>, std::span<float>) override {
        ModelledWork::only().take_place(key);
    }
    const CpuKey key;
};

struct Sleeping : CustomOperator {
    explicit Sleeping(std::int64_t us) : time(us) {}
    void compute(std::span<const std::span<const float>>, std::span<float>) override {
        std::this_thread::sleep_for(time);
    }
    const std::chrono::microseconds time;
};

void register_operators() {
    static const bool once = [] {
        const auto numbers = [](const OperatorDescription& node) {
            return node.find("numbers")->integers;
        };
        register_custom_operator("test", "Waiting", [=](const OperatorDescription& node) {
            const std::vector<std::int64_t> of = numbers(node);
            return std::make_unique<Waiting>(
                CpuKey{static_cast<std::uint64_t>(of[0]), static_cast<std::uint64_t>(of[1])});
        });
        register_custom_operator("test", "Sleeping", [=](const OperatorDescription& node) {
            return std::make_unique<Sleeping>(numbers(node)[2]);
        });
        return true;
    }();
    static_cast<void>(once);
}

/// Makes a model of segments first..last - 1 of a task.
std::vector<std::byte> model_of(const ScenarioTask& task, std::size_t number, std::size_t first,
                                std::size_t last, CpuTime cpu_time) {
    ModelSpec spec;
    spec.name = task.id + "." + std::to_string(first);
    const auto add_tensor = [&] {
        TensorSpec tensor = device_tensor("t" + std::to_string(spec.tensors.size()), 1, 1, 1, 1, 0);
        tensor.data_type = 2;
        spec.tensors.push_back(tensor);
    };
    add_tensor();
    for (std::size_t i = first; i < last; i++) {
        const auto in = static_cast<std::uint32_t>(spec.tensors.size() - 1);
        add_tensor();
        SegmentSpec segment;
        if (task.segments[i].is_bpu()) {
            segment.bpu = true;
            for (const std::uint64_t us : task.segments[i].bpu) {
                const auto at = static_cast<std::uint32_t>(spec.program.size());
                segment.fcs.emplace_back(at, 1, us * ns_per_us);
                spec.program.push_back(delay_insn(us * ns_per_us));
            }
            segment.bindings = {fbs::Binding(OVERTAKE_REGION_IO, in, false),
                                fbs::Binding(OVERTAKE_REGION_IO + 1, in + 1, true)};
        } else {
            segment.cpu = true;
            segment.expected_ns = task.segments[i].estimated_cpu() * ns_per_us;
            CpuOpSpec op;
            op.type = 20;
            op.inputs = {in};
            op.outputs = {in + 1};
            op.domain = "test";
            op.custom_type = cpu_time == CpuTime::modelled ? "Waiting" : "Sleeping";
            op.numbers = {static_cast<std::int64_t>(number), static_cast<std::int64_t>(i),
                          static_cast<std::int64_t>(task.segments[i].cpu)};
            segment.ops = {op};
        }
        spec.segments.push_back(segment);
    }
    spec.inputs = {0};
    spec.outputs = {static_cast<std::uint32_t>(spec.tensors.size() - 1)};
    if (spec.program.empty())
        spec.program = {delay_insn(1)};
    return build(spec);
}

} // namespace

LoadedSegments load_segments(const ScenarioTask& task, std::size_t number, std::size_t first,
                             std::size_t last, CpuTime cpu_time) {
    const std::vector<std::byte> bytes = model_of(task, number, first, last, cpu_time);
    const void* data = bytes.data();
    auto length = static_cast<std::int32_t>(bytes.size());
    hbPackedDNNHandle_t pack;
    require_ok(hbDNNInitializeFromDDR(&pack, &data, &length, 1), "hbDNNInitializeFromDDR");
    const char** names;
    std::int32_t count;
    require_ok(hbDNNGetModelNameList(&names, &count, pack), "hbDNNGetModelNameList");
    LoadedSegments of;
    require_ok(hbDNNGetModelHandle(&of.model, pack, names[0]), "hbDNNGetModelHandle");
    require_ok(hbDNNGetInputTensorProperties(&of.input.properties, of.model, 0), "properties");
    require_ok(hbDNNGetOutputTensorProperties(&of.output.properties, of.model, 0), "properties");
    require_ok(hbSysAllocMem(&of.input.sysMem[0], 64), "hbSysAllocMem");
    require_ok(hbSysAllocMem(&of.output.sysMem[0], 64), "hbSysAllocMem");
    return of;
}

void infer(hbDNNTaskHandle_t* handle, LoadedSegments& of, const ScenarioTask& task, bool more) {
    hbDNNInferCtrlParam control;
    HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
    control.bpuCoreId = static_cast<std::int32_t>(task.core);
    control.priority = static_cast<std::int32_t>(task.priority);
    control.customId = task.custom_id;
    control.more = more ? 1 : 0;
    hbDNNTensor* outputs = &of.output;
    require_ok(hbDNNInfer(handle, &outputs, &of.input, of.model, &control), "hbDNNInfer");
}

void require_ok(std::int32_t status, const char* what) {
    if (status != 0)
        throw Error(EPROTO, std::string(what) + ": " + hbDNNGetErrorDesc(status));
}

/// Returns the number of workers of process `number`.  Processes have numbers in the order in which
/// they appear.
static std::size_t workers_of(const TaskScenario& scenario, std::uint64_t number) {
    std::set<std::string> seen;
    for (const ScenarioTask& task : scenario.tasks)
        if (seen.insert(task.process).second && seen.size() == number + 1) {
            const auto own = scenario.workers.find(task.process);
            return own == scenario.workers.end() ? scenario.max_threads : own->second;
        }
    return scenario.max_threads;
}

std::unique_ptr<Engine> scenario_engine(const std::shared_ptr<Device>& device,
                                        const TaskScenario& scenario, std::uint64_t number,
                                        CpuTime cpu_time) {
    const auto at_most_32_bits = [](std::size_t count) {
        return static_cast<std::uint32_t>(std::min<std::size_t>(count, UINT32_MAX));
    };
    register_operators();
    EngineOptions options;
    options.policy = scenario.policy;
    options.slots = at_most_32_bits(scenario.slots);
    options.task_limit = at_most_32_bits(scenario.max_tasks);
    constexpr std::size_t most_workers = 1024; // of service mode
    options.workers = at_most_32_bits(std::min(workers_of(scenario, number), most_workers));
    options.threshold_percent = at_most_32_bits(scenario.threshold_percent);
    options.insert_max_time_ns = scenario.insert_max_time_ms * ns_per_ms;
    options.wait_dispatch_time_ns = scenario.wait_dispatch_time_ms * ns_per_ms;
    options.max_priority = priority_high;
    const engine::ThreadOptions threads{.worker_cpus = {},
                                        .first_tag = number * tags_of_a_process,
                                        .stepped = cpu_time == CpuTime::modelled,
                                        .service = scenario.service_mode};
    return std::make_unique<Engine>(std::make_shared<Engine::State>(device, options, threads));
}

hbDNNTaskHandle_t submit_task(const TaskScenario& scenario, std::size_t number, CpuTime cpu_time) {
    const ScenarioTask& task = scenario.tasks[number];
    const std::size_t count = task.segments.size();
    const std::size_t border = count > 1 && number % 2 == 1 ? 1 + number / 2 % (count - 1) : 0;
    hbDNNTaskHandle_t handle = nullptr;
    if (border != 0) {
        LoadedSegments front = load_segments(task, number, 0, border, cpu_time);
        infer(&handle, front, task, true);
    }
    LoadedSegments rest = load_segments(task, number, border, count, cpu_time);
    infer(&handle, rest, task, false);
    return handle;
}

} // namespace overtake::test
