// SPDX-License-Identifier: MIT
//
// overtake.trace: the events of a device, one by one.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <pybind11/stl.h>

#include "module.hpp"
#include "observe/watch/kernel_source.hpp"
#include "observe/watch/line.hpp"
#include "observe/watch/watching.hpp"
#include "overtake/device.hpp"
#include "overtake/event_source.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t events_at_a_time = 4096;
/// A reader that polls costs the device less than a reader that the device must wake.
constexpr std::chrono::milliseconds nap{10};

py::object value_of(const nlohmann::ordered_json& value) {
    if (value.is_boolean())
        return py::bool_(value.get<bool>());
    if (value.is_string())
        return py::str(value.get<std::string>());
    if (value.is_number_unsigned())
        return py::int_(value.get<std::uint64_t>());
    return py::int_(value.get<std::int64_t>());
}

py::dict dict_of(const Event& event) {
    py::dict dict;
    const nlohmann::ordered_json json = watch::to_json(event);
    for (const auto& [name, value] : json.items())
        dict[py::str(name)] = value_of(value);
    return dict;
}

watch::Watched watched(std::shared_ptr<Device> device) {
    watch::Watched watched;
    const std::string_view backend = device->backend();
    if (backend == "ioctl" || backend == "io_uring")
        watched.events = watch::open_kernel_events({.wanted = true});
    else
        watched.events = device->events({});
    watched.device = std::move(device);
    return watched;
}

/// All functions may be called from any thread.
class Trace {
public:
    Trace(watch::Watched watched, std::optional<double> seconds)
        : watched_(std::move(watched)), events_(events_at_a_time) {
        if (seconds)
            end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(*seconds));
    }

    py::dict next() {
        if (!is_here())
            throw Error(ENOTSUP, "trace: opened before fork(), and only the process that opened it "
                                 "can read it: open another one in the child");
        for (;;) {
            std::optional<Event> event;
            bool is_over = false;
            {
                const py::gil_scoped_release released;
                const std::lock_guard lock(mutex_);
                is_over = closed_ || (end_ && Clock::now() >= *end_);
                event = look();
                if (!event && !is_over)
                    std::this_thread::sleep_for(nap);
            }
            if (event)
                return dict_of(*event);
            if (is_over)
                throw py::stop_iteration();
            if (PyErr_CheckSignals() != 0)
                throw py::error_already_set();
        }
    }

    std::uint64_t lost() {
        if (!is_here())
            return 0;
        const py::gil_scoped_release released;
        const std::lock_guard lock(mutex_);
        return watched_.events ? watched_.events->lost() : lost_;
    }

    void close() {
        if (!is_here())
            return;
        closed_ = true;
        const py::gil_scoped_release released;
        const std::lock_guard lock(mutex_);
        if (watched_.events)
            lost_ = watched_.events->lost();
        waiting_.clear();
        watched_ = {};
    }

private:
    /// Returns false in a child of fork(), where a thread of the parent may hold the lock for ever.
    bool is_here() const { return getpid() == owner_; }

    /// Returns the oldest event that was not returned yet.
    std::optional<Event> look() {
        if (waiting_.empty() && watched_.events) {
            const std::size_t count = watched_.events->read(events_, 0);
            waiting_.insert(waiting_.end(), events_.begin(),
                            events_.begin() + static_cast<std::ptrdiff_t>(count));
        }
        if (waiting_.empty())
            return std::nullopt;
        const Event event = waiting_.front();
        waiting_.pop_front();
        return event;
    }

    const pid_t owner_ = getpid();
    std::mutex mutex_;
    watch::Watched watched_;
    std::vector<Event> events_;
    std::deque<Event> waiting_;
    std::optional<Clock::time_point> end_;
    std::atomic<bool> closed_ = false;
    std::uint64_t lost_ = 0; ///< set by close()
};

std::unique_ptr<Trace> open_by_name(const std::string& name, std::optional<double> seconds) {
    const py::gil_scoped_release released;
    return std::make_unique<Trace>(watch::watch_device(name, {.wanted = true}), seconds);
}

std::unique_ptr<Trace> open_of_device(std::shared_ptr<Device> device,
                                      std::optional<double> seconds) {
    const py::gil_scoped_release released;
    return std::make_unique<Trace>(watched(std::move(device)), seconds);
}

} // namespace

void bind_trace(py::module_& module) {
    py::class_<Trace>(module, "TraceSource")
        .def("next", &Trace::next)
        .def("close", &Trace::close)
        .def_property_readonly("lost", &Trace::lost);
    module.def("open_trace", &open_by_name, py::arg("name"), py::arg("seconds"));
    module.def("open_trace", &open_of_device, py::arg("device"), py::arg("seconds"));
}

} // namespace overtake::python
