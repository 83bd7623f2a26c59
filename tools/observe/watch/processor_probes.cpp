// SPDX-License-Identifier: MIT
#include "observe/watch/processor_probes.hpp"

#include <cstring>

#include "overtake/device.hpp"
#include "printable.hpp"

namespace overtake::watch {

namespace {

using Arguments = std::array<std::uint64_t, most_probe_arguments>;

std::uint32_t u32(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

std::int32_t status_of(std::uint64_t value) {
    return static_cast<std::int32_t>(value);
}

std::string name_in(std::uint64_t first, std::uint64_t rest) {
    std::array<char, sizeof(first) + sizeof(rest) + 1> text{};
    std::memcpy(text.data(), &first, sizeof(first));
    std::memcpy(text.data() + sizeof(first), &rest, sizeof(rest));
    return printable(text.data());
}

bool describe_processor(const Arguments& arguments, ProcessorEvent& event) {
    event.engine = arguments[0];
    event.processor = u32(arguments[2]);
    event.name = name_in(arguments[3], arguments[4]);
    event.workers = u32(arguments[5]);
    event.ratio = arguments[7];
    event.unfinished = u32(arguments[8]);
    event.runs = arguments[9];
    event.busy_ns = arguments[10];
    event.retries = u32(arguments[11]);
    if (event.workers > most_workers || arguments[6] >= processor_state_count || event.name.empty())
        return false;
    event.state = static_cast<ProcessorState>(arguments[6]);
    return true;
}

bool describe_run(const Arguments& arguments, ProcessorEvent& event) {
    event.run = u32(arguments[3]);
    event.processor = u32(arguments[4]);
    event.units = arguments[5];
    if (event.type == ProcessorEventType::run_dispatch) {
        event.able = arguments[6];
        event.expected_ns = arguments[7];
        event.job = arguments[8]; // 0 with an older library
    } else {
        event.start_ns = arguments[6];
        event.end_ns = arguments[7];
        event.executed_ns = arguments[8];
        event.status = status_of(arguments[9]);
    }
    return event.units != 0;
}

bool describe(const Arguments& arguments, ProcessorEvent& event) {
    if (event.type == ProcessorEventType::processor)
        return describe_processor(arguments, event);
    event.task = arguments[0];
    event.engine = arguments[2];
    switch (event.type) {
    case ProcessorEventType::request_arrive:
        event.model = arguments[3];
        event.priority = u32(arguments[4]);
        event.custom_id = static_cast<std::int64_t>(arguments[5]);
        return event.priority <= priority_high;
    case ProcessorEventType::run_dispatch:
    case ProcessorEventType::run_end:
        return describe_run(arguments, event);
    case ProcessorEventType::request_end:
        event.status = status_of(arguments[3]);
        event.retries = u32(arguments[4]);
        return true;
    default:
        return true;
    }
}

} // namespace

std::optional<ProcessorEvent> processor_event_of(const ProbeHit& hit) {
    if (hit.probe < first_processor_probe)
        return std::nullopt;
    ProcessorEvent event;
    event.type = static_cast<ProcessorEventType>(static_cast<std::size_t>(hit.probe) -
                                                 static_cast<std::size_t>(first_processor_probe));
    event.pid = hit.pid;
    event.time_ns = hit.arguments[1];
    if (!describe(hit.arguments, event) || event.processor >= most_processors)
        return std::nullopt;
    return event;
}

} // namespace overtake::watch
