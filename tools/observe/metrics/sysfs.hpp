// SPDX-License-Identifier: MIT
//
// Files of sysfs and procfs, and where the driver's devices are among them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace overtake::sysfs {

constexpr const char* driver_name = "overtake";

/// Empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// A whole number in decimal, alone in its file; nothing if there is no such file.
std::optional<double> number_in(const std::filesystem::path& path);

/// N of "accelN", "coreN" or "overtake.N"; nothing for other names.
std::optional<unsigned> number_behind(const std::string& prefix, const std::string& name);

/// Entries of a directory whose names are the prefix and a number, by number.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& directory,
                                            const std::string& prefix);

/// Of a parameter of the module that is a list with a value for each device; the last one also
/// holds for the devices behind it.
std::string module_parameter(const std::filesystem::path& sys, const char* name, unsigned device);

/// A device of the driver.
struct Device {
    std::string node;                ///< "accelM", also below /dev/accel
    unsigned number = 0;             ///< N of overtake.N
    std::filesystem::path directory; ///< its attributes
};

/// Whether the accelerator "accelM" is the driver's, and if so which.
std::optional<Device> device_of(const std::filesystem::path& sys, const std::string& node);

/// All of them, in the order of their nodes.
std::vector<Device> devices(const std::filesystem::path& sys);

} // namespace overtake::sysfs
