// SPDX-License-Identifier: MIT
//
// FirmwareHost: the facts that the device reports of itself, and its counters.
#include "embedded/firmware_host.hpp"

namespace overtake {

drm_overtake_device_info FirmwareHost::info() {
    const Lock lock(mutex_);
    const ovt_profile& profile = *config_.profile;
    drm_overtake_device_info info{};
    info.isa_version = OVERTAKE_ISA_VERSION;
    info.core_count = config_.core_count;
    info.mode = options_.mode;
    info.manual_clock = options_.manual_clock;
    info.clock_khz = profile.clock_khz;
    info.macs_per_cycle = profile.macs_per_cycle;
    info.bytes_per_cycle = profile.bytes_per_cycle;
    info.insn_overhead_cycles = profile.insn_overhead_cycles;
    info.fc_overhead_cycles = profile.fc_overhead_cycles;
    info.ring_entries = OVT_RING_ENTRIES;
    info.watchdog_cycles = config_.watchdog_cycles;
    info.queue_timeout_ns = options_.queue_timeout_ns;
    info.device_time_ns = now();
    return info;
}

std::vector<drm_overtake_core_profile> FirmwareHost::core_profiles() const {
    std::vector<drm_overtake_core_profile> shown;
    for (unsigned i = 0; i < config_.core_count; i++)
        shown.push_back(ovt_core_profile(&profiles_[i], silicon_[i].watchdog_cycles));
    return shown;
}

std::uint32_t FirmwareHost::command_slots_reserved() {
    const Lock lock(mutex_);
    return firmware_.commands_reserved;
}

std::vector<drm_overtake_core_info> FirmwareHost::cores() {
    const Lock lock(mutex_);
    std::vector<drm_overtake_core_info> cores(config_.core_count);
    for (unsigned i = 0; i < config_.core_count; i++)
        cores[i] = exact_core(i);
    return cores;
}

std::vector<drm_overtake_core_info> FirmwareHost::coarse_cores() {
    const Lock lock(mutex_);
    roll_coarse_counters();
    std::vector<drm_overtake_core_info> shown = coarse_.shown();
    for (std::size_t i = 0; i < shown.size(); i++)
        shown[i].core_limit = static_cast<u32>(ovt_core_read(&silicon_[i], OVT_REG_LIMIT_ACTIVE));
    return shown;
}

void FirmwareHost::count_fc(EmbeddedClient& client, const ovt_event& event) {
    coarse_.count(client.unshown[event.core - 1], event);
    client.busy[event.core - 1][event.ring] += event.duration_ns;
}

BusyTimes FirmwareHost::busy_of(const EmbeddedClient& client) {
    const Lock lock(mutex_);
    return client.busy;
}

void FirmwareHost::roll_coarse_counters() {
    coarse_.roll(now(), [&](std::size_t index) { return exact_core(index); });
}

drm_overtake_core_info FirmwareHost::exact_core(std::size_t index) {
    ovt_core& silicon = silicon_[index];
    drm_overtake_core_info core{};
    core.core = static_cast<u32>(index + 1);
    core.core_limit = static_cast<u32>(ovt_core_read(&silicon, OVT_REG_LIMIT_ACTIVE));
    core.busy_ns = ovt_core_read(&silicon, OVT_REG_BUSY_NS);
    core.fcs_high = ovt_core_read(&silicon, OVT_REG_HIGH_DONE);
    core.fcs_normal = ovt_core_read(&silicon, OVT_REG_NORMAL_DONE);
    core.preemptions = core_states_[index].preemptions;
    core.faults = core_states_[index].faults;
    core.resets = core_states_[index].resets;
    return core;
}

} // namespace overtake
