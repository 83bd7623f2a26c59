// SPDX-License-Identifier: MIT
//
// What a scenario needs of a kernel device beside its node: core limits by sysfs, executed FCs
// from the driver's tracepoints.  For root.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "overtake/device.hpp"
#include "overtake/service.hpp"

namespace overtake::test {

/// Sets the limit of every core while it lives, then what they were.  Throws std::system_error.
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

/// Settings of service mode while it lives.  Throws std::system_error.
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

/// Records fc_done of this process, or of all, in a tracefs instance of its own while it lives.
class FcTrace {
public:
    enum class Whose { this_process, all };

    explicit FcTrace(Whose whose = Whose::this_process);
    ~FcTrace();
    FcTrace(const FcTrace&) = delete;
    FcTrace& operator=(const FcTrace&) = delete;

    /// All since the last call.  Throws std::runtime_error if the buffer lost any.
    std::vector<FcRecord> take();

private:
    const Whose whose_;
    std::filesystem::path instance_;
};

} // namespace overtake::test
