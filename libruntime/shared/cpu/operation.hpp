// SPDX-License-Identifier: MIT
//
// Operators of the CPU: float32 in and out, in the layouts of cpu/layout.hpp.  The runtime (CPU
// segments), the model reader (checks) and the compiler (float execution) use the same table, so an
// operator means the same in all three.  Integers and truth values are held as float32, exact up to
// 2^24.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/layout.hpp"
#include "cpu/layout_costs.hpp"
#include "cpu/layout_plan.hpp"
#include "overtake/model_contents.hpp"

namespace overtake::cpu {

using Inputs = std::vector<std::span<const float>>;

enum class Unary : std::int64_t;

/// Weights in the layout that a primitive of oneDNN reads.
struct StoredWeights {
    std::string_view format; ///< sizes, strides and blocks; empty: none
    std::span<const float> values;
};

/// An operation in place on an operation's output, in the same layout.
struct Following {
    std::optional<Unary> function; ///< applied to each element; none: adds the next input
    std::vector<float> reals;      ///< the parameters of the function
};

/// One operator with everything that is known before it runs.  The comment at each operator's check
/// explains `integers` and `reals`.
struct Operation {
    CpuOpType type;
    std::vector<std::int64_t> integers;
    std::vector<float> reals;
    std::vector<Shape> inputs;
    Shape output;
    /// The description of a custom operator; its shapes are those above.
    std::shared_ptr<const OperatorDescription> custom = nullptr;
    /// By input: its values if each run has the same ones, else empty.  They outlive the result of
    /// prepare().
    std::vector<std::span<const float>> known = {};
    /// The blocks that its forms have beside planes.  With blocks of 16 a convolution may use
    /// AVX-512, and then adds in another order than with blocks of 8; the layout of a form changes
    /// no sum.
    Layout blocks = Layout::blocked_8;
    /// The weights of a convolution, if they are known: the same values in the layout of `format`,
    /// or none.  They outlive the result of prepare().
    StoredWeights stored = {};
    LayoutCosts costs = {}; ///< the costs that forms() uses
    /// Applied in this order; the inputs that they add are the last of `inputs`, of the output's
    /// shape.
    std::vector<Following> following = {};
};

/// Computes the output from arrays of exactly the operation's shapes, in the layouts that the
/// kernel was made for.  Throws Error if data make it impossible (an index that leaves its tensor).
/// From its second run on it allocates nothing, except that oneDNN and a program's own operator
/// may.  One thread at a time.
using Kernel = std::function<void(const Inputs&, std::span<float>)>;

/// Returns the operation of a model's operator.
Operation operation_of(std::span<const Tensor> tensors, const CpuOp& op);

/// Returns the reason why the operation is unsound; empty if it is sound.  An operation that passes
/// cannot leave its arrays, whatever the data.
std::string check(const Operation& operation);

/// The data that all kernels of one operation share: weights in the layout that is read, generated
/// code.  Thread safe.
class Prepared {
public:
    Prepared() = default;
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    virtual ~Prepared() = default;

    /// The layouts in which it can compute, with the times by the operation's costs; the first form
    /// has only planes.
    virtual std::vector<NodeForm> forms() const = 0;
    /// Returns a kernel for one of forms(), which shares the prepared data.  Throws Error ENOMEM,
    /// and ENOENT for a custom operator that is not registered.
    virtual Kernel kernel(const NodeForm& form) const = 0;
    /// Returns the weights of a convolution that knows them; this object owns them.
    virtual StoredWeights weights() const { return {}; }
    /// Whether kernels have a copy of Operation::known of this input: then they read neither that
    /// nor the input that a run passes.
    virtual bool has_copy_of(std::size_t /*input*/) const { return false; }
};

/// Takes an operation that has passed check().  Throws Error ENOMEM.
std::shared_ptr<const Prepared> prepare(const Operation& operation);

/// Makes a kernel in planes; the operation's known values are not needed any more.  Throws Error as
/// prepare() and Prepared::kernel().
Kernel make_kernel(const Operation& operation);

/// Returns "Softmax", ...; null for a number that is no operator.
const char* name_of(CpuOpType type);

// The numbers in Operation::integers.

enum class Unary : std::int64_t {
    identity,
    absolute,
    negate,
    exponential,
    logarithm,
    square_root,
    reciprocal,
    error_function,
    tangent_hyperbolic,
    sigmoid,
    floor,
    ceiling,
    round,
    sign,
    sine,
    cosine,
    tangent,
    arc_sine,
    arc_cosine,
    arc_tangent,
    sine_hyperbolic,
    cosine_hyperbolic,
    area_sine,
    area_cosine,
    area_tangent,
    relu,
    clip,
    leaky_relu,
    elu,
    celu,
    selu,
    softplus,
    softsign,
    hard_sigmoid,
    hard_swish,
    thresholded_relu,
    shrink,
    gelu,
    mish,
    logical_not,
    is_nan,
    is_infinite,
    truncate,
    truth,
    count // one after the last
};

enum class Binary : std::int64_t {
    add,
    subtract,
    multiply,
    divide,
    power,
    maximum,
    minimum,
    integer_divide,
    modulo,
    floating_modulo,
    equal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    logical_and,
    logical_or,
    logical_xor,
    parametric_relu,
    count
};

enum class Reduction : std::int64_t {
    sum,
    mean,
    maximum,
    minimum,
    product,
    sum_of_squares,
    l1,
    l2,
    log_sum,
    log_sum_exp,
    first_greatest,
    last_greatest,
    first_least,
    last_least,
    count
};

enum class Padding : std::int64_t { constant, edge, reflect, wrap, count };

/// The effect of an update on an element.
enum class Scatter : std::int64_t { replace, add, multiply, maximum, minimum, count };

enum class GridMode : std::int64_t { bilinear, nearest, bicubic, count };

/// The values of positions outside a picture.
enum class GridPadding : std::int64_t { zeros, border, reflection, count };

/// The value that is made from the samples of a region.
enum class RegionPool : std::int64_t { average, maximum, count };

enum class Recurrence : std::int64_t { rnn, gru, lstm, count };

/// Returns the function of one element; `reals` are its parameters (missing ones count as 0).
std::function<float(float)> unary_function(Unary function, const std::vector<float>& reals);

// The functions that the operators' files use for the table.

/// The elements before, along and after an axis.
struct Extents {
    std::size_t outer, length, inner;
};
Extents around(const Shape& shape, std::size_t axis);
/// Returns row-major strides by axis of `target`, which has at least the rank of `shape`; 0 along
/// axes that `shape` lacks or has with size 1.
std::vector<std::size_t> broadcast_strides(const Shape& shape, const Shape& target);
/// Returns the joint shape; empty if the shapes do not fit each other.
Shape broadcast(const Shape& left, const Shape& right);

} // namespace overtake::cpu
