// SPDX-License-Identifier: MIT
#include "compiler/lower/pack_weights.hpp"

#include <algorithm>

#include "compiler/lower/memory_plan.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

constexpr std::uint32_t block = OVERTAKE_WEIGHT_BLOCK;

std::uint32_t whole_blocks(std::uint32_t channels) {
    return (channels + block - 1) / block * block;
}

} // namespace

// Packs weights in tiles of 8 outputs by 2 inputs: [group][o / 8][ky][kx][i / 2][o % 8][i % 2].
std::vector<std::int8_t> pack_convolution(const op::Convolution& convolution,
                                          const QuantisedNode& quantised,
                                          std::uint32_t inputs_of_group) {
    const std::uint32_t outputs =
        static_cast<std::uint32_t>(convolution.bias.size()) / convolution.groups;
    const std::uint32_t positions =
        convolution.window.kernel_height * convolution.window.kernel_width;
    constexpr std::size_t tile_inputs = OVERTAKE_WEIGHT_INPUTS;
    const std::size_t input_blocks = (inputs_of_group + tile_inputs - 1) / tile_inputs;
    const std::size_t output_blocks = whole_blocks(outputs) / block;
    std::vector<std::int8_t> packed(convolution.groups * output_blocks * positions * input_blocks *
                                    OVERTAKE_WEIGHT_TILE);
    std::size_t source = 0;
    for (std::uint32_t group = 0; group < convolution.groups; ++group)
        for (std::uint32_t o = 0; o < outputs; ++o)
            for (std::uint32_t i = 0; i < inputs_of_group; ++i)
                for (std::uint32_t position = 0; position < positions; ++position) {
                    const std::size_t tile =
                        ((group * output_blocks + o / block) * positions + position) *
                            input_blocks +
                        i / tile_inputs;
                    packed[(tile * block + o % block) * tile_inputs + i % tile_inputs] =
                        quantised.weights[source++];
                }
    return packed;
}

// Packs weights as [ky][kx][channels rounded up to 8].
std::vector<std::int8_t> pack_depthwise(const op::Convolution& convolution,
                                        const QuantisedNode& quantised) {
    const auto channels = static_cast<std::uint32_t>(convolution.bias.size());
    const std::size_t positions =
        convolution.window.kernel_height * convolution.window.kernel_width;
    std::vector<std::int8_t> packed(positions * whole_blocks(channels));
    for (std::uint32_t channel = 0; channel < channels; ++channel)
        for (std::size_t position = 0; position < positions; ++position)
            packed[position * whole_blocks(channels) + channel] =
                quantised.weights[channel * positions + position];
    return packed;
}

// Packs bias, multiplier and shift, each of `channels` rounded up to 8 words.
std::vector<std::uint32_t> pack_parameters(const QuantisedNode& quantised) {
    const std::size_t count = whole_blocks(static_cast<std::uint32_t>(quantised.bias.size()));
    std::vector<std::uint32_t> words(3 * count);
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(2 * count), words.end(),
              OVERTAKE_SHIFT_MIN);
    for (std::size_t channel = 0; channel < quantised.bias.size(); ++channel) {
        words[channel] = static_cast<std::uint32_t>(quantised.bias[channel]);
        words[count + channel] = quantised.requantise[channel].multiplier;
        words[2 * count + channel] = quantised.requantise[channel].shift;
    }
    return words;
}

// Packs multiplier and shift for each number of positions from 1.
std::vector<std::uint32_t> pack_average(const QuantisedNode& quantised) {
    std::vector<std::uint32_t> words;
    for (const FixedScale& scale : quantised.requantise)
        words.push_back(scale.multiplier);
    for (const FixedScale& scale : quantised.requantise)
        words.push_back(scale.shift);
    return words;
}

std::vector<std::int8_t> pack_constant(const Value& value, const Quantisation& quantisation) {
    const Place place = dense_place(value);
    std::vector<std::int8_t> packed(place.bytes);
    for (std::size_t image = 0; image < value.batch; ++image)
        for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
            const float real = value.constant[image * value.elements_of_image() + index];
            const std::uint64_t offset = image * place.image_stride +
                                         std::uint64_t{y} * place.row_stride +
                                         std::uint64_t{x} * place.pixel_stride +
                                         std::uint64_t{channel} * value.element_bytes();
            quantisation.store(quantisation.nearest(real), &packed[offset]);
        });
    return packed;
}

} // namespace overtake::compiler
