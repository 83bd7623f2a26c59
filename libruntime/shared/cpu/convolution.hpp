// SPDX-License-Identifier: MIT
//
// Convolutions in float32 by oneDNN, for operators of the CPU and for the compiler's float
// execution: in both, the same sums in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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
    /// How source and target lie in memory: with channels behind the axes, or before them.
    bool source_has_channels_last = false, target_has_channels_last = false;

    const Shape& few() const { return is_transposed ? source : target; }
    const Shape& many() const { return is_transposed ? target : source; }
    /// Weights are (channels of few, channels of many in a group, kernel...).
    std::size_t weights() const { return few()[1] * (many()[1] / groups) * elements(kernel); }
};

/// The shape of an operation that has passed check(), in planes.
ConvolutionShape shape_of_convolution(const Operation& operation);

/// A convolution through a primitive of oneDNN's that was chosen once.  Implementations for AVX-512
/// are left out, since version 3.7 has wrong ones.  One thread at a time.
class OneDnnConvolution {
public:
    /// Null for what oneDNN has no such implementation for.  `weights` and `bias` may be empty:
    /// then each run has its own.  Otherwise they are copied, weights in the layout that the
    /// primitive likes.  Throws Error ENOMEM and std::bad_alloc.
    static std::unique_ptr<OneDnnConvolution> make(const ConvolutionShape& shape,
                                                   std::span<const float> weights,
                                                   std::span<const float> bias);
    ~OneDnnConvolution();

    /// All of `source` to all of `target`; `weights` and `bias` count where make() had none, and an
    /// empty bias is zero.  Allocates nothing.  Throws Error ENOMEM.
    void run(std::span<const float> source, std::span<const float> weights,
             std::span<const float> bias, std::span<float> target);

private:
    struct Primitives;
    OneDnnConvolution(const ConvolutionShape& shape, std::unique_ptr<Primitives> primitives);
    void take_weights(std::span<const float> weights);
    void add_bias(std::span<float> target) const;

    const ConvolutionShape shape_;
    const std::unique_ptr<Primitives> primitives_;
    std::vector<float> bias_;
    bool knows_weights_ = false, knows_bias_ = false;
};

} // namespace overtake::cpu
