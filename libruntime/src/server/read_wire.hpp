// SPDX-License-Identifier: MIT
//
// The way in which a server reads what a client has written: from a copy, and not beyond its end.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

namespace overtake::server {

/// A client does what no version of the library does: the server ends its connection.
class Violation : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Copies values out before anything looks at them.  Throws Violation if there are fewer.
template <class Value>
void read(std::span<const std::byte> bytes, std::size_t& position, Value* into, std::size_t count) {
    if (count > (bytes.size() - position) / sizeof(Value))
        throw Violation("something is longer than its call");
    if (count != 0)
        std::memcpy(into, bytes.data() + position, count * sizeof(Value));
    position += count * sizeof(Value);
}

/// Returns values without copying: `bytes` is memory that is not shared, aligned for any type.
template <class Value>
std::span<const Value> view(std::span<const std::byte> bytes, std::size_t& position,
                            std::size_t count) {
    if (count > (bytes.size() - position) / sizeof(Value))
        throw Violation("something is longer than its call");
    if (position % alignof(Value) != 0)
        throw Violation("something is not where it should be");
    const auto* first = reinterpret_cast<const Value*>(bytes.data() + position);
    position += count * sizeof(Value);
    return {first, count};
}

} // namespace overtake::server
