// SPDX-License-Identifier: MIT
//
// The compiler's view of device code: what lowering makes and splitting cuts.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/firmware.hpp"
#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Contents of the weights region: weights, tables and requantisation parameters.
class Constants {
public:
    /// Appends at a multiple of 64 bytes, unless the same bytes are there as the elements of an
    /// earlier call; returns the offset.
    template <typename Element>
    std::uint64_t append(std::span<const Element> elements) {
        const std::string_view wanted(reinterpret_cast<const char*>(elements.data()),
                                      elements.size_bytes());
        const std::size_t hash = std::hash<std::string_view>{}(wanted);
        const auto [first, last] = known_.equal_range(hash);
        for (auto known = first; known != last; ++known)
            if (at(known->second, wanted.size()) == wanted)
                return known->second;
        const std::string copy(wanted); // may be a part of bytes_, which is about to move
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
        const std::uint64_t offset = bytes_.size();
        bytes_.insert(bytes_.end(), copy.begin(), copy.end());
        known_.emplace(hash, offset);
        return offset;
    }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

    /// Takes back all but the first `size` bytes, which end where a call of append() ended.
    void shrink(std::size_t size) {
        std::erase_if(known_, [size](const auto& known) { return known.second >= size; });
        bytes_.resize(size);
    }

private:
    // Returns `size` bytes from `offset` on, or as many as there are.
    std::string_view at(std::uint64_t offset, std::size_t size) const {
        return std::string_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size())
            .substr(offset, size);
    }

    static constexpr std::size_t alignment = 64;
    std::vector<std::uint8_t> bytes_;
    std::unordered_multimap<std::size_t, std::uint64_t> known_; // offsets by hash
};

/// The place of a value in device memory.
struct Place {
    std::uint32_t region = 0;
    std::uint64_t offset = 0;
    std::uint32_t row_stride = 0;
    std::uint32_t pixel_stride = 0;
    std::uint64_t image_stride = 0;
    std::uint64_t bytes = 0;
};

/// The place of a value in the scratch region from the node that writes it to its last reader
/// (indices into Graph::nodes).
struct ScratchUse {
    ValueId value;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::size_t first_node;
    std::size_t last_node;
};

/// An instruction and the node (index into Graph::nodes) it belongs to.
struct Step {
    overtake_insn insn;
    std::size_t node;
};

/// A value that lives in a region of its own, OVERTAKE_REGION_IO + its index in the list.
struct IoRegion {
    ValueId value;
    bool writable;
};

/// Consecutive steps and their cost, the FC's own overhead included.
struct FunctionCall {
    std::uint32_t first_step;
    std::uint32_t step_count;
    std::uint64_t cycles;
};

/// The nodes that run on one processor before the other has its turn.  On the BPU they are one job.
struct ProgramSegment {
    bool on_bpu = false;
    std::size_t first_node = 0, node_count = 0; // in Graph::nodes
    // The BPU's alone:
    // The places of the values that the nodes touch; those without bytes are not in this job's
    // memory.
    std::unordered_map<ValueId, Place> places;
    std::vector<IoRegion> io;
    std::uint64_t scratch_bytes = 0;
    std::vector<ScratchUse> scratch; // of the values that are no part of another
    std::size_t first_step = 0, step_count = 0;
    std::size_t first_fc = 0, fc_count = 0;
};

struct Program {
    std::vector<ProgramSegment> segments; // cover all nodes, steps and FCs in order
    std::vector<Step> steps;
    Constants constants;
    std::vector<FunctionCall> fcs;
};

} // namespace overtake::compiler
