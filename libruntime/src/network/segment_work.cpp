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

} // namespace overtake
