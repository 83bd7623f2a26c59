// SPDX-License-Identifier: MIT
#include "model/segment_reader.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "cpu/operation.hpp"
#include "overtake/device.hpp"
#include "overtake_isa.h"

namespace overtake {

namespace {

std::uint64_t expected_ns(const std::vector<std::uint64_t>& fc_cycles, std::uint32_t clock_khz) {
    unsigned __int128 cycles = 0;
    for (const std::uint64_t fc : fc_cycles)
        cycles += fc;
    const unsigned __int128 ns = (cycles * 1'000'000 + clock_khz - 1) / clock_khz;
    return static_cast<std::uint64_t>(std::min<unsigned __int128>(ns, most_expected_ns));
}

std::string text(const flatbuffers::String* from) {
    return from ? from->str() : "";
}

template <class To, class From>
void copy(const From* from, std::vector<To>& to) {
    if (from)
        to.assign(from->begin(), from->end());
}

std::shared_ptr<const OperatorDescription> read_custom(const fbs::CpuOp& from) {
    auto custom = std::make_shared<OperatorDescription>();
    custom->domain = text(from.domain());
    custom->type = text(from.custom_type());
    custom->node = text(from.name());
    if (!from.attributes())
        return custom;
    for (const fbs::Attribute* attribute : *from.attributes()) {
        OperatorAttribute& read = custom->attributes.emplace_back();
        read.name = text(attribute->name());
        copy(attribute->integers(), read.integers);
        copy(attribute->reals(), read.reals);
        copy(attribute->shape(), read.shape);
        if (attribute->strings())
            for (const flatbuffers::String* string : *attribute->strings())
                read.strings.push_back(text(string));
    }
    return custom;
}

} // namespace

Segment SegmentReader::read(const fbs::Segment& from, const Place& place, std::uint32_t clock_khz,
                            TensorUse& use) const {
    file_.require((from.bpu() != nullptr) != (from.cpu() != nullptr), place,
                  "needs exactly one of bpu and cpu");
    Segment segment;
    if (from.bpu()) {
        read_bpu(*from.bpu(), segment, {place.name + ".bpu", from.bpu()}, use);
        segment.expected_ns = expected_ns(segment.fc_cycles, clock_khz);
    } else {
        read_cpu(*from.cpu(), segment, {place.name + ".cpu", from.cpu()}, use);
    }
    return segment;
}

std::uint32_t SegmentReader::tensor_number(std::uint32_t number, const Place& place) const {
    file_.require(number < tensors_.size(), place,
                  fmt::format("tensor {}, but there are {}", number, tensors_.size()));
    return number;
}

void SegmentReader::read_bpu(const fbs::BpuSegment& from, Segment& segment, const Place& place,
                             TensorUse& use) const {
    const Place fcs = place.field(fbs::BpuSegment::VT_FCS, "fcs");
    file_.require(
        from.fcs()->size() != 0 && from.fcs()->size() <= OVERTAKE_MAX_FCS, fcs,
        fmt::format("{} FCs, but 1..{} are possible", from.fcs()->size(), OVERTAKE_MAX_FCS));
    file_.check_alignment(*from.fcs(), fcs);
    for (const fbs::Fc* fc : *from.fcs()) {
        const std::uint64_t end = std::uint64_t{fc->first_insn()} + fc->insn_count();
        file_.require(
            fc->insn_count() != 0 && end <= insns_, fcs.element(segment.fcs.size(), fc),
            fmt::format("instructions {}..{} of a program of {}", fc->first_insn(), end, insns_));
        segment.fcs.push_back({fc->first_insn(), fc->insn_count()});
        segment.fc_cycles.push_back(fc->cycles());
    }
    segment.scratch_bytes = from.scratch_bytes();
    file_.require(segment.scratch_bytes <= OVERTAKE_MAX_SCRATCH_BYTES,
                  place.field(fbs::BpuSegment::VT_SCRATCH_BYTES, "scratch_bytes"),
                  fmt::format("{}, at most {}", segment.scratch_bytes, OVERTAKE_MAX_SCRATCH_BYTES));
    read_bindings(from, segment, place.field(fbs::BpuSegment::VT_BINDINGS, "bindings"), use);
}

void SegmentReader::read_bindings(const fbs::BpuSegment& from, Segment& segment, const Place& place,
                                  TensorUse& use) const {
    std::uint32_t regions = 0;
    for (const fbs::Binding* binding : *from.bindings()) {
        const Place here = place.element(segment.bindings.size(), binding);
        const Place region_place{here.name + ".region", binding};
        const Place tensor_place{here.name + ".tensor", binding};
        const std::uint32_t region = binding->region();
        file_.require(region >= OVERTAKE_REGION_IO && region < OVERTAKE_MAX_REGIONS, region_place,
                      fmt::format("{}, but {}..{} are possible", region, OVERTAKE_REGION_IO,
                                  OVERTAKE_MAX_REGIONS - 1));
        file_.require(!(regions & (1u << region)), region_place, "bound twice");
        regions |= 1u << region;
        const std::uint32_t number = tensor_number(binding->tensor(), tensor_place);
        file_.require(tensors_[number].on_device(), tensor_place, "is not in device memory");
        segment.bindings.push_back({region, number, binding->writable()});
    }
    for (const TensorBinding& binding : segment.bindings)
        if (!binding.writable)
            use.read(binding.tensor, place);
    for (const TensorBinding& binding : segment.bindings)
        if (binding.writable)
            use.write(binding.tensor, place);
}

void SegmentReader::read_cpu(const fbs::CpuSegment& from, Segment& segment, const Place& place,
                             TensorUse& use) const {
    const Place ops = place.field(fbs::CpuSegment::VT_OPS, "ops");
    file_.require(from.ops()->size() != 0, ops, "none");
    segment.expected_ns = std::min(from.expected_ns(), most_expected_ns);
    for (const fbs::CpuOp* op : *from.ops())
        segment.cpu_ops.push_back(read_op(*op, ops.element(segment.cpu_ops.size(), op), use));
}

CpuOp SegmentReader::read_op(const fbs::CpuOp& from, const Place& place, TensorUse& use) const {
    CpuOp op{};
    op.type = static_cast<CpuOpType>(from.type());
    file_.require(cpu::name_of(op.type) != nullptr, place.field(fbs::CpuOp::VT_TYPE, "type"),
                  fmt::format("no operator {}", static_cast<int>(from.type())));
    const Place inputs = place.field(fbs::CpuOp::VT_INPUTS, "inputs");
    const Place outputs = place.field(fbs::CpuOp::VT_OUTPUTS, "outputs");
    file_.require(from.inputs() && from.inputs()->size() >= 1, inputs, "none");
    file_.require(from.outputs() && from.outputs()->size() == 1, outputs, "needs exactly one");
    op.name = from.name() ? from.name()->string_view() : std::string_view();
    op.output = tensor_number(from.outputs()->Get(0), outputs.number(*from.outputs(), 0));
    for (const std::uint32_t number : *from.inputs()) {
        const Place here = inputs.number(*from.inputs(), op.inputs.size());
        op.inputs.push_back(tensor_number(number, here));
        use.read(number, here);
        file_.require(number != op.output, place, "reads what it writes");
    }
    if (from.integers()) {
        file_.check_alignment(*from.integers(), place.field(fbs::CpuOp::VT_INTEGERS, "integers"));
        op.integers.assign(from.integers()->begin(), from.integers()->end());
    } else if (from.type() == fbs::CpuOpType::Softmax) {
        op.integers = {read_axis(from, op, place.field(fbs::CpuOp::VT_AXIS, "axis"))};
    }
    if (from.reals())
        op.reals.assign(from.reals()->begin(), from.reals()->end());
    if (op.type == CpuOpType::custom)
        op.custom = read_custom(from);
    read_layouts(from, op, place);
    const std::string reason = cpu::check(cpu::operation_of(tensors_, op));
    file_.require(reason.empty(), place, fmt::format("{} {}", cpu::name_of(op.type), reason));
    use.write(op.output, outputs.number(*from.outputs(), 0));
    return op;
}

void SegmentReader::read_layouts(const fbs::CpuOp& from, CpuOp& op, const Place& place) const {
    if (from.layouts()) {
        const Place here = place.field(fbs::CpuOp::VT_LAYOUTS, "layouts");
        copy(from.layouts(), op.layouts);
        file_.require(op.layouts.size() == op.inputs.size() + 1, here,
                      fmt::format("{}, but its inputs and its output are {}", op.layouts.size(),
                                  op.inputs.size() + 1));
        file_.require(std::ranges::all_of(op.layouts, [](std::uint8_t in) { return in <= 1; }),
                      here, "has another number than 0 (planes) and 1 (blocks)");
    }
    if (!from.weights())
        return;
    const Place here = place.field(fbs::CpuOp::VT_WEIGHTS, "weights");
    file_.require(op.type == CpuOpType::convolution && from.weights_format(), here,
                  "are those of a convolution, in a format that is named");
    file_.check_alignment(*from.weights(), here);
    op.weights_format = from.weights_format()->string_view();
    op.weights = {from.weights()->data(), from.weights()->size()};
}

std::int64_t SegmentReader::read_axis(const fbs::CpuOp& from, const CpuOp& op,
                                      const Place& place) const {
    const int rank = static_cast<int>(tensors_[op.inputs[0]].shape.size());
    file_.require(from.axis() >= -rank && from.axis() < rank, place,
                  fmt::format("{} for {} dimensions", from.axis(), rank));
    return from.axis() < 0 ? from.axis() + rank : from.axis();
}

} // namespace overtake
