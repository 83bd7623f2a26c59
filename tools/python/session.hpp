// SPDX-License-Identifier: MIT
//
// Session and Task: requests for one model on their own engine.
//
// Thread safety: the caller holds the GIL, which guards all fields; functions release the GIL while
// they wait. No thread of the engine ever takes it.
// Memory: arrays are used from submit() to the end of the request. When a running Task is dropped,
// its arrays go to the session, which keeps them until the request ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "notifier.hpp"
#include "overtake/engine.hpp"

namespace overtake::python {

/// The state that a session and its tasks share.
class SessionState {
public:
    /// Called without the GIL. `times`: a file of overtake profile; empty: none.
    SessionState(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
                 const EngineOptions& options, const std::string& times);
    ~SessionState();
    SessionState(const SessionState&) = delete;
    SessionState& operator=(const SessionState&) = delete;

    const std::shared_ptr<const Model>& model() const { return model_; }
    /// Throws Error EINVAL once the session is closed.
    std::shared_ptr<Engine> engine() const;
    const std::shared_ptr<LoadedModel>& loaded() const { return loaded_; }
    std::size_t given_back_bytes() const { return loaded_ ? loaded_->given_back_bytes() : 0; }
    /// Keeps the arrays of a request whose Task is gone.
    void keep(std::shared_ptr<Request> request, std::vector<pybind11::array> arrays);
    /// Releases arrays that are no longer used.
    void collect();
    /// Cancels running requests and waits for their ends.
    void close();

private:
    struct Kept {
        std::shared_ptr<Request> request;
        std::vector<pybind11::array> arrays;
    };

    /// At record level 2, the part that the loaded model keeps.
    std::shared_ptr<const Model> model_;
    std::shared_ptr<Engine> engine_; ///< null once the session is closed
    std::shared_ptr<LoadedModel> loaded_;
    std::vector<Kept> kept_;
};

class Task {
public:
    /// Submits the request.
    Task(std::shared_ptr<SessionState> session, const pybind11::dict& inputs,
         const TaskOptions& options, const std::shared_ptr<Notifier>& notifier,
         std::uint64_t token);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    bool is_done() const { return request_->status() != -EINPROGRESS; }
    /// Waits for `timeout` seconds; none = without end. Returns true if the request has ended.
    bool wait(std::optional<double> timeout) const;
    void cancel();
    /// Throws TimeoutError, or the error with which the request failed.
    pybind11::dict result(std::optional<double> timeout) const;
    const Request& request() const { return *request_; }

private:
    std::vector<TensorMemory> lend_inputs(const pybind11::dict& inputs);
    std::vector<TensorMemory> make_outputs();

    std::shared_ptr<SessionState> session_;
    std::shared_ptr<Request> request_;
    std::vector<pybind11::array> inputs_;
    std::vector<pybind11::array> outputs_;
};

} // namespace overtake::python
