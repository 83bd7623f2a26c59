// SPDX-License-Identifier: MIT
//
// Simulation: a scenario that was run, as numpy arrays.
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "module.hpp"
#include "simulator/bundled.hpp"
#include "simulator/recorder.hpp"
#include "simulator/settings.hpp"
#include "simulator/simulate.hpp"
#include "source.hpp"

namespace py = pybind11;

namespace overtake::python {

// Rows of the arrays. Times are in the scenario's unit, -1 for a moment that never came. The rows
// have no padding, which would stay uninitialised: Python sees all bytes.
struct FcRow {
    std::int64_t job = 0;
    std::uint32_t index = 0;
    std::uint16_t core = 0;
    bool high = false;
    std::uint8_t unused = 0;
    std::int64_t start = 0, end = 0;
};
struct JobRow {
    std::int64_t task = 0;
    std::uint32_t segment = 0, core = 0;
    std::int64_t arrival = 0, start = 0, end = 0;
    std::uint32_t preemptions = 0;
    bool cancelled = false;
    std::array<std::uint8_t, 3> unused{};
};
struct CpuRow {
    std::int64_t task = 0;
    std::uint32_t segment = 0, unused = 0;
    std::int64_t start = 0, end = 0;
};
struct TaskRow {
    std::uint32_t task_class = 0, core = 0;
    std::int64_t arrival = 0, dispatched = 0, end = 0;
    bool cancelled = false;
    std::array<std::uint8_t, 7> unused{};
};
struct PreemptionRow {
    std::int64_t job = 0;
    std::uint32_t core = 0, unused = 0;
    std::int64_t time = 0;
};
template <class... Rows>
constexpr bool are_without_holes = (std::has_unique_object_representations_v<Rows> && ...);
static_assert(are_without_holes<FcRow, JobRow, CpuRow, TaskRow, PreemptionRow>);

namespace {

/// The arrays of a run. Only their elements may change, through Python.
struct Simulation {
    bool is_task_level;
    std::vector<FcRow> fcs;
    std::vector<JobRow> jobs;
    std::vector<CpuRow> cpu;
    std::vector<TaskRow> tasks;
    std::vector<PreemptionRow> preemptions;
    std::vector<std::string> ids;     ///< ids of the tasks
    std::vector<std::string> classes; ///< names of the classes
    std::string summary;              ///< JSON
};

std::int64_t signed_time(std::uint64_t us) {
    if (us > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        throw Error(ERANGE, "a time of 2^63 us does not fit an array");
    return static_cast<std::int64_t>(us);
}

std::int64_t time_or_never(const std::optional<std::uint64_t>& us) {
    return us ? signed_time(*us) : -1;
}

std::int64_t signed_index(std::size_t index) {
    return static_cast<std::int64_t>(index);
}

void copy_fcs(const simulator::Recorder& recorder, std::vector<FcRow>& rows) {
    for (const auto& fc : recorder.fcs()) {
        FcRow& row = rows.emplace_back();
        row.job = signed_index(fc.job);
        row.index = fc.index;
        row.core = static_cast<std::uint16_t>(fc.core);
        row.high = fc.high;
        row.start = signed_time(fc.start);
        row.end = signed_time(fc.end);
    }
}

void copy_jobs(const simulator::Recorder& recorder, std::vector<JobRow>& rows) {
    for (const auto& job : recorder.jobs()) {
        JobRow& row = rows.emplace_back();
        row.task = signed_index(job.task);
        row.segment = job.segment;
        row.core = job.core;
        row.arrival = signed_time(job.arrival);
        row.start = time_or_never(job.start);
        row.end = signed_time(job.end);
        row.preemptions = job.preemptions;
        row.cancelled = job.cancelled;
    }
}

void copy_cpu(const simulator::Recorder& recorder, std::vector<CpuRow>& rows) {
    for (const auto& cpu : recorder.cpu()) {
        CpuRow& row = rows.emplace_back();
        row.task = signed_index(cpu.task);
        row.segment = cpu.segment;
        row.start = signed_time(cpu.start);
        row.end = signed_time(cpu.end);
    }
}

void copy_tasks(const simulator::Recorder& recorder, std::vector<TaskRow>& rows) {
    for (const auto& task : recorder.tasks()) {
        TaskRow& row = rows.emplace_back();
        row.task_class = task.task_class;
        row.core = task.core;
        row.arrival = signed_time(task.arrival);
        row.dispatched = time_or_never(task.dispatched);
        row.end = signed_time(task.end);
        row.cancelled = task.cancelled;
    }
}

void copy_preemptions(const simulator::Recorder& recorder, std::vector<PreemptionRow>& rows) {
    for (const auto& preemption : recorder.preemptions()) {
        PreemptionRow& row = rows.emplace_back();
        row.job = signed_index(preemption.job);
        row.core = preemption.core;
        row.time = signed_time(preemption.time);
    }
}

std::shared_ptr<Simulation> run(const Source& source, const simulator::Trim& trim) {
    const auto scenario = simulator::parse_scenario(source.document, source.directory);
    simulator::Recorder recorder(scenario);
    simulator::Accounts accounts(scenario, simulator::window_of(scenario, scenario.seed, trim));
    const std::array<simulator::Observer*, 2> observers = {&recorder, &accounts};
    simulator::Simulator(scenario, scenario.seed, observers).run();
    recorder.sort();
    auto result = std::make_shared<Simulation>();
    result->is_task_level = scenario.kind == simulator::Kind::task;
    copy_fcs(recorder, result->fcs);
    copy_jobs(recorder, result->jobs);
    copy_cpu(recorder, result->cpu);
    copy_tasks(recorder, result->tasks);
    copy_preemptions(recorder, result->preemptions);
    for (const auto& task : recorder.tasks())
        result->ids.push_back(task.id);
    for (const simulator::TaskClass& of : scenario.classes)
        result->classes.push_back(of.name);
    result->summary = simulator::to_json(simulator::summarise(scenario, accounts))
                          .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return result;
}

/// Returns an array on the rows themselves, which keeps the simulation alive.
template <class Row>
auto array_of(std::vector<Row> Simulation::*rows) {
    return [rows](const std::shared_ptr<Simulation>& simulation) {
        std::vector<Row>& of = (*simulation).*rows;
        return py::array_t<Row>(static_cast<py::ssize_t>(of.size()), of.data(),
                                py::cast(simulation));
    };
}

void bind_source(py::module_& module) {
    py::class_<Source>(module, "Source")
        .def(py::init([](const std::string& text, const std::filesystem::path& directory,
                         const std::string& name) {
                 Source source{{}, directory, name};
                 source.document = source.named([&] { return simulator::parse_json(text); });
                 return source;
             }),
             py::arg("text"), py::arg("directory"), py::arg("name"))
        .def_static(
            "read",
            [](const std::string& name) {
                const std::filesystem::path path = simulator::find_scenario(name);
                return Source{simulator::read_json(path), path.parent_path(), path.string()};
            })
        .def("set",
             [](Source& source, const std::string& key, const std::string& value) {
                 source.named([&] {
                     simulator::apply_setting(source.document, {key, simulator::parse_json(value)});
                 });
             })
        .def_property_readonly("text", [](const Source& source) { return source.document.dump(); })
        .def_readonly("directory", &Source::directory)
        .def_readonly("name", &Source::name);
}

} // namespace

void bind_simulate(py::module_& module) {
    PYBIND11_NUMPY_DTYPE(FcRow, job, index, core, high, start, end);
    PYBIND11_NUMPY_DTYPE(JobRow, task, segment, core, arrival, start, end, preemptions, cancelled);
    PYBIND11_NUMPY_DTYPE(CpuRow, task, segment, start, end);
    PYBIND11_NUMPY_DTYPE_EX(TaskRow, task_class, "class", core, "core", arrival, "arrival",
                            dispatched, "dispatched", end, "end", cancelled, "cancelled");
    PYBIND11_NUMPY_DTYPE(PreemptionRow, job, core, time);
    bind_source(module);
    py::class_<Simulation, std::shared_ptr<Simulation>>(module, "Simulation")
        .def_readonly("is_task_level", &Simulation::is_task_level)
        .def_property_readonly("fcs", array_of(&Simulation::fcs))
        .def_property_readonly("jobs", array_of(&Simulation::jobs))
        .def_property_readonly("cpu", array_of(&Simulation::cpu))
        .def_property_readonly("tasks", array_of(&Simulation::tasks))
        .def_property_readonly("preemptions", array_of(&Simulation::preemptions))
        .def_readonly("ids", &Simulation::ids)
        .def_readonly("classes", &Simulation::classes)
        .def_readonly("summary", &Simulation::summary);
    module.def("bundled_scenarios", &simulator::bundled_scenarios);
    module.def("simulate", [](const Source& source, std::uint64_t warm_up, std::uint64_t drain) {
        const py::gil_scoped_release released;
        return source.named([&] { return run(source, {warm_up, drain}); });
    });
}

} // namespace overtake::python
