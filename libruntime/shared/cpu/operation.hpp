// SPDX-License-Identifier: MIT
//
// Operators of the CPU: float32 in and out, dense row-major arrays of any rank.  One table serves
// the runtime (CPU segments), the model reader (checks) and the compiler (float execution), so all
// three mean the same.  Integers and truth values are held as float32, exact up to 2^24.
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

/// Weights as a primitive of oneDNN's reads them.
struct StoredWeights {
    std::string_view format; ///< sizes, strides and blocks; empty: none
    std::span<const float> values;
};

/// What is done to an operation's output in place, in the same layout.
struct Following {
    std::optional<Unary> function; ///< of each element; none: the next input is added
    std::vector<float> reals;      ///< the function's
};

/// One operator with everything known before it runs.  What `integers` and `reals` mean is said
/// beside each operator's check.
struct Operation {
    CpuOpType type;
    std::vector<std::int64_t> integers;
    std::vector<float> reals;
    std::vector<Shape> inputs;
    Shape output;
    /// Of a custom one; its shapes are those above.
    std::shared_ptr<const OperatorDescription> custom = nullptr;
    /// By input, its values where each run has the same ones, empty where it has not.  They
    /// outlive what prepare() makes of the operation.
    std::vector<std::span<const float>> known = {};
    /// The blocks that its forms have beside planes.  With blocks of 16 a convolution may use
    /// AVX-512, and adds in another order than with blocks of 8; a form's layout changes no sum.
    Layout blocks = Layout::blocked_8;
    /// Of a convolution whose weights are known: the same as `format` has them, or none.  They
    /// outlive what prepare() makes of the operation.
    StoredWeights stored = {};
    LayoutCosts costs = {}; ///< by which forms() are priced
    /// In this order; what they add are the last of `inputs`, of the output's shape.
    std::vector<Following> following = {};
};

/// Computes the output from arrays of exactly the operation's shapes, in the layouts that it was
/// made for.  Throws Error where data make it impossible (an index that leaves its tensor).  From
/// its second run on it allocates nothing; oneDNN and a program's own operator may.  One thread at
/// a time.
using Kernel = std::function<void(const Inputs&, std::span<float>)>;

/// What an operator of a model is.
Operation operation_of(std::span<const Tensor> tensors, const CpuOp& op);

/// Why the operation is unsound, or nothing.  What passes cannot leave its arrays, whatever the
/// data.
std::string check(const Operation& operation);

/// What all kernels of one operation share: weights as they are read, code that was generated.
/// Thread safe.
class Prepared {
public:
    Prepared() = default;
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    virtual ~Prepared() = default;

    /// In which layouts it can compute, and how long that takes by the operation's costs; the
    /// first one has planes alone.
    virtual std::vector<NodeForm> forms() const = 0;
    /// A kernel for one of forms(), which shares what is prepared.  Throws Error ENOMEM, and
    /// ENOENT for a custom operator that is not registered.
    virtual Kernel kernel(const NodeForm& form) const = 0;
    /// Those of a convolution that knows its weights; its own, as long as it lives.
    virtual StoredWeights weights() const { return {}; }
    /// Whether kernels have a copy of what Operation::known says of this input: then they read
    /// neither that nor what a run gives them for it.
    virtual bool has_copy_of(std::size_t /*input*/) const { return false; }
};

/// The operation has passed check().  Throws Error ENOMEM.
std::shared_ptr<const Prepared> prepare(const Operation& operation);

/// In planes, of an operation whose known values are needed no longer.  Throws Error as prepare()
/// and Prepared::kernel().
Kernel make_kernel(const Operation& operation);

/// "Softmax", ...; null for a number that is no operator.
const char* name_of(CpuOpType type);

// Numbers in Operation::integers.

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
    count // one behind the last
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

/// What an update makes of an element.
enum class Scatter : std::int64_t { replace, add, multiply, maximum, minimum, count };

enum class GridMode : std::int64_t { bilinear, nearest, bicubic, count };

/// Of positions outside a picture.
enum class GridPadding : std::int64_t { zeros, border, reflection, count };

/// What is kept of the samples of a region.
enum class RegionPool : std::int64_t { average, maximum, count };

enum class Recurrence : std::int64_t { rnn, gru, lstm, count };

/// The function of one element; `reals` are its parameters (missing ones count as 0).
std::function<float(float)> unary_function(Unary function, const std::vector<float>& reals);

// What the operators' files give the table.

/// Elements in front of, along and behind an axis.
struct Extents {
    std::size_t outer, length, inner;
};
Extents around(const Shape& shape, std::size_t axis);
/// Row-major strides, 0 where `shape` has 1 and `target` (of at least its rank) does not.
std::vector<std::size_t> broadcast_strides(const Shape& shape, const Shape& target);
/// Empty if the shapes do not fit each other.
Shape broadcast(const Shape& left, const Shape& right);

} // namespace overtake::cpu
