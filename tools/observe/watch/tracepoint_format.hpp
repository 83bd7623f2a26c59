// SPDX-License-Identifier: MIT
//
// Where the fields of a tracepoint's record are, as tracefs says.
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
    /// The text of a file "format".  Throws Error EPROTO for a field beyond the record's `most`
    /// bytes.
    TracepointFormat(std::istream& text, std::size_t most);

    bool has(const std::string& field) const { return fields_.contains(field); }
    /// Without the field, or of another size than 1, 2, 4 or 8 bytes: 0.
    std::uint64_t value(std::span<const std::byte> record, const std::string& field) const;

private:
    struct Place {
        std::size_t offset;
        std::size_t bytes;
    };
    std::map<std::string, Place> fields_;
};

/// The event that a record of the driver's tells.
Event event_of(EventType type, const TracepointFormat& format, std::span<const std::byte> record);

} // namespace overtake::watch
