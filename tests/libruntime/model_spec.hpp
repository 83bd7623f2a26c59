// SPDX-License-Identifier: MIT
//
// Model files for tests, made from a description that a test can spoil anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model_generated.h"
#include "overtake/model.hpp"
#include "overtake_isa.h"

namespace overtake::test {

struct TensorSpec {
    std::string name;
    std::vector<std::uint32_t> shape;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::uint32_t channels = 0;
    std::uint32_t row_stride = 0;
    std::uint32_t pixel_stride = 0;
    float scale = 0;
    std::int32_t zero_point = 0;
    std::uint64_t bytes = 0;
    std::uint8_t data_type = 1;
    std::uint8_t order = 0;
    bool from_resizer = false;
    bool is_int16 = false;
};

struct CpuOpSpec {
    std::uint8_t type = 1;
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    int axis = -1;
    std::string domain = {}; ///< of a custom operator
    std::string custom_type = {};
    std::vector<std::int64_t> numbers = {}; ///< the attribute "numbers" of a custom operator
};

struct SegmentSpec {
    bool bpu = false;
    bool cpu = false;
    std::vector<fbs::Fc> fcs;
    std::vector<fbs::Binding> bindings;
    std::uint32_t scratch_bytes = 0;
    std::vector<CpuOpSpec> ops;
    std::uint64_t expected_ns = 0; ///< of a CPU segment
};

struct ModelSpec {
    std::uint32_t version = 1u << 16;
    std::uint32_t isa_version = OVERTAKE_ISA_VERSION;
    std::string name = "test";
    std::uint32_t clock_khz = 1'000'000;
    std::vector<TensorSpec> tensors;
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    std::vector<SegmentSpec> segments;
    std::vector<overtake_insn> program;
    std::size_t program_bytes_cut = 0; ///< bytes cut off the end of the program
    std::vector<std::uint8_t> weights;
    bool on_two_cores = false; ///< with a plan: the first FC of each BPU segment on core 1, the
                               ///< rest on core 2, in one stage
};

/// Returns an int8 tensor of height x width x channels in device memory.
TensorSpec device_tensor(const std::string& name, std::uint32_t height, std::uint32_t width,
                         std::uint32_t channels, float scale, std::int32_t zero_point);
/// Returns a float32 array of this shape in host memory.
TensorSpec host_tensor(const std::string& name, const std::vector<std::uint32_t>& shape);

/// Makes a model: two FCs copy the input's rows to "copied", then softmax over the channels writes
/// "softmax". Outputs: softmax, copied.
ModelSpec copy_and_softmax(std::uint32_t height = 4, std::uint32_t width = 5,
                           std::uint32_t channels = 3);

/// Makes a model: softmax of "input", in host memory, writes "softmax" on the device, which the BPU
/// copies to "copied".  The elements of both are rows: [1, height, width, channels].  Output:
/// copied.
ModelSpec softmax_and_copy(std::uint32_t height = 4, std::uint32_t width = 5,
                           std::uint32_t channels = 3);

std::vector<std::byte> build(const ModelSpec& spec);

/// The model's file as a program may change it, and the model that is made from it.
std::unique_ptr<fbs::ModelT> unpacked(const ModelSpec& spec);
std::shared_ptr<const Model> loaded(const fbs::ModelT& model);

} // namespace overtake::test
