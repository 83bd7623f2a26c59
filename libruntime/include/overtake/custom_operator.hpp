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
// Thread safety: any thread may call the functions of this file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overtake/export.hpp"

namespace overtake {

/// An attribute of an ONNX node.  INT and INTS are in `integers`, FLOAT and FLOATS in `reals`,
/// STRING and STRINGS in `strings`.  The elements of a TENSOR are in `integers` or `reals`, and its
/// shape is in `shape`.
struct OperatorAttribute {
    std::string name;                   ///< its name in the model
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
    std::vector<std::vector<std::uint32_t>> inputs; ///< shapes as in ONNX; {1} for a scalar
    std::vector<std::uint32_t> output;              ///< shape of the output

    /// Returns the attribute called `name`, or null if the node has none.
    OVERTAKE_API const OperatorAttribute* find(const std::string& name) const;
};

/// Computes one node.  The factory makes one object for each inference that can run at the same
/// time.
class OVERTAKE_API CustomOperator {
public:
    virtual ~CustomOperator();
    /// Computes the output.  `inputs` and `output` are dense row-major arrays with exactly the
    /// shapes of the description, valid during the call.  One thread at a time calls it.  If it
    /// throws, the task fails: with the code of an Error, with ENOMEM for std::bad_alloc, with EIO
    /// for any other std::exception.
    virtual void compute(std::span<const std::span<const float>> inputs,
                         std::span<float> output) = 0;
};

/// Makes an operator for a node.  If it throws Error, the model is refused.
using OperatorFactory =
    std::function<std::unique_ptr<CustomOperator>(const OperatorDescription& node)>;

/// Registers `factory` for models that are loaded from now on.  EEXIST if an operator of that
/// domain and type is registered already; EINVAL for an empty type or factory.
OVERTAKE_API void register_custom_operator(const std::string& domain, const std::string& type,
                                           OperatorFactory factory);

/// Makes the operator that is registered for the node's domain and type.  ENOENT, naming type and
/// node, if no operator is registered; EINVAL if its factory returns null; or what the factory
/// throws.
OVERTAKE_API std::unique_ptr<CustomOperator>
create_custom_operator(const OperatorDescription& node);

/// Loads a shared object, or all shared objects (*.so) of a directory in the order of their names.
/// Calls the function `int overtake_register_operators(void)` of each, which registers its
/// operators and returns 0.  An object is loaded and called once in a process, even if that call
/// fails, and stays loaded.  Error, naming the file: ENOEXEC for a file that cannot be loaded as a
/// shared object; EINVAL for a file of a directory that is not regular, for an object without the
/// function, or if the function does not return 0; the code of an Error that the function throws;
/// the errno of reading the directory, for example ENOENT.
OVERTAKE_API void load_custom_operators(const std::string& path);

} // namespace overtake
