// SPDX-License-Identifier: MIT
#include "dnn/task.hpp"

#include <cerrno>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "job_failure.hpp"
#include "monotonic_clock.hpp"

namespace overtake::dnn {

namespace {

std::vector<TensorMemory> memory_of(std::span<const BoundTensor> tensors) {
    std::vector<TensorMemory> memory;
    for (const BoundTensor& tensor : tensors)
        memory.push_back(tensor.memory);
    return memory;
}

} // namespace

DnnTask::~DnnTask() {
    forget_networks();
}

void DnnTask::forget_networks() {
    for (const std::shared_ptr<Network>& network : networks_)
        network->tasks--;
    networks_.clear();
}

void DnnTask::check_open(std::size_t more) const {
    const std::lock_guard lock(mutex_);
    if (submitted_)
        throw Failure(HB_DNN_INVALID_TASK_HANDLE, "the task has been submitted already");
    if (more > models_of_a_task - models_)
        throw Failure(HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT,
                      fmt::format("a task has at most {} models, this one has {} and {} are added",
                                  models_of_a_task, models_, more));
}

bool DnnTask::is_open() const {
    const std::lock_guard lock(mutex_);
    return !submitted_;
}

void DnnTask::add_all(const std::shared_ptr<Network>& network,
                      const std::vector<std::vector<BoundTensor>>& inputs,
                      const std::vector<std::vector<BoundTensor>>& outputs) {
    check_open(inputs.size());
    const std::lock_guard lock(mutex_);
    std::vector<InferenceMemory> memory;
    std::vector<std::vector<TensorMemory>> in, out;
    for (std::size_t i = 0; i < inputs.size(); i++) {
        in.push_back(memory_of(inputs[i]));
        out.push_back(memory_of(outputs[i]));
    }
    for (std::size_t i = 0; i < inputs.size(); i++)
        memory.push_back({in[i], out[i]});
    networks_.reserve(networks_.size() + 1);        // so that push_back() cannot fail
    for (const auto* batches : {&inputs, &outputs}) // the request keeps the memory of its tensors
        for (const std::vector<BoundTensor>& tensors : *batches)
            for (const BoundTensor& tensor : tensors) {
                request_->keep(tensor.keep);
                if (tensor.keep_chroma)
                    request_->keep(tensor.keep_chroma);
            }
    request_->add_all(network->loaded, memory);
    networks_.push_back(network);
    network->tasks++;
    models_ += inputs.size();
}

void DnnTask::add(std::function<std::int32_t()> compute, std::shared_ptr<void> keep) {
    check_open(1);
    const std::lock_guard lock(mutex_);
    request_->keep(std::move(keep));
    request_->add(std::move(compute));
    models_++;
}

void DnnTask::submit(const TaskOptions& options) {
    check_open(0);
    const std::lock_guard lock(mutex_);
    submitted_ns_ = monotonic_ns();
    if (callback_)
        call_at_end(request_, callback_); // set first, as this can be undone
    try {
        request_->submit(options);
    } catch (...) {
        if (callback_)
            request_->on_end(nullptr);
        throw;
    }
    submitted_ = true;
    callback_ = nullptr;
}

void DnnTask::call_at_end(const std::shared_ptr<Request>& request,
                          std::function<void(std::int32_t)> callback) {
    // The callback does not keep the request, which keeps the callback.
    request->on_end([callback = std::move(callback), weak = request->weak_from_this()] {
        const std::shared_ptr<Request> ended = weak.lock();
        callback(ended ? ended->status() : -ECANCELED);
    });
}

void DnnTask::set_callback(std::function<void(std::int32_t)> callback) {
    const std::lock_guard lock(mutex_);
    if (submitted_)
        call_at_end(request_, std::move(callback));
    else
        callback_ = std::move(callback);
}

void DnnTask::leave() {
    std::function<void(std::int32_t)> callback;
    {
        const std::lock_guard lock(mutex_);
        forget_networks();
        request_->cancel();
        callback = std::exchange(callback_, nullptr);
    }
    if (!callback)
        return;
    // The task was never submitted, but its callback is called all the same.
    try {
        const std::shared_ptr<Request> nothing = engine_->create_request();
        nothing->add([] { return -ECANCELED; });
        call_at_end(nothing, callback);
        nothing->submit({.priority = priority_high - 1});
    } catch (const std::exception&) { // no memory: this thread calls back
        callback(-ECANCELED);
    }
}

void DnnTask::tell(Profile& profile) {
    const std::lock_guard lock(mutex_);
    if (was_told_ || !submitted_ || request_->status() != 0)
        return;
    was_told_ = true;
    TaskTimes times{{}, submitted_ns_, request_->dispatched_ns(), request_->ended_ns(), 0, 0};
    for (const std::shared_ptr<Network>& network : networks_)
        times.models += (times.models.empty() ? "" : "+") + network->name;
    if (networks_.empty())
        times.models = "resize";
    for (const SegmentRecord& segment : request_->segments())
        (segment.on_bpu ? times.bpu : times.cpu) +=
            segment.on_bpu ? segment.job.executed_ns : segment.end_ns - segment.start_ns;
    profile.add(times);
}

std::string why_it_failed(const Request& request) {
    if (std::string error = request.error(); !error.empty())
        return error;
    const std::int32_t status = request.status();
    if (status == -ECANCELED)
        return "the task was cancelled";
    if (status == -ENODEV)
        return device_is_gone(Error(ENODEV, "the device is gone")).what();
    for (const SegmentRecord& segment : request.segments())
        if (segment.on_bpu && segment.job.status != 0)
            return "the task failed: " + why_job_failed(segment.job);
    return fmt::format("the task failed with errno {}", -status);
}

} // namespace overtake::dnn
