// SPDX-License-Identifier: MIT
#include "network/segment_work.hpp"

namespace overtake {

void SegmentWork::describe_group(std::size_t segment, std::span<const unsigned> /*cores*/,
                                 Job& job) {
    describe(segment, job);
}

std::uint64_t SegmentWork::alone_ns() const {
    return 0;
}

std::size_t SegmentWork::fixed_bindings(std::size_t) const {
    return 0;
}

std::shared_ptr<const void> SegmentWork::owner() const {
    return nullptr;
}

std::string SegmentWork::name_of(std::size_t segment) const {
    return "segment " + std::to_string(segment);
}

} // namespace overtake
