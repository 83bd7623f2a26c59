// SPDX-License-Identifier: MIT
#include "cpu/program.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "cpu/chains.hpp"
#include "cpu/layout_costs.hpp"
#include "overtake/error.hpp"

namespace overtake {

namespace {

using cpu::LayoutNumber;
using cpu::LayoutSet;

// The numbers in a plan: layouts of host memory, and the device's own layout.
constexpr auto planes = static_cast<LayoutNumber>(cpu::Layout::planes);
constexpr LayoutNumber on_device = 4;
constexpr std::size_t most_wasted = 1 << 22; // floats
static_assert(on_device > static_cast<LayoutNumber>(cpu::Layout::channels_last));

constexpr LayoutSet bit(LayoutNumber layout) {
    return static_cast<LayoutSet>(1u << layout);
}

bool is_blocked(LayoutNumber layout) {
    return layout != on_device && cpu::is_blocked(static_cast<cpu::Layout>(layout));
}

// Returns the layout as a file has it, for blocks of any CPU: whether a value is in blocks.
std::uint8_t in_file(LayoutNumber layout) {
    return is_blocked(layout) ? 1 : 0;
}

std::size_t floats_of(const Tensor& tensor, LayoutNumber layout) {
    return is_blocked(layout) ? cpu::stored_elements(tensor.shape, static_cast<cpu::Layout>(layout))
                              : tensor.elements();
}

double conversion_ns(const cpu::LayoutCosts& costs, const Tensor& tensor, LayoutNumber from,
                     LayoutNumber to) {
    if ((is_blocked(from) || is_blocked(to)) && !cpu::can_be_blocked(tensor.shape))
        return std::numeric_limits<double>::infinity();
    if (from == on_device || to == on_device) {
        const LayoutNumber on_host = from == on_device ? to : from;
        if (is_blocked(on_host) && !is_pixels(tensor))
            return std::numeric_limits<double>::infinity();
        return costs.elements_ns(floats_of(tensor, on_host), is_blocked(on_host)
                                                                 ? costs.device_to_blocks
                                                                 : costs.device_to_planes);
    }
    return costs.conversion_ns(floats_of(tensor, is_blocked(from) ? from : to));
}

// Allocates ranges of an array of floats by first fit.  The array is as long as needed.
class OwnMemory {
public:
    std::size_t take(std::size_t count) {
        count = rounded(count);
        for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
            const auto [at, length] = *gap;
            if (length < count)
                continue;
            gaps_.erase(gap);
            if (length > count)
                gaps_.emplace(at + count, length - count);
            return at;
        }
        std::size_t at = size_;
        if (!gaps_.empty() && gaps_.rbegin()->first + gaps_.rbegin()->second == size_) {
            at = gaps_.rbegin()->first;
            gaps_.erase(at);
        }
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(float) - at)
            throw Error(ENOMEM, "its CPU operators need more memory than there is");
        size_ = at + count;
        return at;
    }

    void give_back(std::size_t at, std::size_t count) {
        auto gap = gaps_.emplace(at, rounded(count)).first;
        const auto next = std::next(gap);
        if (next != gaps_.end() && gap->first + gap->second == next->first) {
            gap->second += next->second;
            gaps_.erase(next);
        }
        if (gap == gaps_.begin())
            return;
        const auto before = std::prev(gap);
        if (before->first + before->second == gap->first) {
            before->second += gap->second;
            gaps_.erase(gap);
        }
    }

    std::size_t size() const { return size_; }

private:
    static std::size_t rounded(std::size_t count) { return (count + 15) / 16 * 16; }

    std::map<std::size_t, std::size_t> gaps_; // by place; no two are adjacent
    std::size_t size_ = 0;
};

// Returns this CPU's blocks if there are convolutions.  Otherwise returns blocks of 8 and does not
// call oneDNN.
cpu::Layout blocks_for(std::span<const CpuOp> ops) {
    return std::ranges::find(ops, CpuOpType::convolution, &CpuOp::type) == ops.end()
               ? cpu::Layout::blocked_8
               : cpu::blocks_of_this_cpu();
}

class ProgramMaker {
public:
    ProgramMaker(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                 const std::vector<bool>& is_internal, const cpu::LayoutCosts& costs)
        : costs_(costs), blocks_(static_cast<LayoutNumber>(blocks_for(ops))), ops_(ops),
          tensors_(tensors), is_internal_(is_internal) {
        chains_ = cpu_chains(ops, tensors, is_internal);
        for (const CpuChain& chain : chains_)
            add_nodes(chain);
        program_.layouts.resize(ops.size());
        problem_.conversion = [this](std::uint32_t value, LayoutNumber from, LayoutNumber to) {
            return conversion_ns(costs_, tensors_[value_of_[value].tensor], from, to);
        };
    }

    CpuProgram make(CpuLayout layout) {
        const cpu::LayoutPlan plan = plan_for(layout);
        program_.is_best = plan.is_best;
        program_.ns = plan.ns;
        program_.blocks = static_cast<cpu::Layout>(blocks_);
        auto conversion = plan.conversions.begin();
        const auto copy_before = [&](std::size_t node) {
            for (; conversion != plan.conversions.end() && conversion->before <= node; ++conversion)
                add_conversion(*conversion);
        };
        for (std::size_t node = 0; node < nodes_.size(); node++) {
            copy_before(node);
            if (nodes_[node].prepared)
                add_operator(node, plan.forms[node]);
            else
                add_store(node, plan.forms[node]);
        }
        copy_before(nodes_.size());
        place_own_slots();
        return std::move(program_);
    }

private:
    // The meaning of a node of the problem: an operator, or the copy of its output to the device.
    struct NodeOf {
        const CpuOp* op;
        std::shared_ptr<const cpu::Prepared> prepared; // null: the copy
        const CpuChain* chain;
    };
    // The meaning of a value of the problem: a tensor or, for one on the device, the result that an
    // operator computes for it.  The tensor holds the rounded result, so operators read the tensor
    // from the device.
    struct ValueOf {
        std::uint32_t tensor;
        bool is_unrounded;
    };

    // Makes the plan, and leaves in problem_ the forms to which the plan's numbers refer.
    cpu::LayoutPlan plan_for(CpuLayout layout) {
        const cpu::LayoutProblem all = problem_;
        program_.is_stored = layout == CpuLayout::automatic && keep_stored_forms();
        if (layout != CpuLayout::automatic)
            problem_ = preferring(all, layout == CpuLayout::planes ? planes : blocks_);
        if (layout != CpuLayout::automatic || program_.is_stored) {
            cpu::LayoutPlan plan = cpu::plan_layouts(problem_);
            if (std::isfinite(plan.ns))
                return plan;
            program_.is_stored = false; // a tensor of the device cannot be copied to blocks
        }
        problem_ = all;
        cpu::LayoutPlan plan = cpu::plan_layouts(problem_);
        if (!std::isfinite(plan.ns))
            throw Error(EINVAL, "its CPU operators have no layouts that lead to each other");
        return plan;
    }

    // Whether the file asks for nearly empty blocks of a large value.
    bool is_waste(const CpuChain& chain) const {
        const Tensor& tensor = tensors_[ops_[chain.last].output];
        if (ops_[chain.last].layouts.back() == 0 || !cpu::can_be_blocked(tensor.shape))
            return false;
        const std::size_t stored = floats_of(tensor, blocks_);
        return stored > most_wasted && stored > 4 * tensor.elements();
    }

    // Returns false if the file has no forms, if a form would waste memory, or if this CPU's
    // kernels lack a form.
    bool keep_stored_forms() {
        for (std::size_t node = 0; node < nodes_.size(); node++) {
            const CpuChain* chain = nodes_[node].chain;
            if (!chain)
                continue;
            const std::vector<std::uint8_t>& first = ops_[chain->first].layouts;
            const std::vector<std::uint8_t>& last = ops_[chain->last].layouts;
            if (first.empty() || last.empty() || is_waste(*chain))
                return false;
            std::vector<cpu::NodeForm>& forms = problem_.nodes[node].forms;
            std::erase_if(forms, [&](const cpu::NodeForm& form) {
                for (std::size_t i = 0; i + 1 < first.size(); i++)
                    if (in_file(form.inputs[i]) != first[i])
                        return true;
                return in_file(form.output) != last.back();
            });
            if (forms.empty())
                return false;
        }
        return true;
    }

    // Records the layouts of the chain's operators.  Values between them have the layout of the
    // chain's output.
    void note_layouts(const CpuChain& chain, const cpu::NodeForm& form) {
        const std::uint8_t inside = in_file(form.output);
        std::vector<std::uint8_t>& first = program_.layouts[chain.first];
        for (std::size_t i = 0; i < ops_[chain.first].inputs.size(); i++)
            first.push_back(in_file(form.inputs[i]));
        first.push_back(inside);
        for (const std::size_t follower : chain.followers)
            program_.layouts[follower].assign(ops_[follower].inputs.size() + 1, inside);
    }

    static LayoutSet outside(const Tensor& tensor) {
        return bit(tensor.on_device() ? on_device : planes);
    }

    std::uint32_t add_value(const ValueOf& value, LayoutSet given) {
        problem_.values.push_back({given, 0});
        value_of_.push_back(value);
        return static_cast<std::uint32_t>(value_of_.size() - 1);
    }

    std::uint32_t value_of(std::uint32_t tensor) {
        const auto found = values_.find(tensor);
        if (found != values_.end())
            return found->second;
        const LayoutSet given = is_internal_[tensor] ? LayoutSet{0} : outside(tensors_[tensor]);
        return values_[tensor] = add_value({tensor, false}, given);
    }

    void add_nodes(const CpuChain& chain) {
        const CpuOp& op = ops_[chain.first];
        const std::uint32_t written = ops_[chain.last].output;
        cpu::LayoutProblem::Node node;
        cpu::Operation operation = cpu::operation_of(tensors_, op);
        operation.following = chain.following;
        operation.costs = costs_;
        operation.blocks = static_cast<cpu::Layout>(blocks_);
        for (const std::uint32_t input : op.inputs)
            node.inputs.push_back(value_of(input));
        for (const std::uint32_t added : chain.added) {
            node.inputs.push_back(value_of(added));
            operation.inputs.push_back(tensors_[added].shape);
        }
        const Tensor& tensor = tensors_[written];
        const std::uint32_t output = value_of(written);
        node.output = tensor.on_device() ? add_value({written, true}, 0) : output;
        nodes_.push_back({&op, cpu::prepare(operation), &chain});
        node.forms = nodes_.back().prepared->forms();
        problem_.nodes.push_back(node);
        if (!is_internal_[written])
            problem_.values[output].wanted = outside(tensor);
        if (!tensor.on_device())
            return;
        nodes_.push_back({&op, nullptr, nullptr});
        cpu::LayoutProblem::Node store{{node.output}, output, {}};
        store.forms.push_back(
            {{planes}, on_device, conversion_ns(costs_, tensor, planes, on_device)});
        if (is_pixels(tensor))
            store.forms.push_back(
                {{blocks_}, on_device, conversion_ns(costs_, tensor, blocks_, on_device)});
        problem_.nodes.push_back(std::move(store));
    }

    // Returns the slot of a value in a layout.  A value in the segment's own memory gets its place
    // later, and has a number of its own until then.
    CpuSlot slot_of(std::uint32_t value, LayoutNumber layout) const {
        const auto [tensor, is_unrounded] = value_of_[value];
        const Tensor& its = tensors_[tensor];
        if (layout == on_device)
            return {CpuSlot::Where::device, tensor};
        if (layout == planes && its.is_constant())
            return {CpuSlot::Where::constant, tensor};
        if (layout == planes && !its.on_device() && !is_internal_[tensor])
            return {CpuSlot::Where::host, tensor};
        return {CpuSlot::Where::own, tensor, std::size_t{value} * 8 + layout,
                floats_of(its, layout)};
    }

    static cpu::Layout host_layout(LayoutNumber layout) {
        return layout == on_device ? cpu::Layout::planes : static_cast<cpu::Layout>(layout);
    }

    void add_copy(const CpuOp& op, std::uint32_t from_value, LayoutNumber from,
                  std::uint32_t to_value, LayoutNumber to) {
        program_.steps.push_back({&op,
                                  nullptr,
                                  {},
                                  {slot_of(from_value, from)},
                                  slot_of(to_value, to),
                                  host_layout(from),
                                  host_layout(to)});
        program_.copies += from != on_device && to != on_device;
    }

    void add_conversion(const cpu::LayoutPlan::Conversion& conversion) {
        const std::size_t node = std::min(conversion.before, nodes_.size() - 1);
        add_copy(*nodes_[node].op, conversion.value, conversion.from, conversion.value,
                 conversion.to);
    }

    void add_store(std::size_t node, std::uint32_t number) {
        const cpu::LayoutProblem::Node& entry = problem_.nodes[node];
        add_copy(*nodes_[node].op, entry.inputs[0], entry.forms[number].inputs[0], entry.output,
                 on_device);
    }

    void add_operator(std::size_t node, std::uint32_t number) {
        const cpu::LayoutProblem::Node& entry = problem_.nodes[node];
        const cpu::NodeForm& form = entry.forms[number];
        CpuStep step{
            nodes_[node].op, nodes_[node].prepared, form, {}, slot_of(entry.output, form.output)};
        for (std::size_t i = 0; i < entry.inputs.size(); i++)
            step.inputs.push_back(slot_of(entry.inputs[i], form.inputs[i]));
        program_.most_inputs = std::max(program_.most_inputs, entry.inputs.size());
        program_.blocked += is_blocked(form.output);
        program_.steps.push_back(std::move(step));
        note_layouts(*nodes_[node].chain, form);
    }

    template <typename Visit>
    static void for_each_own(CpuStep& step, const Visit& visit) {
        for (CpuSlot& slot : step.inputs)
            if (slot.where == CpuSlot::Where::own)
                visit(slot);
        if (step.output.where == CpuSlot::Where::own)
            visit(step.output);
    }

    void place_own_slots() {
        std::unordered_map<std::uint64_t, std::size_t> last_step, place;
        for (std::size_t i = 0; i < program_.steps.size(); i++)
            for_each_own(program_.steps[i], [&](CpuSlot& slot) { last_step[slot.offset] = i; });
        OwnMemory memory;
        for (std::size_t i = 0; i < program_.steps.size(); i++) {
            std::vector<std::pair<std::size_t, std::size_t>> ended;
            for_each_own(program_.steps[i], [&](CpuSlot& slot) {
                const std::uint64_t key = slot.offset;
                const auto [found, is_new] = place.try_emplace(key, 0);
                if (is_new)
                    found->second = memory.take(slot.count);
                slot.offset = found->second;
                const auto last = last_step.find(key);
                if (last == last_step.end() || last->second != i)
                    return;
                ended.emplace_back(slot.offset, slot.count);
                last_step.erase(last); // once, though a step may have it twice
            });
            for (const auto& [at, count] : ended)
                memory.give_back(at, count);
        }
        program_.own_floats = memory.size();
    }

    const cpu::LayoutCosts costs_;
    const LayoutNumber blocks_;
    const std::span<const CpuOp> ops_;
    const std::span<const Tensor> tensors_;
    const std::vector<bool>& is_internal_;
    std::vector<CpuChain> chains_;
    std::unordered_map<std::uint32_t, std::uint32_t> values_; // by tensor: of the problem
    std::vector<ValueOf> value_of_;                           // by value of the problem
    std::vector<NodeOf> nodes_;                               // by node of the problem
    cpu::LayoutProblem problem_;
    CpuProgram program_;
};

} // namespace

bool is_pixels(const Tensor& tensor) {
    const auto& shape = tensor.shape;
    return tensor.on_device() && tensor.order == Order::planes && cpu::can_be_blocked(shape) &&
           shape[1] == tensor.channels && shape[0] == image_count(tensor);
}

CpuProgram make_cpu_program(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                            const std::vector<bool>& is_internal, CpuLayout layout,
                            const cpu::LayoutCosts& costs) {
    if (ops.empty())
        return {};
    return ProgramMaker(ops, tensors, is_internal, costs).make(layout);
}

std::vector<bool> internal_tensors(std::span<const Segment* const> segments,
                                   std::span<const Tensor> tensors,
                                   std::span<const std::uint32_t> kept) {
    constexpr auto none = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> written(tensors.size(), none); // by tensor: its last writer so far
    std::vector<bool> is_known(tensors.size());             // by tensor: to other segments
    for (const std::uint32_t tensor : kept)
        is_known[tensor] = true;
    for (std::size_t number = 0; number < segments.size(); number++)
        for (const CpuOp& op : segments[number]->cpu_ops) {
            for (const std::uint32_t input : op.inputs)
                if (written[input] != number)
                    is_known[input] = true;
            if (written[op.output] == number)
                is_known[op.output] = true;
            written[op.output] = number;
        }
    std::vector<bool> result(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); i++)
        result[i] = written[i] != none && !is_known[i] && !tensors[i].on_device() &&
                    !tensors[i].is_constant();
    return result;
}

std::vector<bool> internal_tensors(const ModelContents& contents, std::span<const Tensor> tensors) {
    std::vector<const Segment*> segments;
    for (const Segment& segment : contents.segments)
        segments.push_back(&segment);
    std::vector<std::uint32_t> kept = contents.inputs;
    kept.insert(kept.end(), contents.outputs.begin(), contents.outputs.end());
    return internal_tensors(segments, tensors, kept);
}

} // namespace overtake
