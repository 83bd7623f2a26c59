// SPDX-License-Identifier: MIT
//
// Convolutions in float32 by oneDNN, for operators of the CPU and for the compiler's float
// execution: in both, the same sums in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/operation.hpp"

namespace overtake::cpu {

/// A convolution over one to six axes, or a transposed one.  `few` has as many elements along an
/// axis as there are windows, `many` is what windows look at: target and source, of a transposed
/// one source and target.
struct ConvolutionShape {
    bool is_transposed = false;
    std::size_t groups = 1;
    Shape source, target;                               ///< batch, channels, then the axes
    Shape kernel;                                       ///< the axes alone
    std::vector<std::int64_t> strides, dilations, pads; ///< by axis; padding in front
    /// Those of the primitive.  With blocks of 16 it may use AVX-512.
    Layout blocks = Layout::blocked_8;
    /// How source and target lie in memory.
    Layout source_layout = Layout::planes, target_layout = Layout::planes;

    const Shape& few() const { return is_transposed ? source : target; }
    const Shape& many() const { return is_transposed ? target : source; }
    /// Weights are (channels of few, channels of many in a group, kernel...).
    std::size_t weights() const { return few()[1] * (many()[1] / groups) * elements(kernel); }
};

/// The shape of an operation that has passed check(), in planes.
ConvolutionShape shape_of_convolution(const Operation& operation);

/// A primitive of oneDNN's that was chosen once, with weights in the layout that it likes.  Of
/// those for AVX-512 it has none whose windows see more padding than half their length: version 3.7
/// computes them wrong.  Thread safe.
class ConvolutionPrimitive {
public:
    /// Null for what oneDNN has no such implementation for.  Of the layouts of `shape`, only
    /// `blocks` counts.  `weights` and `bias` may be empty: then each run has its own.  Otherwise
    /// they are copied.  `stored` are the same weights or none; they outlive the primitive, which
    /// reads them there if they have its format.  Throws Error ENOMEM and std::bad_alloc.
    static std::shared_ptr<const ConvolutionPrimitive> make(const ConvolutionShape& shape,
                                                            std::span<const float> weights,
                                                            std::span<const float> bias,
                                                            const StoredWeights& stored = {});
    ~ConvolutionPrimitive();

    /// Those that it knows, as it reads them; its own.  None where it knows none, or where their
    /// format has no name.
    StoredWeights weights() const;
    /// Whether it reads its source, or writes its target, in this layout, without a copy.
    bool reads(Layout layout) const;
    bool writes(Layout layout) const;
    /// Whether it has a copy of weights, or of a bias, so that runs bring none.
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
    const std::string format_; ///< of its weights
    std::vector<float> bias_;  ///< empty unless it is known; otherwise of whole blocks
};

/// A convolution through such a primitive.  One thread at a time.
class OneDnnConvolution {
public:
    /// Null for what there is no primitive for.  Throws as ConvolutionPrimitive::make().
    static std::unique_ptr<OneDnnConvolution> make(const ConvolutionShape& shape,
                                                   std::span<const float> weights,
                                                   std::span<const float> bias);
    /// With source and target in these layouts.  Throws Error ENOMEM and std::bad_alloc.
    OneDnnConvolution(std::shared_ptr<const ConvolutionPrimitive> primitive, Layout source,
                      Layout target);
    ~OneDnnConvolution();

    /// All of `source` to all of `target`; `weights` and `bias` count where the primitive knows
    /// none, and an empty bias is zero.  Allocates nothing.  Throws Error ENOMEM.
    void run(std::span<const float> source, std::span<const float> weights,
             std::span<const float> bias, std::span<float> target);

private:
    struct Sides;
    void add_bias(std::span<const float> bias, std::span<float> target) const;

    const std::shared_ptr<const ConvolutionPrimitive> primitive_;
    const Layout target_layout_;
    std::vector<float> bias_; ///< of the last run, unless the primitive knows it
    const std::unique_ptr<Sides> sides_;
};

} // namespace overtake::cpu
