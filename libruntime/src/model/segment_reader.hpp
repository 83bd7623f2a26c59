// SPDX-License-Identifier: MIT
//
// Reads and checks segments of a model and segments of its units.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/place.hpp"
#include "overtake/model_contents.hpp"

namespace overtake {

constexpr std::uint64_t most_expected_ns = INT64_MAX;

/// Receives the uses of tensors by segments.  The functions throw Error if the present segment must
/// not use the tensor so.
class TensorUse {
public:
    virtual void read(std::uint32_t number, const Place& place) = 0;
    virtual void write(std::uint32_t number, const Place& place) = 0;

protected:
    ~TensorUse() = default;
};

class SegmentReader {
public:
    /// `tensors` are the tensors that segments may name, `insns` is the number of the program's
    /// instructions.
    SegmentReader(const FileView& file, std::span<const Tensor> tensors, std::uint64_t insns)
        : file_(file), tensors_(tensors), insns_(insns) {}

    /// `clock_khz` is the clock of the processors for which FCs have cycles.
    Segment read(const fbs::Segment& from, const Place& place, std::uint32_t clock_khz,
                 TensorUse& use) const;

    std::uint32_t tensor_number(std::uint32_t number, const Place& place) const;

private:
    void read_bpu(const fbs::BpuSegment& from, Segment& segment, const Place& place,
                  TensorUse& use) const;
    void read_bindings(const fbs::BpuSegment& from, Segment& segment, const Place& place,
                       TensorUse& use) const;
    void read_cpu(const fbs::CpuSegment& from, Segment& segment, const Place& place,
                  TensorUse& use) const;
    CpuOp read_op(const fbs::CpuOp& from, const Place& place, TensorUse& use) const;
    void read_layouts(const fbs::CpuOp& from, CpuOp& op, const Place& place) const;
    std::int64_t read_axis(const fbs::CpuOp& from, const CpuOp& op, const Place& place) const;

    const FileView& file_;
    const std::span<const Tensor> tensors_;
    const std::uint64_t insns_;
};

} // namespace overtake
