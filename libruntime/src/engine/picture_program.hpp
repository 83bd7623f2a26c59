// SPDX-License-Identifier: MIT
//
// Programs whose pictures lie as a caller's do: rows of any stride, luma and chroma apart.
//
// A program names the layout of its NV12 inputs in the instructions that read them, and the
// compiler knows one layout only.  So that no picture has to be copied into it, these instructions
// are changed in a copy of the program: chroma gets a region of its own, and rows the stride of the
// picture.  One copy serves all pictures of a stride.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "network/upload.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::engine {

/// Thread safe.
class PicturePrograms {
public:
    explicit PicturePrograms(std::shared_ptr<const Upload> upload);

    /// The region of a segment that holds an NV12 input's chroma in the changed programs; none if
    /// the segment does not read it, or has no region left.
    std::optional<std::uint32_t> chroma_region(std::size_t segment, std::uint32_t tensor) const;
    /// Whether every segment that reads this tensor has such a region.
    bool has_regions(std::uint32_t tensor) const;

    /// The program for pictures of these row strides, by tensor.  Throws Error ENOSPC or ENOMEM.
    std::shared_ptr<Buffer> with_strides(const std::map<std::uint32_t, std::uint32_t>& strides);

private:
    struct Reader {
        std::size_t insn;
        std::uint32_t tensor;
        std::uint32_t chroma_region;
    };

    void find_readers(std::size_t number, const Segment& segment);

    const std::shared_ptr<const Upload> upload_;
    std::vector<Reader> readers_;
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> regions_; ///< segment, tensor
    std::vector<std::uint32_t> without_region_;                              ///< tensors
    std::mutex mutex_;
    std::map<std::map<std::uint32_t, std::uint32_t>, std::shared_ptr<Buffer>> programs_;
};

} // namespace overtake::engine
