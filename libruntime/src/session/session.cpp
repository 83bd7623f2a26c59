// SPDX-License-Identifier: MIT
#include <cerrno>

#include <fmt/format.h>

#include "session/state.hpp"

namespace overtake {

Session::State::State(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
                      const SessionOptions& options)
    : plan(plan_once(device, model, PlanParts::segments,
                     checked_cpu_options(options.cpu_layout, options.cpu_threads),
                     keeps_at_record_level(options.record))),
      cpu(plan), queue(*device,
                       device->create_queue({.max_priority = options.max_priority,
                                             .core_limit = options.core_limit}),
                       options.record) {}

bool Session::State::progress(std::int64_t deadline_ns) {
    const auto go_on = [](Task::State& task, const Completion& completion) {
        task.job_ended(completion);
    };
    return queue.reap(deadline_ns, go_on) != 0;
}

Session::Session(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
                 const SessionOptions& options) {
    state_ = make_shared_where_made<State>(std::move(device), std::move(model), options);
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session::State& Session::state() const {
    if (!state_)
        throw Error(EINVAL, "session: it is empty, since it was moved from");
    state_->origin.require("session");
    return *state_;
}

const Model& Session::model() const {
    return state().plan->model();
}

std::size_t Session::given_back_bytes() const {
    return state().plan->given_back_bytes();
}

Task Session::create_task() {
    state();
    return Task(std::make_unique<Task::State>(state_));
}

Task Session::submit(std::span<const std::span<const float>> inputs, const TaskOptions& options) {
    if (inputs.size() != model().inputs().size())
        throw Error(EINVAL, fmt::format("{}: {} inputs given, but it has {}", model().name(),
                                        inputs.size(), model().inputs().size()));
    Task task = create_task();
    for (std::size_t i = 0; i < inputs.size(); i++)
        task.set_input(i, inputs[i]);
    task.start(options);
    return task;
}

Task Session::submit(std::span<const float> input, const TaskOptions& options) {
    return submit(std::span(&input, 1), options);
}

bool Session::wait_any(std::int64_t deadline_ns) {
    State& session = state();
    const std::uint64_t before = session.ended;
    while (session.ended == before)
        if (!session.progress(deadline_ns))
            return false;
    return true;
}

} // namespace overtake
