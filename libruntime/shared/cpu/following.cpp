// SPDX-License-Identifier: MIT
//
// Functions and sums that follow an operation and are computed in place on its output: activations
// and residual connections.  They are not post-operations of oneDNN, whose Relu turns NaN into 0
// and whose sums come before the others: here the bits are those of the separate operators.
#include <algorithm>
#include <utility>

#include "cpu/table.hpp"
#include "cpu/vectors.hpp"

namespace overtake::cpu {

namespace {

constexpr std::size_t at_once = 4096; // floats: they stay in the CPU's first cache

void add(float* values, const float* others, std::size_t count) {
    with_vectors([values, others, count] {
        for (std::size_t i = 0; i < count; i++)
            values[i] += others[i];
    });
}

class WithFollowing : public Prepared {
public:
    WithFollowing(const Operation& operation, std::shared_ptr<const Prepared> alone)
        : output_(operation.output), costs_(operation.costs), alone_(std::move(alone)) {
        for (const Following& next : operation.following) {
            steps_.push_back(next.function ? unary_in_place(*next.function, next.reals)
                                           : InPlace());
            added_ += !next.function;
        }
    }

    std::vector<NodeForm> forms() const override {
        std::vector<NodeForm> forms = alone_->forms();
        for (NodeForm& form : forms) {
            form.inputs.insert(form.inputs.end(), added_, form.output);
            const std::size_t stored = stored_elements(output_, static_cast<Layout>(form.output));
            form.ns += costs_.following * static_cast<double>(steps_.size() * stored);
        }
        return forms;
    }

    Kernel kernel(const NodeForm& form) const override {
        NodeForm of_alone = form;
        of_alone.inputs.resize(form.inputs.size() - added_);
        const std::vector<NodeForm> whole = forms();
        const auto number =
            static_cast<std::size_t>(std::ranges::find(whole, form) - whole.begin());
        const auto blocks = static_cast<Layout>(form.output);
        return [kernel = alone_->kernel(alone_->forms()[number]), steps = steps_, output = output_,
                blocks, own = of_alone.inputs.size(), first = Inputs(of_alone.inputs.size())](
                   const Inputs& in, std::span<float> out) mutable {
            std::copy_n(in.begin(), own, first.begin());
            kernel(first, out);
            for (std::size_t at = 0; at < out.size(); at += at_once) {
                const std::size_t count = std::min(at_once, out.size() - at);
                std::size_t next = own;
                for (const InPlace& step : steps)
                    if (step)
                        step(out.data() + at, count);
                    else
                        add(out.data() + at, in[next++].data() + at, count);
            }
            if (is_blocked(blocks))
                clear_spare_lanes(output, blocks, out);
        };
    }

    StoredWeights weights() const override { return alone_->weights(); }
    bool has_copy_of(std::size_t input) const override { return alone_->has_copy_of(input); }

private:
    const Shape output_;
    const LayoutCosts costs_;
    const std::shared_ptr<const Prepared> alone_;
    std::vector<InPlace> steps_; // an empty step adds an input
    std::size_t added_ = 0;
};

} // namespace

std::shared_ptr<const Prepared> with_following(const Operation& operation,
                                               std::shared_ptr<const Prepared> alone) {
    return std::make_shared<WithFollowing>(operation, std::move(alone));
}

} // namespace overtake::cpu
