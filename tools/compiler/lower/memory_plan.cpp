// SPDX-License-Identifier: MIT
#include "compiler/lower/memory_plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/lower/lifetimes.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

constexpr std::uint64_t scratch_alignment = 64;

// A value that is inside another one: elements first + n * step of each axis of `whole`, or all of
// it with other dimensions.
struct View {
    ValueId whole;
    std::array<Stretch, 3> stretches;
    bool is_reshaped = false;
};

class Placer {
public:
    Placer(const Graph& graph, ProgramSegment& segment,
           const std::vector<std::size_t>& last_readers, ReuseScratch reuse)
        : graph_(graph), segment_(segment),
          nodes_(std::span(graph.nodes).subspan(segment.first_node, segment.node_count)),
          last_readers_(last_readers), reuse_(reuse) {}

    void run() {
        segment_.places.clear();
        for (const Node& node : nodes_) {
            segment_.places[node.output] = Place{};
            for (ValueId input : node.inputs)
                segment_.places[input] = Place{};
        }
        for (const auto& [value, place] : segment_.places)
            values_.push_back(value);
        std::ranges::sort(values_);
        place_constants();
        place_io();
        for (const Node& node : nodes_)
            if (node.is<op::Reshape>())
                view_reshaped(node);
        // Goes backwards: a value that contains a dense part is dense.
        for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
            if (const auto* slice = node->as<op::Slice>())
                view_slice(*node, *slice);
        for (const Node& node : nodes_)
            if (const auto* concat = node.as<op::Concat>())
                view_inputs(node, *concat);
        place_scratch();
        for (ValueId value : values_)
            if (views_.contains(value))
                resolve(value);
    }

private:
    bool is_io(ValueId value) const {
        const Place& place = segment_.places.at(value);
        return place.bytes > 0 && place.region != OVERTAKE_REGION_SCRATCH;
    }

    // Places constants among the weights; lowering sets their offsets.
    void place_constants() {
        for (const Node& node : nodes_)
            for (ValueId input : node.inputs)
                if (graph_.values[input].is_constant()) {
                    segment_.places[input] = dense_place(graph_.values[input]);
                    segment_.places[input].region = OVERTAKE_REGION_WEIGHTS;
                }
    }

    // Gives values that cross the segment's border regions of their own.
    void place_io() {
        std::unordered_set<ValueId> written;
        for (const Node& node : nodes_)
            written.insert(node.output);
        const std::size_t end = segment_.first_node + segment_.node_count;
        for (ValueId value : values_) {
            const bool is_written = written.contains(value);
            if (graph_.values[value].is_constant() ||
                (is_written && last_readers_[value] <= end)) // no later node reads it
                continue;
            if (OVERTAKE_REGION_IO + segment_.io.size() == OVERTAKE_MAX_REGIONS)
                throw CompileError(
                    graph_.name,
                    "between '" + graph_.nodes[segment_.first_node].name + "' and '" +
                        graph_.nodes[segment_.first_node + segment_.node_count - 1].name +
                        "' the device would have more than " +
                        std::to_string(OVERTAKE_MAX_REGIONS - OVERTAKE_REGION_IO) +
                        " inputs and outputs, which a job cannot name; join some with Concat or "
                        "move nodes with --run-on-cpu");
            Place place = dense_place(graph_.values[value]);
            place.region = OVERTAKE_REGION_IO + static_cast<std::uint32_t>(segment_.io.size());
            segment_.places[value] = place;
            segment_.io.push_back({value, is_written});
        }
    }

    // Whether the value can be this view.  Operators read channels in blocks, so a view has to
    // begin at a block.  A row has to hold all pixels of the view.
    bool can_view(const View& view, ValueId id) const {
        const Value& part = graph_.values[id];
        const Value& whole = graph_.values[view.whole];
        return !dense_.contains(id) &&
               view.stretches[axis_channels].first % OVERTAKE_CHANNEL_ALIGN == 0 &&
               (view.stretches[axis_width].step == 1 ||
                std::uint64_t{part.width} * view.stretches[axis_width].step <=
                    std::uint64_t{whole.width} * view.stretches[axis_height].step);
    }

    bool has_whole_rows(const View& view, ValueId id) const {
        const Value &part = graph_.values[id], &whole = graph_.values[view.whole];
        return part.width == whole.width && part.channels == whole.channels &&
               view.stretches[axis_height].step == 1 &&
               (part.batch == 1 || part.height == whole.height);
    }

    // Both values are dense, so they can share the same bytes.
    void view_reshaped(const Node& node) {
        dense_.insert({node.inputs[0], node.output});
        if (!is_io(node.output))
            views_[node.output] = View{node.inputs[0], {}, true};
    }

    // The elements that a slice shows stay where they are.
    void view_slice(const Node& node, const op::Slice& slice) {
        const View view{node.inputs[0], slice.stretches, false};
        if (is_io(node.output))
            return;
        if (dense_.contains(node.output) && has_whole_rows(view, node.output)) {
            dense_.insert(view.whole);
            views_[node.output] = view;
        } else if (can_view(view, node.output)) {
            views_[node.output] = view;
        }
    }

    // The inputs of a concat are written directly into its output, unless they have a place
    // already.
    void view_inputs(const Node& node, const op::Concat& concat) {
        std::uint32_t first = 0;
        for (ValueId input : node.inputs) {
            View view{node.output, {}, false};
            view.stretches[concat.axis].first = first;
            const Value& part = graph_.values[input];
            if (!is_io(input) && !views_.contains(input) && can_view(view, input))
                views_[input] = view;
            const std::uint32_t sizes[3] = {part.channels, part.height, part.width};
            first += sizes[concat.axis];
        }
    }

    ValueId root(ValueId value) const {
        for (auto view = views_.find(value); view != views_.end(); view = views_.find(value))
            value = view->second.whole;
        return value;
    }

    void place_scratch() {
        std::unordered_map<ValueId, Lifetime> lives; // by root
        const auto extend = [&](ValueId value, std::size_t index) {
            lives.emplace(root(value), Lifetime{0, index, index}).first->second.last = index;
        };
        for (std::size_t index = 0; index < nodes_.size(); ++index) {
            const Node& node = nodes_[index];
            extend(node.output, index);
            for (ValueId input : node.inputs)
                extend(input, index);
        }
        std::vector<Lifetime> lifetimes;
        std::vector<ValueId> values;
        for (ValueId value : values_) {
            const auto life = lives.find(value);
            if (life == lives.end() || is_io(value))
                continue;
            segment_.places[value] = dense_place(graph_.values[value]);
            life->second.bytes = segment_.places[value].bytes;
            lifetimes.push_back(life->second);
            values.push_back(value);
        }
        const MemoryPlan plan = reuse_ == ReuseScratch::yes
                                    ? plan_memory(lifetimes, scratch_alignment)
                                    : apart(lifetimes);
        for (std::size_t index = 0; index < values.size(); ++index) {
            segment_.places[values[index]].region = OVERTAKE_REGION_SCRATCH;
            segment_.places[values[index]].offset = plan.offsets[index];
            segment_.scratch.push_back({values[index], plan.offsets[index], lifetimes[index].bytes,
                                        segment_.first_node + lifetimes[index].first,
                                        segment_.first_node + lifetimes[index].last});
        }
        segment_.scratch_bytes = plan.bytes;
        if (reuse_ == ReuseScratch::yes && plan.bytes > OVERTAKE_MAX_SCRATCH_BYTES)
            throw CompileError(graph_.name, "needs " + std::to_string(plan.bytes) +
                                                " bytes of scratch, more than " +
                                                std::to_string(OVERTAKE_MAX_SCRATCH_BYTES) +
                                                "; compile it for a smaller input");
    }

    static MemoryPlan apart(const std::vector<Lifetime>& lifetimes) {
        MemoryPlan plan;
        for (const Lifetime& life : lifetimes) {
            plan.offsets.push_back(plan.bytes);
            plan.bytes +=
                (life.bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
        }
        return plan;
    }

    void resolve(ValueId value) {
        const View& view = views_.at(value);
        if (views_.contains(view.whole) && segment_.places[view.whole].bytes == 0)
            resolve(view.whole);
        const Place& whole = segment_.places[view.whole];
        if (view.is_reshaped) {
            segment_.places[value] =
                seen_as(whole, graph_.values[view.whole], graph_.values[value]);
            return;
        }
        const auto& [channels, rows, columns] = view.stretches;
        Place place = whole;
        place.offset += std::uint64_t{channels.first} * graph_.values[value].element_bytes() +
                        std::uint64_t{rows.first} * whole.row_stride +
                        std::uint64_t{columns.first} * whole.pixel_stride;
        place.row_stride = whole.row_stride * rows.step;
        place.pixel_stride = whole.pixel_stride * columns.step;
        segment_.places[value] = place;
    }

    const Graph& graph_;
    ProgramSegment& segment_;
    const std::span<const Node> nodes_;
    const std::vector<std::size_t>& last_readers_;
    const ReuseScratch reuse_;
    std::vector<ValueId> values_; // values that the nodes use, ascending
    std::unordered_map<ValueId, View> views_;
    std::unordered_set<ValueId> dense_; // a reshape uses their bytes
};

} // namespace

Place seen_as(const Place& place, const Value& from, const Value& to) {
    Place result = place;
    if (from.channels > to.channels) { // a pixel becomes a row
        result.pixel_stride = to.channels * to.element_bytes();
        result.row_stride = place.pixel_stride;
        result.image_stride = std::uint64_t{to.height} * result.row_stride;
        return result;
    }
    if (from.channels < to.channels) // a row becomes a pixel
        result.pixel_stride = place.row_stride;
    result.row_stride = to.width * result.pixel_stride;
    result.image_stride = std::uint64_t{to.height} * result.row_stride;
    return result;
}

Place dense_place(const Value& value) {
    Place place;
    if (value.user_type == UserType::nv12) {
        place.pixel_stride = 1;
        place.row_stride = value.width;
        place.bytes = std::uint64_t{value.height} * value.width * 3 / 2;
        return place;
    }
    place.pixel_stride = whole_pixel(value.channels) * value.element_bytes();
    const std::uint64_t row = std::uint64_t{value.width} * place.pixel_stride;
    place.image_stride = row * value.height;
    place.bytes = place.image_stride * value.batch;
    if (place.bytes > std::numeric_limits<std::uint32_t>::max())
        throw CompileError("tensor '" + value.name + "'", "is larger than 4 GiB");
    place.row_stride = static_cast<std::uint32_t>(row);
    return place;
}

std::uint64_t tensor_bytes(const Value& value, bool on_device) {
    return on_device ? dense_place(value).bytes : std::uint64_t{value.elements()} * sizeof(float);
}

std::vector<std::size_t> last_readers(const Graph& graph) {
    std::vector<std::size_t> readers(graph.values.size());
    for (std::size_t index = 0; index < graph.nodes.size(); ++index)
        for (ValueId input : graph.nodes[index].inputs)
            readers[input] = index + 1;
    for (ValueId output : graph.outputs)
        readers[output] = std::numeric_limits<std::size_t>::max();
    return readers;
}

std::size_t count_crossing(const Graph& graph, std::size_t first_node, std::size_t node_count,
                           const std::vector<std::size_t>& last_readers) {
    std::unordered_set<ValueId> written, crossing;
    for (const Node& node : std::span(graph.nodes).subspan(first_node, node_count)) {
        for (ValueId input : node.inputs)
            if (!written.contains(input) && !graph.values[input].is_constant())
                crossing.insert(input);
        written.insert(node.output);
        if (last_readers[node.output] > first_node + node_count)
            crossing.insert(node.output);
    }
    return crossing.size();
}

void place(const Graph& graph, ProgramSegment& segment,
           const std::vector<std::size_t>& last_readers, ReuseScratch reuse) {
    Placer(graph, segment, last_readers, reuse).run();
}

} // namespace overtake::compiler
