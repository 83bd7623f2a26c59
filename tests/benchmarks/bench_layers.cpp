// SPDX-License-Identifier: MIT
#include "bench_layers.hpp"

#include <ctime>

#include <fmt/format.h>
#include <immintrin.h>

namespace overtake::bench {

namespace {

Layer convolution(const char* network, unsigned size, unsigned in, unsigned out, unsigned kernel,
                  unsigned stride) {
    return {network, size, size, in, out, kernel, stride, kernel / 2};
}

Layer depthwise(unsigned size, unsigned channels, unsigned stride) {
    return {"MobileNetV2", size, size, channels, channels, 3, stride, 1, true};
}

Layer times(unsigned count, Layer layer) {
    layer.count = count;
    return layer;
}

Layer with_signed_inputs(Layer layer) {
    layer.signed_inputs = true;
    return layer;
}

} // namespace

std::string Layer::name() const {
    const std::string channels = depthwise ? fmt::format("depthwise {}", in_channels)
                                           : fmt::format("{} to {}", in_channels, out_channels);
    return fmt::format("{}x{}{} {}, {}x{}{}", kernel, kernel, stride > 1 ? "/2" : "", channels,
                       in_height, in_width, signed_inputs ? ", signed" : "");
}

const std::vector<Layer> layers = {
    convolution("ResNet-18", 224, 3, 64, 7, 2),
    times(4, convolution("ResNet-18", 56, 64, 64, 3, 1)),
    convolution("ResNet-18", 56, 64, 128, 3, 2),
    convolution("ResNet-18", 56, 64, 128, 1, 2),
    times(3, convolution("ResNet-18", 28, 128, 128, 3, 1)),
    convolution("ResNet-18", 28, 128, 256, 3, 2),
    convolution("ResNet-18", 28, 128, 256, 1, 2),
    times(3, convolution("ResNet-18", 14, 256, 256, 3, 1)),
    convolution("ResNet-18", 14, 256, 512, 3, 2),
    convolution("ResNet-18", 14, 256, 512, 1, 2),
    times(3, convolution("ResNet-18", 7, 512, 512, 3, 1)),
    convolution("ResNet-18", 1, 512, 1000, 1, 1),
    convolution("MobileNetV2", 224, 3, 32, 3, 2),
    depthwise(112, 32, 1),
    convolution("MobileNetV2", 112, 32, 16, 1, 1),
    convolution("MobileNetV2", 112, 16, 96, 1, 1),
    depthwise(112, 96, 2),
    convolution("MobileNetV2", 56, 96, 24, 1, 1),
    times(2, convolution("MobileNetV2", 56, 24, 144, 1, 1)),
    depthwise(56, 144, 1),
    convolution("MobileNetV2", 56, 144, 24, 1, 1),
    depthwise(56, 144, 2),
    convolution("MobileNetV2", 28, 144, 32, 1, 1),
    times(3, convolution("MobileNetV2", 28, 32, 192, 1, 1)),
    times(2, depthwise(28, 192, 1)),
    times(2, convolution("MobileNetV2", 28, 192, 32, 1, 1)),
    depthwise(28, 192, 2),
    convolution("MobileNetV2", 14, 192, 64, 1, 1),
    times(4, convolution("MobileNetV2", 14, 64, 384, 1, 1)),
    times(4, depthwise(14, 384, 1)),
    times(3, convolution("MobileNetV2", 14, 384, 64, 1, 1)),
    convolution("MobileNetV2", 14, 384, 96, 1, 1),
    times(3, convolution("MobileNetV2", 14, 96, 576, 1, 1)),
    times(2, depthwise(14, 576, 1)),
    times(2, convolution("MobileNetV2", 14, 576, 96, 1, 1)),
    depthwise(14, 576, 2),
    convolution("MobileNetV2", 7, 576, 160, 1, 1),
    times(3, convolution("MobileNetV2", 7, 160, 960, 1, 1)),
    times(3, depthwise(7, 960, 1)),
    times(2, convolution("MobileNetV2", 7, 960, 160, 1, 1)),
    convolution("MobileNetV2", 7, 960, 320, 1, 1),
    convolution("MobileNetV2", 7, 320, 1280, 1, 1),
    convolution("MobileNetV2", 1, 1280, 1000, 1, 1),
    with_signed_inputs(convolution("ResNet-18", 1, 512, 1000, 1, 1)),
    with_signed_inputs(convolution("MobileNetV2", 1, 1280, 1000, 1, 1)),
};

double now_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

unsigned long peak_loop(int rounds) {
    constexpr unsigned long products = 12 * 16;
    const __m256i a = _mm256_set1_epi16(3), b = _mm256_set1_epi16(5);

    // Two products and two sums in turns, 6 times over; ymm0 to ymm11 are the sums.
#define MULTIPLY_ADD(first, second)                                                                \
    "vpmaddwd %[a], %[b], %%ymm14\n\tvpmaddwd %[a], %[b], %%ymm15\n\t"                             \
    "vpaddd %%ymm14, %%ymm" first ", %%ymm" first "\n\t"                                           \
    "vpaddd %%ymm15, %%ymm" second ", %%ymm" second "\n\t"
    for (int round = 0; round < rounds; round++)
        __asm__ volatile(MULTIPLY_ADD("0", "1") MULTIPLY_ADD("2", "3") MULTIPLY_ADD("4", "5")
                             MULTIPLY_ADD("6", "7") MULTIPLY_ADD("8", "9") MULTIPLY_ADD("10", "11")
                         :
                         : [a] "x"(a), [b] "x"(b)
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm14", "xmm15");
#undef MULTIPLY_ADD
    return rounds * products;
}

unsigned long peak_loop_vnni(int rounds) {
    constexpr unsigned long products = 12 * 64;

    // zmm0 to zmm11 are the sums; their first values do not matter.
#define ADD(sum) "vpdpbusd %%zmm15, %%zmm14, %%zmm" sum "\n\t"
    for (int round = 0; round < rounds; round++)
        __asm__ volatile(ADD("0") ADD("1") ADD("2") ADD("3") ADD("4") ADD("5") ADD("6") ADD("7")
                             ADD("8") ADD("9") ADD("10") ADD("11")
                         :
                         :
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11");
#undef ADD
    return rounds * products;
}

} // namespace overtake::bench
