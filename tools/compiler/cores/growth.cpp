// SPDX-License-Identifier: MIT
#include "compiler/cores/growth.hpp"

#include <utility>

namespace overtake::compiler {
namespace {

std::uint64_t elements_of(const overtake_operand& operand) {
    return std::uint64_t{operand.height} * operand.width * operand.channels;
}

} // namespace

Growth::Growth(const SegmentLayers& segment, std::size_t last, const Shares& shares,
               const CorePrices* prices)
    : segment_(segment), last_(last), prices_(prices), cycles_(shares.size()) {
    add(last, shares);
}

bool Growth::take_in() {
    if (first() == 0)
        return false;
    const std::size_t index = first() - 1;
    const Layer& layer = segment_.layers[index];
    if (!layer.can_be_private || layer.readers.back() > last_)
        return false;
    Shares boxes(cycles_.size());
    const std::size_t place = last_ - index - 1;
    for (std::size_t core = 0; core < boxes.size(); ++core) {
        if (place >= needed_.size() || needed_[place].empty())
            break;
        const Box box = aligned(layer.step.insn, needed_[place][core]);
        if (!is_empty(box))
            boxes[core] = {box};
    }
    add(index, std::move(boxes));
    return true;
}

void Growth::add(std::size_t layer, Shares boxes) {
    const overtake_insn& insn = segment_.layers[layer].step.insn;
    bytes_read_ = 0;
    for (std::size_t core = 0; core < boxes.size(); ++core)
        for (const Box& box : boxes[core]) {
            const overtake_insn part = piece_shape(insn, box);
            need(layer, core, part);
            for (const overtake_operand& in : part.in)
                bytes_read_ += elements_of(in) * ovt_element_bytes(&in);
            if (prices_)
                cycles_[core] += prices_->cycles(part, core);
        }
    boxes_.push_back(std::move(boxes));
}

// Notes the boxes of layers that may be private which a piece of this layer needs.
void Growth::need(std::size_t layer, std::size_t core, const overtake_insn& part) {
    const Layer& reader = segment_.layers[layer];
    for (std::size_t input : {0, 1}) {
        if (reader.writers[input].size() != 1)
            continue;
        const std::size_t index = reader.writers[input].front();
        const Layer& writer = segment_.layers[index];
        if (!writer.can_be_private)
            continue;
        const Box read = needed_by(reader.step.insn, input, part);
        if (is_empty(read))
            continue;
        const std::size_t place = last_ - index - 1;
        if (place >= needed_.size())
            needed_.resize(place + 1);
        needed_[place].resize(cycles_.size());
        Box& all = needed_[place][core];
        all = around(all, seen_from(writer.step.insn.out, reader.step.insn.in[input], read));
    }
}

bool can_be_block(const SegmentLayers& segment, std::size_t first, std::size_t count) {
    for (std::size_t index = first; index + 1 < first + count; ++index) {
        const Layer& layer = segment.layers[index];
        if (!layer.can_be_private || layer.readers.back() >= first + count)
            return false;
    }
    return true;
}

std::vector<Shares> grow(const SegmentLayers& segment, std::size_t first, std::size_t count,
                         const Shares& shares) {
    Growth growth(segment, first + count - 1, shares);
    while (growth.first() > first && growth.take_in())
        ;
    std::vector<Shares> boxes;
    for (std::size_t layer = growth.first(); layer < first + count; ++layer)
        boxes.push_back(growth.boxes(layer));
    return boxes;
}

} // namespace overtake::compiler
