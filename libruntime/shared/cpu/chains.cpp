// SPDX-License-Identifier: MIT
#include "cpu/chains.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace overtake {

namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constexpr std::size_t most_following = 8;

class Chains {
public:
    Chains(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
           const std::vector<bool>& is_internal)
        : ops_(ops), tensors_(tensors), is_internal_(is_internal) {
        for (std::size_t i = 0; i < ops.size(); i++) {
            for (const std::uint32_t input : ops[i].inputs)
                uses_[input].reads++;
            Use& output = uses_[ops[i].output];
            is_in_order_ = is_in_order_ && output.writer == none && output.reads == 0;
            output.writer = i;
        }
    }

    std::vector<CpuChain> make() {
        for (std::size_t i = 0; i < ops_.size(); i++) {
            const std::size_t before = leader(i);
            if (before == none) {
                chain_of_.push_back(chains_.size());
                chains_.push_back({i, i, {}, {}, {}});
            } else {
                chain_of_.push_back(chain_of_[before]);
                follow(chains_[chain_of_[before]], i, before);
            }
        }
        std::ranges::sort(chains_, {}, &CpuChain::last);
        return std::move(chains_);
    }

private:
    struct Use {
        std::size_t reads = 0, writer = none;
    };

    // Returns the operator whose output `i` continues, or none.
    std::size_t leader(std::size_t i) {
        if (!is_in_order_)
            return none;
        const CpuOp& op = ops_[i];
        if (op.type == CpuOpType::unary)
            return writer_before(i, op.inputs[0]);
        if (op.type != CpuOpType::binary ||
            op.integers[0] != static_cast<std::int64_t>(cpu::Binary::add))
            return none;
        std::size_t latest = none;
        for (std::size_t side = 0; side < 2; side++) {
            const Tensor& other = tensors_[op.inputs[1 - side]];
            if (other.is_constant() || other.shape != tensors_[op.output].shape)
                continue;
            const std::size_t writer = writer_before(i, op.inputs[side]);
            if (writer != none && (latest == none || writer > latest))
                latest = writer;
        }
        return latest;
    }

    // Returns the operator that writes `tensor`, if `i` can continue it.
    std::size_t writer_before(std::size_t i, std::uint32_t tensor) {
        const Use& use = uses_[tensor];
        if (!is_internal_[tensor] || use.reads != 1 || use.writer == none || use.writer >= i ||
            tensors_[tensor].shape != tensors_[ops_[i].output].shape)
            return none;
        const CpuChain& chain = chains_[chain_of_[use.writer]];
        if (ops_[chain.first].type == CpuOpType::custom || chain.following.size() == most_following)
            return none;
        return use.writer;
    }

    void follow(CpuChain& chain, std::size_t i, std::size_t before) {
        const CpuOp& op = ops_[i];
        chain.last = i;
        chain.followers.push_back(i);
        if (op.type == CpuOpType::unary) {
            chain.following.push_back({static_cast<cpu::Unary>(op.integers[0]), op.reals});
            return;
        }
        chain.following.push_back({});
        chain.added.push_back(op.inputs[op.inputs[0] == ops_[before].output ? 1 : 0]);
    }

    const std::span<const CpuOp> ops_;
    const std::span<const Tensor> tensors_;
    const std::vector<bool>& is_internal_;
    std::unordered_map<std::uint32_t, Use> uses_; // by tensor
    // Each tensor is written at most once, and before it is read.  Only then can the first operator
    // of a chain run later than its place in the segment and still read the same data.
    bool is_in_order_ = true;
    std::vector<CpuChain> chains_;
    std::vector<std::size_t> chain_of_; // by operator
};

} // namespace

std::vector<CpuChain> cpu_chains(std::span<const CpuOp> ops, std::span<const Tensor> tensors,
                                 const std::vector<bool>& is_internal) {
    return Chains(ops, tensors, is_internal).make();
}

} // namespace overtake
