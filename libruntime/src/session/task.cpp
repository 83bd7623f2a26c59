// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "cpu/tensor_layout.hpp"
#include "job_failure.hpp"
#include "job_tag.hpp"
#include "monotonic_clock.hpp"
#include "session/state.hpp"

namespace overtake {

// Life

Task::State::State(std::shared_ptr<Session::State> session_)
    : session(std::move(session_)), workspace(*session->plan), execution(session->plan),
      in_flight(*this) {
    execution.bind(workspace, &session->cpu);
    completions.reserve(plan().segments().size());
}

Task::State::~State() {
    if (!is_running())
        return;
    try {
        cancel();
        while (is_running() && session->progress(deadline_never))
            ;
    } catch (const std::exception&) { // a broken device, or no memory
    }
    if (is_running()) // no end of this task will be collected any more
        session->queue.forget(tag);
}

void Task::State::start(const TaskOptions& wanted) {
    if (is_running())
        throw Error(EBUSY, "task: it is running; wait for its end first");
    options = wanted;
    uses_groups = wanted.core == core_any && plan().width() != 0;
    segment = 0;
    cancelled = false;
    error.clear();
    completions.clear();
    status = -EINPROGRESS;
    ended_ns = 0;
    try {
        run_on();
    } catch (const Error& refused) {
        end(-refused.code());
        error = refused.what();
        throw;
    } catch (const std::bad_alloc&) {
        end(-ENOMEM);
        throw;
    }
}

/// Runs CPU segments up to the next BPU segment, which it submits, or up to the end of the task.
void Task::State::run_on() {
    const std::span<const PlanSegment> segments = plan().segments();
    for (; segment < segments.size() && !cancelled; segment++) {
        if (segments[segment].on_bpu()) {
            submit_segment();
            return;
        }
        execution.compute(segment);
    }
    end(segment < segments.size() ? -ECANCELED : 0);
}

void Task::State::submit_segment() {
    Job job;
    job.tag = next_job_tag();
    job.priority = options.priority;
    job.custom_id = options.custom_id;
    job.deadline_ns = options.deadline_ns;
    job.model = plan().model_id();
    if (uses_groups) {
        session->queue.submit(in_flight, execution, segment, {}, job);
    } else {
        job.core = options.core;
        job.cores = options.core == core_any ? plan().cores() : 0;
        session->queue.submit(in_flight, execution, segment, job);
    }
    tag = job.tag;
}

void Task::State::job_ended(const Completion& completion) {
    completions.push_back(completion);
    if (completion.status != 0) {
        end(completion.status);
        return;
    }
    if (!uses_groups)
        options.core = completion.core;
    segment++;
    try {
        run_on();
    } catch (const Error& refused) {
        end(-refused.code());
        say(refused.what());
    } catch (const std::bad_alloc&) {
        end(-ENOMEM);
    }
}

void Task::State::say(const char* text) noexcept {
    try {
        error = text;
    } catch (const std::bad_alloc&) { // then the error has no text
    }
}

void Task::State::end(std::int32_t how) {
    status = how;
    ended_ns = static_cast<std::int64_t>(monotonic_ns());
    session->ended++;
}

void Task::State::cancel() {
    if (!is_running())
        return;
    cancelled = true;
    session->queue.cancel(tag);
}

// The public face

Task::Task() noexcept = default;
Task::Task(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Task::Task(Task&&) noexcept = default;
Task& Task::operator=(Task&&) noexcept = default;
Task::~Task() {
    if (state_ && !state_->session->origin.is_here())
        (void)state_.release();
}

Task::State& Task::state() const {
    if (!state_)
        throw Error(EINVAL, "task: it is empty; take one from Session::create_task() or submit()");
    state_->session->origin.require("task");
    return *state_;
}

namespace {

std::uint32_t number_at(std::span<const std::uint32_t> numbers, std::size_t index,
                        const char* kind) {
    if (index >= numbers.size())
        throw Error(EINVAL,
                    fmt::format("task: no {} {}, the model has {}", kind, index, numbers.size()));
    return numbers[index];
}

} // namespace

void Task::set_input(std::size_t index, std::span<const float> values) {
    State& task = state();
    const std::uint32_t number = number_at(task.model().inputs(), index, "input");
    const Tensor& tensor = task.model().tensors()[number];
    if (task.is_running())
        throw Error(EBUSY, "task: it is running; wait for its end before setting inputs");
    if (values.size() != tensor.elements())
        throw Error(EINVAL, fmt::format("input {} ({}): {} values, but its shape [{}] has {}",
                                        index, tensor.name, values.size(),
                                        fmt::join(tensor.shape, ", "), tensor.elements()));
    const TensorPlace& place = task.place(number);
    if (tensor.on_device())
        to_device(tensor, values, place.device);
    else
        std::ranges::copy(values, place.host.begin());
}

std::span<std::byte> Task::input_buffer(std::size_t index) {
    const State& task = state();
    const std::uint32_t number = number_at(task.model().inputs(), index, "input");
    const Tensor& tensor = task.model().tensors()[number];
    if (!tensor.on_device())
        throw Error(EINVAL, fmt::format("input {} ({}): not in device memory", index, tensor.name));
    return task.place(number).device;
}

void Task::start(const TaskOptions& options) {
    state().start(options);
}

bool Task::wait(std::int64_t deadline_ns) {
    State& task = state();
    while (task.is_running())
        if (!task.session->progress(deadline_ns))
            return !task.is_running();
    return true;
}

void Task::cancel() {
    state().cancel();
}

std::int32_t Task::status() const noexcept {
    return state_ ? state_->status : -EINVAL;
}

std::int64_t Task::ended_ns() const noexcept {
    return state_ ? state_->ended_ns : 0;
}

std::span<const Completion> Task::completions() const noexcept {
    return state_ ? std::span<const Completion>(state_->completions)
                  : std::span<const Completion>();
}

namespace {

/// Returns the reason why a task has no outputs.
std::string explain(std::int32_t status, const std::string& error,
                    std::span<const Completion> completions) {
    if (!error.empty())
        return error;
    switch (status) {
    case -EINPROGRESS:
        return "it is still running; wait() first";
    case -EINVAL:
        return "it was never started";
    case -ECANCELED:
        return "it was cancelled";
    case -ETIME:
        return limit_remedy(status, OVERTAKE_FAULT_NONE);
    default:
        break;
    }
    if (completions.empty())
        return fmt::format("it failed with errno {}", -status);
    Completion last = completions.back();
    last.status = status;
    return why_job_failed(last);
}

} // namespace

/// Returns the number of the tensor of output `index`.  Throws Error if the model has no such
/// output, or if the task is running, was never started or failed.
std::uint32_t Task::State::output_number(std::size_t index) const {
    const std::uint32_t number = number_at(model().outputs(), index, "output");
    if (status != 0)
        throw Error(-status, "task: " + explain(status, error, completions));
    return number;
}

std::vector<float> Task::output(std::size_t index) const {
    const State& task = state();
    const std::uint32_t number = task.output_number(index);
    const Tensor& tensor = task.model().tensors()[number];
    std::vector<float> values(tensor.elements());
    read_values(tensor, task.place(number), values);
    return values;
}

void Task::output(std::size_t index, std::span<float> to) const {
    const State& task = state();
    const std::uint32_t number = task.output_number(index);
    const Tensor& tensor = task.model().tensors()[number];
    if (to.size() != tensor.elements())
        throw Error(EINVAL, fmt::format("output {} ({}): room for {} values, but its shape [{}] "
                                        "has {}",
                                        index, tensor.name, to.size(),
                                        fmt::join(tensor.shape, ", "), tensor.elements()));
    read_values(tensor, task.place(number), to);
}

std::span<const std::byte> Task::output_buffer(std::size_t index) const {
    const State& task = state();
    const std::uint32_t number = number_at(task.model().outputs(), index, "output");
    const Tensor& tensor = task.model().tensors()[number];
    if (!tensor.on_device())
        throw Error(EINVAL,
                    fmt::format("output {} ({}): not in device memory", index, tensor.name));
    return task.place(number).device;
}

} // namespace overtake
