// SPDX-License-Identifier: MIT
//
// A shared object with operators of its own, for tests: com.example.Affine, whose attributes are of
// every kind, and com.example.Fails.
#include <cerrno>
#include <stdexcept>

#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace {

using namespace overtake;

const OperatorAttribute& attribute(const OperatorDescription& node, const char* name) {
    const OperatorAttribute* found = node.find(name);
    if (!found)
        throw Error(EINVAL, "node '" + node.node + "' has no attribute " + name);
    return *found;
}

/// out = sign * (factor * in + sum of offsets + table[i % size of table]) + times, if mode is "on".
struct Affine : CustomOperator {
    explicit Affine(const OperatorDescription& node)
        : factor(attribute(node, "factor").reals.at(0)), offsets(attribute(node, "offsets").reals),
          times(attribute(node, "times").integers), sign(attribute(node, "sign").integers.at(0)),
          table(attribute(node, "table").reals),
          is_on(attribute(node, "mode").strings.at(0) == "on" &&
                attribute(node, "modes").strings.at(1) == "two" &&
                attribute(node, "table").shape == std::vector<std::int64_t>{1, 2}) {}

    void compute(std::span<const std::span<const float>> inputs, std::span<float> output) override {
        for (std::size_t i = 0; i < output.size(); i++) {
            float sum = factor * inputs[0][i] + table[i % table.size()];
            for (const float offset : offsets)
                sum += offset;
            output[i] = static_cast<float>(sign) * sum;
            for (const std::int64_t time : times)
                output[i] += static_cast<float>(time);
            if (!is_on)
                output[i] = -1;
        }
    }

    float factor;
    std::vector<float> offsets;
    std::vector<std::int64_t> times;
    std::int64_t sign;
    std::vector<float> table;
    bool is_on;
};

/// Fails if its input's first element is above 100.
struct Fails : CustomOperator {
    void compute(std::span<const std::span<const float>> inputs, std::span<float> output) override {
        if (inputs[0][0] > 100)
            throw std::runtime_error("an input above 100");
        for (std::size_t i = 0; i < output.size(); i++)
            output[i] = inputs[0][i];
    }
};

} // namespace

extern "C" __attribute__((visibility("default"))) int overtake_register_operators(void) {
    register_custom_operator("com.example", "Affine", [](const OperatorDescription& node) {
        return std::make_unique<Affine>(node);
    });
    register_custom_operator("com.example", "Fails",
                             [](const OperatorDescription&) { return std::make_unique<Fails>(); });
    return 0;
}
