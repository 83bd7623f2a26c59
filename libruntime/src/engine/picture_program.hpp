// SPDX-License-Identifier: MIT
//
// Programs for pictures that lie in a caller's own way: rows of any stride, luma and chroma apart.
//
// The instructions that read an NV12 input name its layout, and the compiler knows one layout only.
// So that no picture has to be copied into that layout, these instructions are changed in a copy of
// the program: chroma gets a region of its own, and rows get the stride of the picture.  One copy
// serves all pictures of a stride.  For a resized region of a picture, the start and the step of
// the instruction are changed; each such request has a copy of its own.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "network/plan.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::engine {

/// The layout of a picture, and the part of it that a model is to see.
struct PictureLayout {
    std::uint32_t row_stride; ///< bytes, of luma and chroma alike
    std::uint32_t height, width;
    bool is_resized;                        ///< the region below is resized to the tensor's size
    std::uint32_t left, top, right, bottom; ///< the region, all four included
    auto operator<=>(const PictureLayout&) const = default;
};

/// The layouts by tensor number.
using PictureLayouts = std::map<std::uint32_t, PictureLayout>;

/// Thread safe.
class PicturePrograms {
public:
    explicit PicturePrograms(std::shared_ptr<const Plan> plan);

    /// Returns the region of a segment that holds an NV12 input's chroma in the changed programs.
    /// None if the segment does not read the input, or has no region left.
    std::optional<std::uint32_t> chroma_region(std::size_t segment, std::uint32_t tensor) const;
    /// Whether every segment that reads this tensor has such a region.
    bool has_regions(std::uint32_t tensor) const;

    /// Returns the program for pictures of these layouts.  Throws Error ENOSPC or ENOMEM.
    std::shared_ptr<Buffer> for_pictures(const PictureLayouts& layouts);

private:
    struct Reader {
        std::size_t insn;
        std::uint32_t tensor;
        std::uint32_t chroma_region;
    };

    std::shared_ptr<Buffer> make(const PictureLayouts& layouts) const;
    void find_readers(std::size_t number, const PlanSegment& planned);
    void find_readers(std::size_t number, std::span<const overtake_fc> fcs,
                      const std::map<std::uint32_t, std::uint32_t>& tensors);

    const std::shared_ptr<const Plan> plan_;
    std::vector<Reader> readers_;
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> regions_; ///< segment, tensor
    std::vector<std::uint32_t> without_region_;                              ///< tensors
    std::mutex mutex_;
    std::map<PictureLayouts, std::shared_ptr<Buffer>> programs_; ///< without those that resize
};

} // namespace overtake::engine
