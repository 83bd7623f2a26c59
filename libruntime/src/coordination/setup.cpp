// SPDX-License-Identifier: MIT
#include "coordination/setup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "coordination/own_registry.hpp"
#include "coordination/times_file.hpp"
#include "kernel/kernel_sharing.hpp"
#include "monotonic_clock.hpp"
#include "overtake/error.hpp"

namespace overtake::coordination {

namespace {

constexpr unsigned most_depth = 8;

[[noreturn]] void refuse(const std::string& what) {
    throw Error(EINVAL, "engine: " + what);
}

std::string names_of_policies() {
    std::string names;
    for (u32 i = 0; const ovt_coord_policy* policy = ovt_coord_policy_at(i); i++)
        names += (names.empty() ? "" : ", ") + std::string(policy->name);
    return names;
}

ovt_coord_settings settings_of(const EngineOptions& options) {
    ovt_coord_settings settings{};
    settings.policy = ovt_coord_policy_find(options.policy.c_str());
    if (!settings.policy)
        refuse(fmt::format("several processors know no policy '{}'; it is one of {}",
                           options.policy, names_of_policies()));
    const auto bounded = [](const char* name, std::uint64_t value, std::uint64_t most) {
        if (value < 1 || value > most)
            refuse(fmt::format("{} is {}, but 1..{} are possible", name, value, most));
    };
    bounded("window", options.window, OVT_COORD_MAX_WINDOW);
    bounded("smoothing_percent", options.smoothing_percent, 100);
    bounded("retry_after_ns", options.retry_after_ns, std::uint64_t{1} << 40);
    settings.window = options.window;
    settings.smoothing = options.smoothing_percent;
    settings.retry_after = options.retry_after_ns;
    switch (options.drop) {
    case Drop::never:
        settings.drop = OVT_COORD_DROP_NEVER;
        break;
    case Drop::late:
        settings.drop = OVT_COORD_DROP_LATE;
        break;
    case Drop::predicted:
        settings.drop = OVT_COORD_DROP_PREDICTED;
        break;
    }
    return settings;
}

/// Measures the bytes per nanosecond between two memories of this process, at least 1.
std::uint64_t measured_rate() {
    constexpr std::size_t bytes = 4u << 20;
    std::vector<char> from(bytes, 1), to(bytes);
    std::memcpy(to.data(), from.data(), bytes); // the first copy makes its pages present
    const std::uint64_t begin = monotonic_ns();
    std::memcpy(to.data(), from.data(), bytes);
    return std::max<std::uint64_t>(bytes / std::max<std::uint64_t>(monotonic_ns() - begin, 1), 1);
}

class Builder {
public:
    Builder(const std::shared_ptr<Device>& device, const EngineOptions& options)
        : options_(options) {
        setup_.domains.push_back({device});
        setup_.has_cores.push_back(false);
    }

    EngineSetup build() && {
        setup_.coordinator.settings = settings_of(options_);
        for (const ProcessorOptions& entry : options_.processors)
            add(entry);
        const std::size_t count = setup_.coordinator.processors.size();
        if (count > OVT_COORD_MAX_PROCESSORS)
            refuse(fmt::format("{} processors, at most {}", count, OVT_COORD_MAX_PROCESSORS));
        if (workers_ > OVT_COORD_MAX_WORKERS)
            refuse(fmt::format("{} workers, at most {}", workers_, OVT_COORD_MAX_WORKERS));
        if (setup_.domains.size() > most_domains)
            refuse(
                fmt::format("{} memories, at most {}: one of the engine's device, and one for each "
                            "other device and each processor of the program's",
                            setup_.domains.size(), most_domains));
        setup_.coordinator.run_timeout_ns = std::min(options_.run_timeout_ns, UINT64_MAX / 2);
        setup_.coordinator.entries = static_cast<std::uint32_t>(options_.processors.size());
        find_sources();
        add_rates();
        return std::move(setup_);
    }

private:
    void add(const ProcessorOptions& entry) {
        if (entry.name.empty())
            refuse("a processor without a name");
        for (const CoordinatedProcessor& known : setup_.coordinator.processors)
            if (known.name == entry.name || known.entry_name == entry.name)
                refuse(fmt::format("two processors named '{}'", entry.name));
        const bool is_plain = entry.workers == 0 && !entry.device && entry.cores.empty();
        std::shared_ptr<OwnProcessor> own = entry.own;
        if (!own && is_plain)
            own = registered_processor(class_name_of(entry));
        if (own && !is_plain)
            refuse(fmt::format("'{}' is a processor of the program's, so it has no workers, no "
                               "device and no cores",
                               entry.name));
        if (own)
            add_own(entry, own);
        else if (entry.workers != 0)
            add_pool(entry);
        else
            add_cores(entry);
        entries_++;
    }

    void add_pool(const ProcessorOptions& entry) {
        if (entry.device || !entry.cores.empty())
            refuse(fmt::format("'{}' has workers, so it has no device and no cores", entry.name));
        workers_ += entry.workers;
        ovt_coord_processor described{};
        described.workers = entry.workers;
        describe(entry, "", nullptr, described);
        setup_.coordinator.processors.push_back({entry.name, entry.name});
        setup_.coordinator.described.push_back(described);
        domain_of_entry_.push_back(home_domain);
    }

    /// Adds a processor with one worker and tensors of its own.
    void add_own(const ProcessorOptions& entry, const std::shared_ptr<OwnProcessor>& own) {
        workers_++;
        ovt_coord_processor described{};
        described.workers = 1;
        describe(entry, "", own, described);
        const auto domain = static_cast<unsigned>(setup_.domains.size());
        setup_.domains.push_back({setup_.domains[home_domain].device});
        setup_.has_cores.push_back(false);
        setup_.coordinator.processors.push_back({entry.name, entry.name, 0, domain});
        setup_.coordinator.described.push_back(described);
        domain_of_entry_.push_back(domain);
    }

    static std::string class_name_of(const ProcessorOptions& entry) {
        return entry.class_name.empty() ? entry.name : entry.class_name;
    }

    void add_cores(const ProcessorOptions& entry) {
        const unsigned domain = domain_of(entry.device);
        Device& device = *setup_.domains[domain].device;
        const std::vector<drm_overtake_core_info> known = device.cores();
        std::vector<unsigned> cores = entry.cores;
        if (cores.empty()) {
            cores.resize(known.size());
            std::iota(cores.begin(), cores.end(), 1u);
        }
        if (entry.depth < 1 || entry.depth > most_depth)
            refuse(fmt::format("'{}' has depth {}, but 1..{} are possible", entry.name, entry.depth,
                               most_depth));
        const std::vector<drm_overtake_core_profile> profiles = device.core_profiles();
        const std::string_view backend = device.backend();
        const std::uint32_t mode = device.info().mode;
        for (const unsigned& core : cores) {
            if (core < 1 || core > known.size())
                refuse(fmt::format("'{}' names core {}, but its device has {}", entry.name, core,
                                   known.size()));
            for (const CoordinatedProcessor& other : setup_.coordinator.processors)
                if (other.core == core && other.domain == domain)
                    refuse(fmt::format("'{}' names core {}, which '{}' has", entry.name, core,
                                       other.name));
            ovt_coord_processor described{};
            described.core_limit = std::max(known[core - 1].core_limit, options_.core_limit);
            described.depth = entry.depth;
            describe(entry, profile_of(profiles[core - 1]), nullptr, described);
            setup_.coordinator.classes[described.class_index].cores = {
                backend == "ioctl" || backend == "io_uring" ? "kernel" : std::string(backend),
                name_of_mode(mode), digest_of(std::as_bytes(std::span(&profiles[core - 1], 1))),
                mode != OVERTAKE_MODE_FUNCTIONAL};
            const std::string name =
                cores.size() == 1 ? entry.name
                                  : fmt::format("{}.{}", entry.name, &core - cores.data() + 1);
            setup_.coordinator.processors.push_back({name, entry.name, core, domain});
            // Other devices need no timeout: a driver has a watchdog, an embedded device is in this
            // process.
            setup_.coordinator.processors.back().has_timeout = device.backend() == "server";
            setup_.coordinator.described.push_back(described);
        }
        setup_.has_cores[domain] = true;
        domain_of_entry_.push_back(domain);
    }

    static const char* name_of_mode(std::uint32_t mode) {
        constexpr std::array names = {"functional", "timed", "both"};
        return mode < names.size() ? names[mode] : "unknown";
    }

    /// Returns the name of a core's profile, or "unknown" if the device does not report one.
    static std::string profile_of(const drm_overtake_core_profile& core) {
        const std::string name(core.name, strnlen(core.name, sizeof(core.name)));
        return name.empty() ? "unknown" : name;
    }

    unsigned domain_of(const std::shared_ptr<Device>& device) {
        if (!device)
            return home_domain;
        const auto known = std::ranges::find(setup_.domains, device, &Domain::device);
        const auto domain = static_cast<unsigned>(known - setup_.domains.begin());
        if (known == setup_.domains.end()) {
            setup_.domains.push_back({device});
            setup_.has_cores.push_back(false);
        }
        return domain;
    }

    void describe(const ProcessorOptions& entry, const std::string& profile,
                  const std::shared_ptr<OwnProcessor>& own, ovt_coord_processor& described) {
        const std::string name = class_name_of(entry);
        std::vector<ProcessorClass>& classes = setup_.coordinator.classes;
        const auto known = std::ranges::find(classes, name, &ProcessorClass::name);
        described.class_index = static_cast<u32>(known - classes.begin());
        if (known == classes.end())
            classes.push_back({name, profile, own});
        else if (known->profile_name != profile || known->own != own)
            refuse(
                fmt::format("class '{}' has processors of unlike kinds or profiles; '{}' needs a "
                            "class of its own, or fewer cores",
                            name, entry.name));
        described.entry = entries_;
        described.overhead = entry.overhead_ns;
    }

    /// Lets domains of devices that can use each other's buffers share tensors.  Domains of the
    /// program's own processors do not share: they have copies.
    void find_sources() {
        const Domains& all = setup_.domains;
        for (unsigned domain = home_domain + 1; domain < all.size(); domain++)
            for (unsigned source = home_domain; source < domain; source++)
                if (setup_.has_cores[domain] &&
                    (source == home_domain || setup_.has_cores[source]) && !all[source].source &&
                    reaches(*all[domain].device, *all[source].device)) {
                    setup_.domains[domain].source = source;
                    break;
                }
    }

    /// Whether `device` can use the buffers of `owner`.  Tries it with one buffer, as there may be
    /// no room.
    static bool reaches(Device& device, Device& owner) {
        try {
            const std::unique_ptr<Buffer> tried = owner.create_buffer(1);
            address_on(device, owner, tried->address(), tried->size());
            return true;
        } catch (const Error&) {
            return false;
        }
    }

    /// Returns the domain whose memory this domain works in.
    unsigned memory_of(unsigned domain) const {
        return setup_.domains[domain].source.value_or(domain);
    }

    /// Within one memory tensors stay where they are; between two they are copied.
    void add_rates() {
        const std::size_t count = options_.processors.size();
        setup_.coordinator.rates.assign(count * count, 0);
        std::uint64_t rate = 0;
        for (std::size_t a = 0; a < count; a++)
            for (std::size_t b = 0; b < count; b++)
                if (memory_of(domain_of_entry_[a]) != memory_of(domain_of_entry_[b])) {
                    rate = rate != 0 ? rate : measured_rate();
                    setup_.coordinator.rates[a * count + b] = rate;
                }
    }

    const EngineOptions& options_;
    EngineSetup setup_;
    std::vector<unsigned> domain_of_entry_;
    std::uint32_t entries_ = 0;
    std::uint64_t workers_ = 0;
};

} // namespace

EngineSetup make_setup(const std::shared_ptr<Device>& device, const EngineOptions& options) {
    return Builder(device, options).build();
}

} // namespace overtake::coordination
