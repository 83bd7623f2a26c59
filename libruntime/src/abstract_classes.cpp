// SPDX-License-Identifier: MIT
//
// What of the interfaces is compiled: their destructors, and with them one vtable and one type
// description for everybody.
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

} // namespace overtake
