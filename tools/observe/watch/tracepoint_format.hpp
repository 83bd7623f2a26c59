// SPDX-License-Identifier: MIT
//
// TracepointFormat: the places of the fields in a tracepoint's record, from tracefs.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <span>
#include <string>

#include "overtake/event.hpp"

namespace overtake::watch {

class TracepointFormat {
public:
    /// `text` is the text of a file "format". Throws Error EPROTO for a field beyond the record's
    /// `most` bytes.
    TracepointFormat(std::istream& text, std::size_t most);

    bool has(const std::string& field) const { return fields_.contains(field); }
    /// Returns the value of a field; 0 without the field, or if its size is not 1, 2, 4 or 8 bytes.
    std::uint64_t value(std::span<const std::byte> record, const std::string& field) const;

private:
    struct Place {
        std::size_t offset;
        std::size_t bytes;
    };
    std::map<std::string, Place> fields_;
};

/// Returns the event that a record of the driver describes.
Event event_of(EventType type, const TracepointFormat& format, std::span<const std::byte> record);

} // namespace overtake::watch
