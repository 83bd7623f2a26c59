// SPDX-License-Identifier: MIT
#include "run_engine.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "job_failure.hpp"

namespace overtake::command {

namespace {

TensorMemory memory_at(const float* data) {
    TensorMemory memory;
    // The memory of an input is only read.
    memory.data = reinterpret_cast<std::byte*>(const_cast<float*>(data));
    return memory;
}

std::string why_task_failed(const Request& request) {
    for (const SegmentRecord& segment : request.segments())
        if (segment.on_bpu && segment.job.status != 0)
            return why_job_failed(segment.job);
    return std::strerror(-request.status());
}

} // namespace

EngineRun::EngineRun(const std::shared_ptr<Device>& device, std::shared_ptr<const Model> model,
                     const TaskOptions& task, const EngineOptions& options,
                     const ProcessorArguments& processors)
    : model_(std::move(model)), task_(task), engine_(device, options),
      loaded_(load_models(engine_, {&model_, 1}, processors).front()) {}

void EngineRun::submit(const std::vector<std::span<const float>>& sample) {
    Running& running = running_.emplace_back();
    std::vector<TensorMemory> inputs;
    std::vector<TensorMemory> outputs;
    for (const std::span<const float> input : sample)
        inputs.push_back(memory_at(input.data()));
    for (const std::uint32_t number : model_->outputs())
        outputs.push_back(
            memory_at(running.outputs.emplace_back(model_->tensors()[number].elements()).data()));
    running.request = engine_.create_request();
    running.request->add(loaded_, inputs, outputs);
    running.request->submit(task_);
}

void EngineRun::collect(const std::function<void(std::size_t, std::span<const float>)>& take) {
    const Running running = std::move(running_.front());
    running_.pop_front();
    running.request->wait();
    if (running.request->status() == -ETIME && task_.slo_ns != 0)
        throw Error(ETIME,
                    "a sample was dropped at its deadline: give --slo more time, or leave out "
                    "--drop");
    if (const std::int32_t status = running.request->status(); status != 0)
        throw Error(-status, running.request->error().empty()
                                 ? "the task failed: " + why_task_failed(*running.request)
                                 : running.request->error());
    for (std::size_t output = 0; output < running.outputs.size(); output++)
        take(output, running.outputs[output]);
}

} // namespace overtake::command
