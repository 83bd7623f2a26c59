// SPDX-License-Identifier: MIT
//
// Access of scenario tests to the parts of a kernel device beside its node: core limits and
// settings of service mode through sysfs, and executed FCs from the driver's tracepoints.  Needs
// root.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/service.hpp"

namespace overtake::test {

/// Sets the limits of cores 1, 2, ... while the object lives; the destructor restores the former
/// ones.
/// Throws std::system_error.
class CoreLimits {
public:
    CoreLimits(const std::string& node, const std::vector<unsigned>& limits);
    ~CoreLimits();
    CoreLimits(const CoreLimits&) = delete;
    CoreLimits& operator=(const CoreLimits&) = delete;

private:
    std::filesystem::path attribute(std::size_t core_index) const;

    std::filesystem::path device_;
    std::vector<unsigned> before_;
};

/// Sets the settings of service mode while the object lives; the destructor restores the former
/// ones.  Throws std::system_error.
class ServiceNumbers {
public:
    ServiceNumbers(const std::string& node, const ServiceSettings& settings,
                   const std::string& policy);
    ~ServiceNumbers();
    ServiceNumbers(const ServiceNumbers&) = delete;
    ServiceNumbers& operator=(const ServiceNumbers&) = delete;

private:
    void set(const std::string& name, const std::string& value);

    std::filesystem::path directory_;
    std::vector<std::pair<std::string, std::string>> before_;
};

/// Whether the module was loaded with fair=1, for its first device.  Throws std::system_error.
bool device_is_fair();

/// Records fc_done events of this process, or of all processes, in a tracefs instance of its own,
/// while the object lives.
class FcTrace {
public:
    enum class Whose { this_process, all };

    explicit FcTrace(Whose whose = Whose::this_process);
    ~FcTrace();
    FcTrace(const FcTrace&) = delete;
    FcTrace& operator=(const FcTrace&) = delete;

    /// Returns the records since the last call.  Throws std::runtime_error if the buffer lost any.
    std::vector<FcRecord> take();

private:
    const Whose whose_;
    std::filesystem::path instance_;
};

} // namespace overtake::test
