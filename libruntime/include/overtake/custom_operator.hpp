// SPDX-License-Identifier: MIT
//
// Custom operators: code of a program for ONNX nodes of a domain of its own, computed on the CPU.
//
//     struct Double : overtake::CustomOperator {
//         void compute(std::span<const std::span<const float>> in, std::span<float> out) override {
//             std::ranges::transform(in[0], out.begin(), [](float x) { return 2 * x; });
//         }
//     };
//     overtake::register_custom_operator("com.example", "Double", [](const auto&) {
//         return std::make_unique<Double>();
//     });
//
// The compiler takes the nodes of the domains that its configuration lists
// (docs/reference/configuration.md). Register before a model that has them is loaded.
//
// Thread safety: all functions, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overtake/export.hpp"

namespace overtake {

/// An attribute of an ONNX node: INT and INTS are `integers`, FLOAT and FLOATS `reals`, STRING and
/// STRINGS `strings`; the elements of a TENSOR are in one of the first two, and `shape` is its own.
struct OperatorAttribute {
    std::string name;                   ///< as in the file
    std::vector<std::int64_t> integers; ///< one of INT, several of INTS
    std::vector<float> reals;           ///< likewise of FLOAT and FLOATS
    std::vector<std::string> strings;   ///< likewise of STRING and STRINGS
    std::vector<std::int64_t> shape;    ///< of a tensor
};

/// A node of a model.
struct OperatorDescription {
    std::string domain;                             ///< of the operator
    std::string type;                               ///< the operator's name in the domain
    std::string node;                               ///< its name
    std::vector<OperatorAttribute> attributes;      ///< in the order of the file
    std::vector<std::vector<std::uint32_t>> inputs; ///< shapes as in ONNX; a scalar's is {1}
    std::vector<std::uint32_t> output;              ///< shape

    /// Null if the node has none of that name.
    OVERTAKE_API const OperatorAttribute* find(const std::string& name) const;
};

/// What computes one node.  Made for each execution that goes on at a time.
class OVERTAKE_API CustomOperator {
public:
    virtual ~CustomOperator();
    /// Dense row-major arrays of exactly the description's shapes, valid during the call.  One
    /// thread at a time.  What it throws makes the task fail: Error with its code, other
    /// exceptions with EIO.
    virtual void compute(std::span<const std::span<const float>> inputs,
                         std::span<float> output) = 0;
};

/// Makes an operator for a node.  May throw Error; then the model is refused.
using OperatorFactory =
    std::function<std::unique_ptr<CustomOperator>(const OperatorDescription& node)>;

/// From now on models find it.  EEXIST if the domain has such a type already; EINVAL for an empty
/// type or factory.
OVERTAKE_API void register_custom_operator(const std::string& domain, const std::string& type,
                                           OperatorFactory factory);

/// What has been registered for the node, made for it.  ENOENT, naming type and node, if nothing
/// has.
OVERTAKE_API std::unique_ptr<CustomOperator>
create_custom_operator(const OperatorDescription& node);

/// Loads a shared object, or all (*.so) of a directory in the order of their names, and calls the
/// function `int overtake_register_operators(void)` of each, which registers what it has and
/// returns 0.  Each once; they stay loaded.  ENOENT, ENOEXEC or EINVAL, naming the file.
OVERTAKE_API void load_custom_operators(const std::string& path);

} // namespace overtake
