// SPDX-License-Identifier: MIT
#include "requests/request.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "overtake/settings.hpp"

namespace overtake {

namespace engine {

RunOptions run_options(const TaskOptions& options) {
    RunOptions run;
    run.priority = options.priority;
    run.custom_id = options.custom_id;
    run.core = options.core;
    run.on = options.on;
    run.slo_ns = options.slo_ns;
    run.slo_scale = options.slo_scale;
    if (!(run.slo_scale >= 0))
        throw Error(EINVAL, "request: slo_scale is negative or no number");
    if (options.deadline_ns != 0)
        run.deadline_ns =
            static_cast<std::uint64_t>(std::max<std::int64_t>(options.deadline_ns, 1));
    return run;
}

} // namespace engine

namespace {

engine::SchedulerOptions scheduler_options(const EngineOptions& options,
                                           const engine::ThreadOptions& threads) {
    engine::SchedulerOptions scheduler;
    scheduler.policy = options.policy;
    scheduler.settings = settings_of(options);
    scheduler.max_priority = options.max_priority;
    scheduler.core_limit = options.core_limit;
    scheduler.first_tag = threads.first_tag;
    scheduler.record = options.record;
    return scheduler;
}

std::unique_ptr<engine::TaskEngine> make_engine(const std::shared_ptr<Device>& device,
                                                const EngineOptions& options,
                                                const engine::ThreadOptions& threads) {
    if (options.record == strict_record_level && !options.processors.empty())
        throw Error(EINVAL, refusal_of_level_2("with several processors the policy chooses where "
                                               "each unit of a model runs"));
    if (options.record == strict_record_level && options.service)
        throw Error(EINVAL, refusal_of_level_2("tasks of service mode are the device's, which "
                                               "records none"));
    if (!options.processors.empty())
        return std::make_unique<coordination::CoordinatedEngine>(device, options);
    return std::make_unique<engine::ThreadedEngine>(device, scheduler_options(options, threads),
                                                    threads);
}

[[noreturn]] void refuse_submitted() {
    throw Error(EBUSY, "request: it has been submitted; make another one");
}

} // namespace

// Engine

Engine::State::State(std::shared_ptr<Device> device_, const EngineOptions& options,
                     const engine::ThreadOptions& threads)
    : device(std::move(device_)), engine(make_engine(device, options, threads)),
      cpu(checked_cpu_options(options.cpu_layout, options.cpu_threads)),
      keeps(keeps_at_record_level(options.record)),
      coordinated(dynamic_cast<coordination::CoordinatedEngine*>(engine.get())) {}

Engine::Engine(std::shared_ptr<Device> device, const EngineOptions& options)
    : state_(make_shared_where_made<State>(
          std::move(device), options,
          engine::ThreadOptions{.worker_cpus = options.worker_cpus, .service = options.service})) {}

Engine::Engine(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

Engine::~Engine() {
    if (state_->origin.is_here())
        state_->engine->stop();
}

std::shared_ptr<LoadedModel> Engine::load(std::shared_ptr<const Model> model) {
    state_->origin.require("engine");
    return std::make_shared<LoadedModel>(
        std::make_unique<LoadedModel::State>(*state_, std::move(model)));
}

std::shared_ptr<Request> Engine::create_request() {
    state_->origin.require("engine");
    return std::make_shared<Request>(std::make_unique<Request::State>(state_));
}

const ServiceSettings* Engine::service_settings() const noexcept {
    return state_->engine->service_settings();
}

std::vector<ProcessorState> Engine::processors() const {
    state_->origin.require("engine");
    return state_->coordinated ? state_->coordinated->states() : std::vector<ProcessorState>();
}

// Request

Request::Request(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Request::~Request() {
    if (state_->engine->origin.is_here())
        cancel();
    else // a thread of the parent may hold a lock of the data that it keeps
        (void)state_.release();
}

void Request::add(const std::shared_ptr<LoadedModel>& model, std::span<const TensorMemory> inputs,
                  std::span<const TensorMemory> outputs) {
    const InferenceMemory one{inputs, outputs};
    add_all(model, {&one, 1});
}

void Request::add_all(const std::shared_ptr<LoadedModel>& model,
                      std::span<const InferenceMemory> inferences) {
    state_->require_own_process();
    model->state_->origin.require("loaded model");
    const std::lock_guard lock(state_->mutex);
    if (state_->task)
        refuse_submitted();
    const std::size_t before = state_->segments.size();
    try {
        state_->memory->kept.push_back(model);
        for (const InferenceMemory& inference : inferences)
            model->state_->add_segments(state_->segments, *state_->memory, inference.inputs,
                                        inference.outputs);
    } catch (...) {
        state_->segments.erase(state_->segments.begin() + static_cast<std::ptrdiff_t>(before),
                               state_->segments.end());
        throw;
    }
    if (state_->model == 0) {
        state_->model = model->state_->plan->model_id();
        state_->cores = model->state_->plan->cores();
    }
}

void Request::add(std::function<std::int32_t()> compute, std::uint64_t expected_ns) {
    state_->require_own_process();
    const std::lock_guard lock(state_->mutex);
    if (state_->task)
        refuse_submitted();
    const auto computation = std::make_shared<engine::Computation>(std::move(compute), expected_ns);
    state_->memory->kept.push_back(computation);
    state_->segments.push_back(computation->segment());
}

void Request::keep(std::shared_ptr<void> memory) {
    state_->require_own_process();
    const std::lock_guard lock(state_->mutex);
    if (state_->task)
        refuse_submitted();
    state_->memory->kept.push_back(std::move(memory));
}

void Request::submit(const TaskOptions& options) {
    state_->require_own_process();
    engine::RunOptions wanted = engine::run_options(options);
    std::shared_ptr<engine::SubmittedTask> task;
    std::function<void()> callback;
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->task)
            refuse_submitted();
        if (state_->segments.empty())
            throw Error(EINVAL, "request: there is nothing in it");
        wanted.model = state_->model;
        wanted.cores = state_->cores;
        if (wanted.core == core_any && wanted.cores == 0)
            for (const engine::TaskSegment& segment : state_->segments)
                wanted.width = std::max(wanted.width, segment.group.parts);
        state_->engine->engine->check(wanted);
        task = state_->engine->engine->make_task(state_->segments, wanted, state_->memory);
        state_->memory.reset();
        state_->task = task;
        callback = std::exchange(state_->callback, nullptr);
    }
    if (callback)
        state_->engine->engine->on_end(task, std::move(callback));
    state_->engine->engine->submit_task(std::move(task));
}

bool Request::wait(std::int64_t deadline_ns) {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    if (!task)
        throw Error(EINVAL, "request: it has not been submitted");
    return task->wait(deadline_ns);
}

void Request::cancel() {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    if (task && task->status() == -EINPROGRESS)
        state_->engine->engine->cancel_task(task);
}

void Request::on_end(std::function<void()> callback) {
    state_->require_own_process();
    std::shared_ptr<engine::SubmittedTask> task;
    {
        const std::lock_guard lock(state_->mutex);
        task = state_->task;
        if (!task)
            state_->callback = std::exchange(callback, nullptr);
    }
    if (task)
        state_->engine->engine->on_end(task, std::move(callback));
}

std::int32_t Request::status() const {
    if (!state_->engine->origin.is_here())
        return -ENOTSUP;
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task ? task->status() : -EINVAL;
}

std::string Request::error() const {
    if (!state_->engine->origin.is_here())
        return ForkOrigin::refusal("request");
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task ? task->error() : std::string();
}

std::vector<SegmentRecord> Request::segments() const {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task && task->status() != -EINPROGRESS ? task->segment_records()
                                                  : std::vector<SegmentRecord>();
}

std::vector<RunRecord> Request::runs() const {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task && task->status() != -EINPROGRESS ? task->run_records() : std::vector<RunRecord>();
}

std::uint64_t Request::dispatched_ns() const {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task && task->status() != -EINPROGRESS ? task->dispatched_ns() : 0;
}

std::uint64_t Request::ended_ns() const {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task && task->status() != -EINPROGRESS ? task->ended_ns() : 0;
}

unsigned Request::core() const {
    const std::shared_ptr<engine::SubmittedTask> task = state_->submitted();
    return task && task->status() != -EINPROGRESS ? task->core() : 0;
}

} // namespace overtake
