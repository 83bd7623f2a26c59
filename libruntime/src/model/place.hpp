// SPDX-License-Identifier: MIT
//
// The parts of a model file, and the error for a wrong one.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

#include "model_generated.h"
#include "overtake/error.hpp"

namespace overtake {

/// A part of the file: its name in messages, and where it begins.
struct Place {
    std::string name;
    const void* address;

    /// Returns a field of the table at this place, or the table itself if the field is left out.
    Place field(flatbuffers::voffset_t number, const char* what) const {
        const auto* at = static_cast<const flatbuffers::Table*>(address)->GetAddressOf(number);
        return {name.empty() ? what : fmt::format("{}.{}", name, what), at ? at : address};
    }

    /// Returns an element of the vector of the field at this place.
    Place element(std::size_t index, const void* at) const {
        return {fmt::format("{}[{}]", name, index), at};
    }
    Place number(const flatbuffers::Vector<std::uint32_t>& vector, std::size_t index) const {
        return element(index, vector.data() + index);
    }
};

/// The file that is read; its bytes and its path outlive it.
struct FileView {
    std::span<const std::byte> bytes;
    const std::string& path;

    /// Throws Error EINVAL, "PATH: offset N: FIELD: reason", unless `condition` holds.
    void require(bool condition, const Place& place, const std::string& reason) const {
        if (!condition)
            throw Error(EINVAL,
                        fmt::format("{}: offset {}: {}: {}", path,
                                    static_cast<const std::byte*>(place.address) - bytes.data(),
                                    place.name, reason));
    }

    /// Checks vectors whose elements need more than the alignment to 4 bytes that the verifier
    /// checks.
    template <typename Elements>
    void check_alignment(const Elements& elements, const Place& place) const {
        require(elements.size() == 0 ||
                    reinterpret_cast<std::uintptr_t>(elements.Data()) % alignof(std::uint64_t) == 0,
                place, "misaligned");
    }
};

} // namespace overtake
