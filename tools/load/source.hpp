// SPDX-License-Identifier: MIT
//
// Source: gives a client of a load its inferences: from a session, or from an engine, which queues
// them by priority before they reach the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "overtake/engine.hpp"
#include "overtake/session.hpp"

namespace overtake::load {

/// The memory of one inference, which may run again and again. One thread at a time.
class Inference {
public:
    virtual ~Inference() = default;
    /// Throws Error as Task::start() and Request::submit() do.
    virtual void start(const TaskOptions& options) = 0;
    /// Returns 0 or a negative errno; -EINPROGRESS while the inference runs.
    virtual std::int32_t status() const = 0;
    /// Returns the results of its jobs.
    virtual std::vector<Completion> completions() const = 0;
    /// Returns the time at which the inference ended, CLOCK_MONOTONIC, on a device whose time is
    /// that clock.
    virtual std::uint64_t ended_ns() const = 0;
};

/// Waits for the first end among inferences of one source.  One thread at a time.
class FirstEnd {
public:
    virtual ~FirstEnd() = default;
    /// Waits until one of `running` has ended, or until deadline_ns (absolute CLOCK_MONOTONIC).
    /// None of them has ended before the call.
    virtual void wait(std::span<Inference* const> running, std::int64_t deadline_ns) = 0;
};

/// A source is as thread safe as its session or engine.
class Source {
public:
    virtual ~Source() = default;
    virtual const Model& model() const = 0;
    /// Returns the same as Session::given_back_bytes().
    virtual std::size_t given_back_bytes() const { return 0; }
    virtual std::unique_ptr<Inference> make() = 0;
    virtual std::unique_ptr<FirstEnd> first_end() = 0;
    /// Returns whether the model alone decides on which processor its last part runs, without a
    /// coordinator.
    virtual bool has_one_place() const { return true; }
};

std::unique_ptr<Source> session_source(Session session);
/// Makes a source whose session lives as long as the source.
std::unique_ptr<Source> session_source_of(Session& session);
/// Makes a source of an engine.  Tensors that the device can use in place are in device memory,
/// others in arrays.
std::unique_ptr<Source> engine_source(std::shared_ptr<Device> device,
                                      std::shared_ptr<Engine> engine,
                                      std::shared_ptr<LoadedModel> model);

} // namespace overtake::load
