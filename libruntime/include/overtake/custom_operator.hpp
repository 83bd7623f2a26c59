// SPDX-License-Identifier: MIT
//
// Custom operators: a program's own code for ONNX nodes of its own domain, computed on the CPU.
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
// (docs/reference/configuration.md).  A program registers an operator before it loads a model that
// has such nodes.
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
/// STRINGS `strings`; the elements of a TENSOR are in `integers` or `reals`, and `shape` is the
/// tensor's.
struct OperatorAttribute {
    std::string name;                   ///< as in the file
    std::vector<std::int64_t> integers; ///< INT: one element; INTS: several
    std::vector<float> reals;           ///< FLOAT: one element; FLOATS: several
    std::vector<std::string> strings;   ///< STRING: one element; STRINGS: several
    std::vector<std::int64_t> shape;    ///< TENSOR: its shape
};

/// A node of a model.
struct OperatorDescription {
    std::string domain;                             ///< the operator's domain
    std::string type;                               ///< the operator's name in the domain
    std::string node;                               ///< the node's name
    std::vector<OperatorAttribute> attributes;      ///< in the file's order
    std::vector<std::vector<std::uint32_t>> inputs; ///< shapes as in ONNX; a scalar's is {1}
    std::vector<std::uint32_t> output;              ///< its shape

    /// Returns the attribute called `name`, or null if the node has none.
    OVERTAKE_API const OperatorAttribute* find(const std::string& name) const;
};

/// Computes one node.  The factory makes one for each execution that goes on at a time.
class OVERTAKE_API CustomOperator {
public:
    virtual ~CustomOperator();
    /// Computes the output.  `inputs` and `output` are dense row-major arrays of exactly the
    /// description's shapes, valid during the call.  One thread calls it at a time.  An exception
    /// makes the task fail: Error with its code, any other with EIO.
    virtual void compute(std::span<const std::span<const float>> inputs,
                         std::span<float> output) = 0;
};

/// Makes an operator for a node.  If it throws Error, the model is refused.
using OperatorFactory =
    std::function<std::unique_ptr<CustomOperator>(const OperatorDescription& node)>;

/// Registers `factory` for models that are loaded from now on.  EEXIST if the domain has an
/// operator of that type already; EINVAL for an empty type or factory.
OVERTAKE_API void register_custom_operator(const std::string& domain, const std::string& type,
                                           OperatorFactory factory);

/// Makes the operator that is registered for the node's domain and type.  ENOENT, naming type and
/// node, if there is none; EINVAL if its factory returns null.
OVERTAKE_API std::unique_ptr<CustomOperator>
create_custom_operator(const OperatorDescription& node);

/// Loads a shared object, or all shared objects (*.so) of a directory in the order of their names.
/// Calls the function `int overtake_register_operators(void)` of each, which registers its
/// operators and returns 0.  An object is loaded and called once in a process, and stays loaded.
/// Error, naming the file: ENOEXEC for a file that is no shared object; EINVAL for a file that is
/// not regular, or without the function, or whose function does not return 0; the code of an Error
/// that the function throws; the errno of reading the directory (ENOENT, say).
OVERTAKE_API void load_custom_operators(const std::string& path);

} // namespace overtake
