// SPDX-License-Identifier: MIT
#include "observe/watch/tracepoint_format.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "overtake/error.hpp"

namespace overtake::watch {

namespace {

/// The value of enum ovt_ring_index for HIGH.
constexpr std::uint64_t ring_high = 0;

} // namespace

TracepointFormat::TracepointFormat(std::istream& text, std::size_t most) {
    static const std::regex field(
        R"(\s*field:.*\b(\w+)(?:\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);.*)");
    std::string line;
    std::smatch match;
    while (std::getline(text, line)) {
        if (!std::regex_match(line, match, field))
            continue;
        const Place place{std::stoull(match[2]), std::stoull(match[3])};
        if (place.offset + place.bytes > most)
            throw Error(EPROTO, fmt::format("tracepoint: field {} is behind byte {}: install the "
                                            "overtake command of the driver's version",
                                            match[1].str(), most));
        fields_[match[1]] = place;
    }
}

std::uint64_t TracepointFormat::value(std::span<const std::byte> record,
                                      const std::string& field) const {
    const auto found = fields_.find(field);
    if (found == fields_.end())
        return 0;
    const auto [offset, bytes] = found->second;
    // The value is little-endian, like every machine on which BPF and the driver run here.
    std::uint64_t value = 0;
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
        std::memcpy(&value, record.data() + offset, bytes);
    return value;
}

Event event_of(EventType type, const TracepointFormat& format, std::span<const std::byte> record) {
    const auto u64 = [&](const char* field) { return format.value(record, field); };
    const auto u32 = [&](const char* field) {
        return static_cast<std::uint32_t>(format.value(record, field));
    };
    Event event;
    event.type = type;
    event.time_ns = u64("time_ns");
    event.client = u64("client");
    event.tag = u64("tag");
    event.model = u64("model");
    event.task = u64("task");
    event.custom_id = static_cast<std::int64_t>(u64("custom_id"));
    event.duration_ns = u64("duration_ns");
    event.by_client = u64("by_client");
    event.by_tag = u64(format.has("cores") ? "cores" : "by_tag");
    event.by_context = u32("by_context");
    event.by_pid = u32("by_pid");
    event.context = u32("context");
    event.pid = u32("pid");
    event.fc_index = u32("fc_index");
    event.part = static_cast<std::uint16_t>(u32("part")); // drivers before 1.2 do not have it
    event.stage = u32("stage");
    event.width = static_cast<std::uint16_t>(u32("width"));
    event.fc_count = u32("fc_count");
    event.priority = u32("priority");
    event.executed = u32("executed");
    event.preemptions = u32("preemptions");
    event.fault = u32("fault");
    event.status = format.has("error") ? -static_cast<std::int32_t>(u32("error"))
                                       : static_cast<std::int32_t>(u32("status"));
    event.limit = u32(format.has("task_limit") ? "task_limit" : "limit");
    event.slots = static_cast<std::uint16_t>(std::min(u32("slots"), 0xffffu));
    event.share = u32("share") != 0;
    event.recorded = u32("recorded") != 0; // drivers before 1.3 do not have it
    event.limit_before = u32("limit_before");
    event.segment = u32("segment");
    event.segment_count = u32("segment_count");
    event.device = u32("device");
    event.core =
        static_cast<std::uint16_t>(u32(format.has("placed_core") ? "placed_core" : "core"));
    event.high = format.has("ring") && u64("ring") == ring_high;
    return event;
}

} // namespace overtake::watch
