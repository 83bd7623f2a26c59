// SPDX-License-Identifier: MIT
//
// Files of sysfs and procfs, and where they have the driver's devices.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace overtake::sysfs {

constexpr const char* driver_name = "overtake";

/// Returns the file's first line; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// Returns the whole decimal number on the file's first line; nothing if the line is anything else
/// or cannot be read.
std::optional<double> number_in(const std::filesystem::path& path);

/// Returns N of "accelN", "coreN" or "overtake.N"; nothing for other names.
std::optional<unsigned> number_behind(const std::string& prefix, const std::string& name);

/// Returns the entries of a directory whose names are the prefix and a number, ordered by number.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& directory,
                                            const std::string& prefix);

/// Returns a device's value of a module parameter that is a list with a value for each device. The
/// last value also holds for all later devices.
std::string module_parameter(const std::filesystem::path& sys, const char* name, unsigned device);

/// A device of the driver.
struct Device {
    std::string node;                ///< "accelM", also below /dev/accel
    unsigned number = 0;             ///< N of overtake.N
    std::filesystem::path directory; ///< the directory of its attributes
};

/// Returns the device behind accelerator "accelM"; nothing if another driver has it.
std::optional<Device> device_of(const std::filesystem::path& sys, const std::string& node);

/// Returns all devices of the driver, in the order of their nodes.
std::vector<Device> devices(const std::filesystem::path& sys);

} // namespace overtake::sysfs
