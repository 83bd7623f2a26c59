// SPDX-License-Identifier: MIT
//
// The compiled part of the interfaces: their destructors, and with them one vtable and one type
// description for all users of the library.
#include <cerrno>

#include "overtake/device.hpp"
#include "overtake/error.hpp"
#include "overtake/event_source.hpp"
#include "overtake/service.hpp"

namespace overtake {

Error::~Error() = default;
Buffer::~Buffer() = default;
Queue::~Queue() = default;
ManualClock::~ManualClock() = default;
Device::~Device() = default;
ServiceQueue::~ServiceQueue() = default;
EventSource::~EventSource() = default;

std::unique_ptr<ServiceQueue> Device::create_service_queue(const ServiceQueueOptions&) {
    throw Error(ENOTSUP, std::string("service mode: this device (") + std::string(backend()) +
                             ") is not shared with other processes: use a device server "
                             "(overtake serve), or a kernel device");
}

std::unique_ptr<EventSource> Device::events(const EventOptions&) {
    throw Error(ENOTSUP, std::string("events: this device (") + std::string(backend()) +
                             ") tells them through the driver's tracepoints: see overtake trace");
}

std::vector<drm_overtake_core_profile> Device::core_profiles() const {
    const drm_overtake_device_info device = info();
    drm_overtake_core_profile core{};
    core.clock_khz = device.clock_khz;
    core.macs_per_cycle = device.macs_per_cycle;
    core.bytes_per_cycle = device.bytes_per_cycle;
    core.insn_overhead_cycles = device.insn_overhead_cycles;
    core.fc_overhead_cycles = device.fc_overhead_cycles;
    core.watchdog_cycles = device.watchdog_cycles;
    return {device.core_count, core};
}

bool Device::takes_groups() const noexcept {
    return true;
}

bool Device::records() const noexcept {
    return true;
}

std::uint32_t Queue::record(const Job&, unsigned) {
    throw Error(ENOTSUP, "queue: it records no jobs: submit() them");
}

void Queue::replay(std::span<const Replay>) {
    throw Error(ENOTSUP, "queue: it records no jobs: submit() them");
}

void Queue::forget(std::uint32_t) {
    throw Error(ENOTSUP, "queue: it records no jobs: submit() them");
}

} // namespace overtake
