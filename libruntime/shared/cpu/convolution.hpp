// SPDX-License-Identifier: MIT
//
// Convolutions in float32 by oneDNN, for operators of the CPU and for the compiler's float
// execution: both compute the same sums in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/operation.hpp"

namespace overtake::cpu {

/// A convolution over one to six axes, or a transposed one.  `few` has one element for each window,
/// `many` has the elements that the windows cover.  In a convolution `few` is the target and `many`
/// the source; in a transposed one it is the other way round.
struct ConvolutionShape {
    bool is_transposed = false;
    std::size_t groups = 1;
    Shape source, target;                               ///< batch, channels, then the axes
    Shape kernel;                                       ///< the axes alone
    std::vector<std::int64_t> strides, dilations, pads; ///< by axis; padding in front
    /// The blocks of the primitive.  With blocks of 16 it may use AVX-512.
    Layout blocks = Layout::blocked_8;
    /// The layouts of source and target in memory.
    Layout source_layout = Layout::planes, target_layout = Layout::planes;

    const Shape& few() const { return is_transposed ? source : target; }
    const Shape& many() const { return is_transposed ? target : source; }
    /// Weights are (channels of few, channels of many in a group, kernel...).
    std::size_t weights() const { return few()[1] * (many()[1] / groups) * elements(kernel); }
};

/// Returns the shape of an operation that has passed check(), in planes.
ConvolutionShape shape_of_convolution(const Operation& operation);

/// A primitive of oneDNN that was chosen once, with weights in the layout that it prefers.  It is
/// no AVX-512 primitive if its windows see more padding than half their length: version 3.7
/// computes these wrong.  Thread safe.
class ConvolutionPrimitive {
public:
    /// Returns null if oneDNN has no such implementation.  Of the layouts of `shape`, only `blocks`
    /// counts.  `weights` and `bias` may be empty: then each run has its own.  Otherwise they are
    /// copied.  `stored` holds the same weights or none.  The stored values outlive the primitive,
    /// which reads them if they have its format.  Throws Error ENOMEM and std::bad_alloc.
    static std::shared_ptr<const ConvolutionPrimitive> make(const ConvolutionShape& shape,
                                                            std::span<const float> weights,
                                                            std::span<const float> bias,
                                                            const StoredWeights& stored = {});
    ~ConvolutionPrimitive();

    /// Returns the weights that it knows, in its own layout; the primitive owns them.  Returns none
    /// if it knows none, or if their format has no name.
    StoredWeights weights() const;
    /// Whether it reads its source, or writes its target, in this layout without a copy.
    bool reads(Layout layout) const;
    bool writes(Layout layout) const;
    /// Whether it has a copy of the weights, or of a bias, so that runs pass none.
    bool knows_weights() const { return knows_weights_; }
    bool knows_bias() const { return !bias_.empty(); }

private:
    friend class OneDnnConvolution;
    struct Primitive;
    ConvolutionPrimitive(const ConvolutionShape& shape, std::unique_ptr<Primitive> primitive,
                         std::span<const float> weights, std::span<const float> bias,
                         const StoredWeights& stored);
    void take_weights(std::span<const float> weights, const StoredWeights& stored);

    const ConvolutionShape shape_;
    const std::unique_ptr<Primitive> primitive_;
    const bool knows_weights_;
    const std::string format_; ///< of the weights
    std::vector<float> bias_;  ///< empty: each run has its own; else padded to whole blocks
};

/// A convolution through such a primitive.  One thread at a time.
class OneDnnConvolution {
public:
    /// Returns null if there is no primitive.  Throws as ConvolutionPrimitive::make().
    static std::unique_ptr<OneDnnConvolution> make(const ConvolutionShape& shape,
                                                   std::span<const float> weights,
                                                   std::span<const float> bias);
    /// Takes source and target in these layouts.  Throws Error ENOMEM and std::bad_alloc.
    OneDnnConvolution(std::shared_ptr<const ConvolutionPrimitive> primitive, Layout source,
                      Layout target);
    ~OneDnnConvolution();

    /// Computes all of `target` from all of `source`.  `weights` counts only if the primitive has
    /// no copy of the weights, `bias` only if it has no copy of a bias.  An empty bias is zero.
    /// Allocates nothing.  Throws Error ENOMEM.
    void run(std::span<const float> source, std::span<const float> weights,
             std::span<const float> bias, std::span<float> target);

private:
    struct Sides;
    void add_bias(std::span<const float> bias, std::span<float> target) const;

    const std::shared_ptr<const ConvolutionPrimitive> primitive_;
    const Layout target_layout_;
    std::vector<float> bias_; ///< of the last run; empty if the primitive knows it
    const std::unique_ptr<Sides> sides_;
};

} // namespace overtake::cpu
