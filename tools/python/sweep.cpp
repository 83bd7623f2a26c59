// SPDX-License-Identifier: MIT
//
// Sweeps: whole, as shards, and joined from shards.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "module.hpp"
#include "simulator/shard_file.hpp"
#include "source.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

using simulator::Point;

/// A sweep that has not run yet.
struct Plan {
    Source source;
    std::optional<simulator::Grid> grid;
    unsigned repeat;
    simulator::Trim trim;
    std::vector<std::string> columns;

    simulator::Experiment experiment(unsigned threads, const simulator::Shard& shard) const {
        simulator::Experiment experiment;
        experiment.document = source.document;
        experiment.directory = source.directory;
        experiment.grid = grid ? &*grid : nullptr;
        experiment.repeat = repeat;
        experiment.shard = shard;
        experiment.trim = trim;
        experiment.threads = threads;
        experiment.columns = columns;
        return experiment;
    }
};

/// The results of a sweep.
struct Points {
    std::vector<Point> points;
};

Points run_whole(const Plan& plan, unsigned threads) {
    const py::gil_scoped_release released;
    return plan.source.named(
        [&] { return Points{simulator::run_experiment(plan.experiment(threads, {}))}; });
}

std::string run_shard(const Plan& plan, unsigned threads, unsigned number, unsigned of) {
    const py::gil_scoped_release released;
    return plan.source.named([&] {
        const simulator::Experiment experiment = plan.experiment(threads, {number, of});
        return simulator::shard_text(experiment, simulator::run_experiment(experiment), {},
                                     OVERTAKE_VERSION);
    });
}

Points merge(const std::vector<std::string>& texts) {
    const py::gil_scoped_release released;
    std::vector<simulator::NamedText> shards;
    for (const std::string& text : texts)
        shards.push_back({"shard " + std::to_string(shards.size() + 1), text});
    return {simulator::merge_shards(shards).points};
}

} // namespace

void bind_sweep(py::module_& module) {
    module.attr("__version__") = OVERTAKE_VERSION;
    py::class_<Plan>(module, "Plan")
        .def(py::init([](const Source& source, const py::object& grid, unsigned repeat,
                         std::uint64_t warm_up, std::uint64_t drain,
                         const std::vector<std::string>& columns) {
                 Plan plan{source, {}, repeat, {warm_up, drain}, columns};
                 const auto text = grid.cast<std::string>();
                 // The grid is a JSON list of keys and values, or the text of --sweep.
                 if (text.starts_with('['))
                     plan.grid = simulator::Grid::from_json(nlohmann::json::parse(text));
                 else if (!text.empty())
                     plan.grid.emplace(text);
                 return plan;
             }),
             py::arg("source"), py::arg("grid"), py::arg("repeat"), py::arg("warm_up"),
             py::arg("drain"), py::arg("columns"))
        .def_property_readonly(
            "grid", [](const Plan& plan) { return plan.grid ? plan.grid->to_json().dump() : ""; })
        .def("__len__", [](const Plan& plan) { return plan.grid ? plan.grid->size() : 1; })
        .def("run", &run_whole, py::arg("threads"))
        .def("run_shard", &run_shard, py::arg("threads"), py::arg("number"), py::arg("of"));
    py::class_<Points>(module, "Points")
        .def("__len__", [](const Points& points) { return points.points.size(); })
        .def("to_text",
             [](const Points& points, const std::vector<std::string>& columns) {
                 return simulator::to_text(points.points, columns);
             })
        .def("to_json", [](const Points& points, const std::vector<std::string>& columns) {
            return simulator::to_json(points.points, columns)
                .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        });
    module.def("merge_shards", &merge);
}

} // namespace overtake::python
