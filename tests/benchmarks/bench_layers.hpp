// SPDX-License-Identifier: MIT
//
// The distinct convolutions of ResNet-18 and MobileNetV2 at 224 x 224.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <vector>

namespace overtake::bench {

/// All tensors begin on a page, as the device's buffers do.
template <typename T>
struct PageAllocator {
    using value_type = T;
    static constexpr std::align_val_t page{4096};

    PageAllocator() = default;
    template <typename U>
    PageAllocator(const PageAllocator<U>&) {}
    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new(count * sizeof(T), page));
    }
    void deallocate(T* memory, std::size_t) { ::operator delete(memory, page); }
    bool operator==(const PageAllocator&) const { return true; }
};

template <typename T>
using Buffer = std::vector<T, PageAllocator<T>>;

struct Layer {
    const char* network;
    unsigned in_height, in_width, in_channels, out_channels, kernel, stride, pad;
    bool depthwise = false;
    /// Inputs of any sign; those of the other layers are not negative, as a ReLU leaves them.
    bool signed_inputs = false;
    /// The number of times that the network has the layer.
    unsigned count = 1;

    int zero_point() const { return signed_inputs ? -7 : -128; }

    unsigned out_height() const { return (in_height + 2 * pad - kernel) / stride + 1; }
    unsigned out_width() const { return (in_width + 2 * pad - kernel) / stride + 1; }
    double macs() const {
        return static_cast<double>(out_height()) * out_width() * out_channels * kernel * kernel *
               (depthwise ? 1 : in_channels);
    }
    std::string name() const;
};

extern const std::vector<Layer> layers;

/// Returns the CPU time of this thread in nanoseconds: other work on the machine is not counted.
double now_ns();

/// Multiplies and adds within registers; returns the products.
unsigned long peak_loop(int rounds);

/// The same with vpdpbusd of 512 bits, which the CPU must have.
unsigned long peak_loop_vnni(int rounds);

} // namespace overtake::bench
