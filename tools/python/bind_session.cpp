// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "module.hpp"
#include "session.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

/// The class of a session in Python; the package's Session is derived from it.
struct Session {
    std::shared_ptr<SessionState> state;
    bool has_processors = false;
};

Drop drop_of(const std::string& name) {
    for (const auto& [known, drop] :
         {std::pair("never", Drop::never), {"late", Drop::late}, {"predicted", Drop::predicted}})
        if (name == known)
            return drop;
    throw Error(EINVAL, fmt::format("session: drop is never, late or predicted, not '{}'", name));
}

CpuLayout cpu_layout_of(const std::string& name) {
    for (const auto& [known, layout] : {std::pair("auto", CpuLayout::automatic),
                                        {"planes", CpuLayout::planes},
                                        {"blocked", CpuLayout::blocked}})
        if (name == known)
            return layout;
    throw Error(EINVAL,
                fmt::format("session: cpu_layout is auto, planes or blocked, not '{}'", name));
}

/// Converts `slo` from seconds to nanoseconds; none = no deadline.
std::uint64_t slo_ns_of(std::optional<double> slo) {
    constexpr double most_s = 1e7;
    if (!slo)
        return 0;
    if (!(*slo > 0 && *slo <= most_s))
        throw Error(EINVAL, fmt::format("session: slo is {} s, but is more than 0 and at most {}",
                                        *slo, most_s));
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(*slo * 1e9), 1);
}

TaskOptions options_of(const Session& session, unsigned priority, std::int64_t custom_id,
                       unsigned core, std::string on, std::optional<double> slo) {
    if (!session.has_processors && (!on.empty() || slo))
        throw Error(EINVAL, "session: on and slo are for several processors: make it with "
                            "processors");
    TaskOptions options{.priority = priority, .custom_id = custom_id, .core = core};
    options.on = std::move(on);
    options.slo_ns = slo_ns_of(slo);
    return options;
}

std::unique_ptr<Session> make_session(const std::shared_ptr<Device>& device,
                                      const std::shared_ptr<Model>& model,
                                      const EngineOptions& options, const std::string& times) {
    const py::gil_scoped_release released;
    return std::make_unique<Session>(
        Session{std::make_shared<SessionState>(device, model, options, times),
                !options.processors.empty()});
}

py::list segments_of(const Task& task) {
    py::list list;
    for (const SegmentRecord& segment : task.request().segments()) {
        py::dict dict;
        dict["on_bpu"] = segment.on_bpu;
        dict["start_ns"] = segment.start_ns;
        dict["end_ns"] = segment.end_ns;
        dict["executed_ns"] = segment.job.executed_ns;
        dict["fcs_done"] = segment.job.fcs_done;
        dict["preemptions"] = segment.job.preemptions;
        list.append(dict);
    }
    return list;
}

void bind_task(py::module_& module) {
    py::class_<Task>(
        module, "Task",
        "A request that was submitted; Session.submit() makes them. Any thread may use it. One "
        "that is dropped before its end is cancelled.")
        .def_property_readonly("done", &Task::is_done, "Whether it has ended, well or not.")
        .def("wait", &Task::wait, py::arg("timeout") = py::none(),
             "Waits for the end, without the GIL, for `timeout` seconds at most (None: without "
             "end). True if it has ended.")
        .def("cancel", &Task::cancel,
             "Parts that have not started never run. Returns at once; the task ends some time "
             "later, and result() then raises Error with code ECANCELED.")
        .def("result", &Task::result, py::arg("timeout") = py::none(),
             "Waits as wait() does, then returns {output: array}: the same arrays at each call, of "
             "the outputs' shapes and dtypes. They own their memory, which the device or a worker "
             "has filled in place, and outlive task, session and device. Raises TimeoutError if "
             "it has not ended, and Error with the errno of what it failed with.")
        .def_property_readonly(
            "status", [](const Task& task) { return task.request().status(); },
            "0, or a negative errno; -EINPROGRESS before its end.")
        .def_property_readonly(
            "core", [](const Task& task) { return task.request().core(); },
            "The core that took its device segments, from 1; 0 before the end, or if none did.")
        .def_property_readonly(
            "dispatched_ns", [](const Task& task) { return task.request().dispatched_ns(); },
            "Device time, in nanoseconds, when it left the queue; 0 before its end.")
        .def_property_readonly(
            "ended_ns", [](const Task& task) { return task.request().ended_ns(); },
            "Device time, in nanoseconds, of its end; 0 before.")
        .def("segments", &segments_of,
             "A new list with a dict for each segment, in order: on_bpu, start_ns, end_ns (device "
             "time), and of those on the device executed_ns, fcs_done and preemptions. Empty "
             "before the end. Conversion of inputs and outputs counts as segments on the CPU.");
}

} // namespace

void bind_session(py::module_& module) {
    py::class_<Notifier, std::shared_ptr<Notifier>>(module, "Notifier")
        .def(py::init<>())
        .def("fileno", &Notifier::descriptor)
        .def("take", &Notifier::take);
    bind_task(module);
    py::class_<Session>(module, "Session")
        .def(py::init([](const std::shared_ptr<Device>& device, const std::shared_ptr<Model>& model,
                         unsigned max_priority, unsigned core_limit, unsigned workers,
                         unsigned slots, unsigned task_limit, bool service,
                         const std::string& processors, const std::string& policy,
                         const std::string& times, const std::string& drop, unsigned record,
                         unsigned cpu_threads, const std::string& cpu_layout) {
                 EngineOptions options;
                 options.drop = drop_of(drop);
                 options.max_priority = max_priority;
                 options.core_limit = core_limit;
                 options.workers = workers;
                 options.slots = slots;
                 options.task_limit = task_limit;
                 options.service = service;
                 options.policy = policy;
                 options.record = record;
                 options.cpu_threads = cpu_threads;
                 options.cpu_layout = cpu_layout_of(cpu_layout);
                 if (!processors.empty())
                     options.processors = parse_processors(processors, device);
                 return make_session(device, model, options, times);
             }),
             py::arg("device").none(false), py::arg("model").none(false), py::kw_only(),
             py::arg("max_priority") = 254, py::arg("core_limit") = 0,
             py::arg("workers") = EngineOptions{}.workers, py::arg("slots") = EngineOptions{}.slots,
             py::arg("task_limit") = EngineOptions{}.task_limit, py::arg("service") = false,
             py::arg("processors") = "", py::arg("policy") = EngineOptions{}.policy,
             py::arg("times") = "", py::arg("drop") = "never", py::arg("record") = 0,
             py::arg("cpu_threads") = 1, py::arg("cpu_layout") = "auto")
        .def_property_readonly("model",
                               [](const Session& session) {
                                   return std::const_pointer_cast<Model>(session.state->model());
                               })
        .def_property_readonly(
            "given_back_bytes",
            [](const Session& session) { return session.state->given_back_bytes(); },
            "At record level 2: bytes of the model's file and tables that an open session does not "
            "keep. They are the system's once the Model is garbage; else 0.")
        .def(
            "_submit",
            [](const Session& session, const py::dict& inputs, unsigned priority,
               std::int64_t custom_id, unsigned core, const std::string& on,
               std::optional<double> slo, const std::shared_ptr<Notifier>& notifier,
               std::uint64_t token) {
                return std::make_unique<Task>(
                    session.state, inputs, options_of(session, priority, custom_id, core, on, slo),
                    notifier, token);
            },
            py::arg("inputs"), py::arg("priority"), py::arg("custom_id"), py::arg("core"),
            py::arg("on") = "", py::arg("slo") = py::none(), py::arg("notifier") = py::none(),
            py::arg("token") = 0)
        .def("close", [](const Session& session) { session.state->close(); });
}

} // namespace overtake::python
