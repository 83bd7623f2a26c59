// SPDX-License-Identifier: MIT
//
// DnnTask: a task of the C interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "dnn/convert.hpp"
#include "dnn/models.hpp"
#include "dnn/profile.hpp"
#include "overtake/engine.hpp"

namespace overtake::dnn {

constexpr std::size_t task_limit = 32;        // of a process: tasks that are not released
constexpr std::size_t models_of_a_task = 255; // inferences, or batches of regions

/// Thread safe.
class DnnTask {
public:
    explicit DnnTask(std::shared_ptr<Engine> engine)
        : engine_(std::move(engine)), request_(engine_->create_request()) {}
    ~DnnTask();
    DnnTask(const DnnTask&) = delete;
    DnnTask& operator=(const DnnTask&) = delete;

    /// Appends inferences.  Throws Failure or Error, and then the task is unchanged.
    void add_all(const std::shared_ptr<Network>& network,
                 const std::vector<std::vector<BoundTensor>>& inputs,
                 const std::vector<std::vector<BoundTensor>>& outputs);
    /// Appends a computation on the CPU; the task keeps `keep` until its end.
    void add(std::function<std::int32_t()> compute, std::shared_ptr<void> keep);
    /// Submits the task.  Throws Failure HB_DNN_INVALID_TASK_HANDLE if it has been submitted
    /// before.
    void submit(const TaskOptions& options);

    /// Throws Failure HB_DNN_INVALID_TASK_HANDLE if the task has been submitted, or
    /// HB_DNN_TASK_BATCH_SIZE_EXCEED_LIMIT if `more` inferences do not fit.
    void check_open(std::size_t more) const;
    bool is_open() const;
    const std::shared_ptr<Request>& request() const noexcept { return request_; }

    /// Sets the function that is called once with the request's status, after the request has ended
    /// or the task has been given up.
    void set_callback(std::function<void(std::int32_t)> callback);
    /// Cancels the task, and ends its use of models.  Called once.
    void leave();
    /// Adds the task to the profile once, if it has ended well.
    void tell(Profile& profile);

private:
    void call_at_end(const std::shared_ptr<Request>& request,
                     std::function<void(std::int32_t)> callback);
    void forget_networks();

    const std::shared_ptr<Engine> engine_;
    const std::shared_ptr<Request> request_;
    mutable std::mutex mutex_;
    bool submitted_ = false;
    std::function<void(std::int32_t)> callback_; ///< until it is submitted
    std::size_t models_ = 0;
    std::vector<std::shared_ptr<Network>> networks_;
    std::uint64_t submitted_ns_ = 0; ///< CLOCK_MONOTONIC
    bool was_told_ = false;
};

/// Returns the reason of the failure, for the log.
std::string why_it_failed(const Request& request);

} // namespace overtake::dnn
