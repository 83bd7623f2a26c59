// SPDX-License-Identifier: MIT
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include <pybind11/stl.h>

#include "module.hpp"
#include "overtake/core_profiles.hpp"
#include "overtake/device.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

constexpr std::array mode_names = {"functional", "timed", "both"};

unsigned mode_of(const std::string& name) {
    for (unsigned mode = 0; mode < mode_names.size(); mode++)
        if (name == mode_names[mode])
            return mode;
    throw Error(EINVAL, "mode '" + name + "': not functional, timed or both");
}

/// Returns the options of EmbeddedOptions that Python has, by name.
EmbeddedOptions embedded_options(const py::dict& given) {
    EmbeddedOptions options;
    for (const auto& [key, value] : given) {
        const auto name = key.cast<std::string>();
        if (name == "cores")
            options.cores = value.cast<unsigned>();
        else if (name == "mode")
            options.mode = mode_of(value.cast<std::string>());
        else if (name == "profile")
            options.profile = value.cast<std::string>();
        else if (name == "profiles")
            options.profiles = value.cast<std::vector<std::string>>();
        else if (name == "core_limit")
            options.core_limit = value.cast<unsigned>();
        else if (name == "core_limits")
            options.core_limits = value.cast<std::vector<unsigned>>();
        else if (name == "normal_floor")
            options.normal_floor = value.cast<unsigned>();
        else if (name == "fair")
            options.fair = value.cast<bool>();
        else if (name == "simd")
            options.simd = value.cast<bool>();
        else if (name == "watchdog_cycles")
            options.watchdog_cycles = value.cast<std::uint64_t>();
        else if (name == "fc_clock_ns")
            options.fc_clock_ns = value.cast<std::uint64_t>();
        else if (name == "stop_grace_ns")
            options.stop_grace_ns = value.cast<std::uint64_t>();
        else if (name == "queue_timeout_ns")
            options.queue_timeout_ns = value.cast<std::uint64_t>();
        else
            throw py::type_error("open_device() has no option '" + name + "'");
    }
    return options;
}

py::dict info_of(const Device& device) {
    const drm_overtake_device_info info = device.info();
    py::dict dict;
    dict["isa_version"] = info.isa_version;
    dict["core_count"] = info.core_count;
    dict["mode"] = info.mode < mode_names.size() ? mode_names[info.mode] : "?";
    dict["manual_clock"] = info.manual_clock != 0;
    dict["clock_khz"] = info.clock_khz;
    dict["macs_per_cycle"] = info.macs_per_cycle;
    dict["bytes_per_cycle"] = info.bytes_per_cycle;
    dict["insn_overhead_cycles"] = info.insn_overhead_cycles;
    dict["fc_overhead_cycles"] = info.fc_overhead_cycles;
    dict["ring_entries"] = info.ring_entries;
    dict["watchdog_cycles"] = info.watchdog_cycles;
    dict["queue_timeout_ns"] = info.queue_timeout_ns;
    dict["device_time_ns"] = info.device_time_ns;
    return dict;
}

py::list cores_of(const Device& device) {
    py::list list;
    for (const drm_overtake_core_info& core : device.cores()) {
        py::dict dict;
        dict["core"] = core.core;
        dict["core_limit"] = core.core_limit;
        dict["busy_ns"] = core.busy_ns;
        dict["fcs_high"] = core.fcs_high;
        dict["fcs_normal"] = core.fcs_normal;
        dict["preemptions"] = core.preemptions;
        dict["faults"] = core.faults;
        dict["resets"] = core.resets;
        list.append(dict);
    }
    return list;
}

py::list core_profiles_of(const Device& device) {
    py::list list;
    for (const drm_overtake_core_profile& core : device.core_profiles()) {
        py::dict dict;
        dict["name"] = std::string(name_of(core));
        dict["clock_khz"] = core.clock_khz;
        dict["macs_per_cycle"] = core.macs_per_cycle;
        dict["vector_per_cycle"] = core.vector_per_cycle;
        dict["bytes_per_cycle"] = core.bytes_per_cycle;
        dict["insn_overhead_cycles"] = core.insn_overhead_cycles;
        dict["fc_overhead_cycles"] = core.fc_overhead_cycles;
        dict["watchdog_cycles"] = core.watchdog_cycles;
        dict["without"] = core.without;
        list.append(dict);
    }
    return list;
}

} // namespace

void bind_device(py::module_& module) {
    module.attr("PRIORITY_HIGH") = priority_high;
    py::class_<Device, std::shared_ptr<Device>>(
        module, "Device", "An accelerator; see open_device(). Any thread may use it.")
        .def_property_readonly("backend", &Device::backend,
                               "'embedded', 'server', 'ioctl' or 'io_uring'.")
        .def("info", &info_of,
             "A new dict with cores, mode, cycle model and limits, as struct "
             "drm_overtake_device_info names them; times in nanoseconds.")
        .def("cores", &cores_of,
             "A new list with a dict for each core: limit in force and counters, as struct "
             "drm_overtake_core_info names them. Coarse on a kernel device, unless the process "
             "has CAP_PERFMON.")
        .def("core_profiles", &core_profiles_of,
             "A new list with a dict for each core: its profile's name, its numbers, and the "
             "opcodes that it lacks, bit n for opcode n, as struct drm_overtake_core_profile names "
             "them.")
        .def("__repr__", [](const Device& device) {
            return "<overtake.Device " + std::string(device.backend()) + ">";
        });
    module.def(
        "open_device",
        [](const std::string& name, const py::kwargs& options) {
            const EmbeddedOptions embedded = embedded_options(options);
            const py::gil_scoped_release released;
            return open_device(name, embedded);
        },
        py::arg("name") = "auto");
}

} // namespace overtake::python
