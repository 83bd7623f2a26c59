// SPDX-License-Identifier: MIT
//
// Model: a compiled network (.ovm), verified once and used in place.
//
// Thread safety: a Model is immutable and may be shared between threads.
// Errors: overtake::Error; EINVAL for a file that is not a sound model file, "FILE: offset N:
// FIELD: reason"; the errno of open() or mmap() otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overtake_accel.h"

namespace overtake {

class FileBytes;

/// Of the model file; a reader refuses a version whose upper half differs.
constexpr std::uint32_t model_file_version = 1u << 16;

/// A uint8 is kept as the int8 below it by 128.  nv12 is a camera's picture: rows of luma, then
/// half as many of chroma (U, V), bytes without padding; its shape is {1, 1, rows of both, width}.
enum class DataType : std::uint8_t { float32 = 1, int8 = 2, int64 = 3, uint8 = 4, nv12 = 5 };

/// "float32", "uint8", ...
const char* name_of(DataType type) noexcept;

/// In which order a user's elements lie: channels, height, width or height, width, channels.
enum class Order : std::uint8_t { planes = 0, rows = 1 };

/// Of inputs that are pictures, planes in this order.
enum class Colours : std::uint8_t { unknown = 0, rgb = 1, bgr = 2, gray = 3 };

/// A tensor of a model.
///
/// In device memory it is int8, height x width x channels, channels innermost and padded to 8:
/// element (y, x, c) is byte y * row_stride + x * pixel_stride + c, and its value is
/// scale * (q - zero_point); nv12 has no padding.  Inputs of bytes are handed in as bytes (of
/// set_input() the numbers that the bytes are), whatever these stand for.  With height 0 it is not
/// in device memory but a dense row-major array of data_type.  Users see either as a dense
/// row-major array of `shape`.
struct Tensor {
    std::string_view name;            ///< lives as long as the model
    std::vector<std::uint32_t> shape; ///< as in ONNX; a scalar's is {1}
    DataType data_type;               ///< as the user sees it
    std::uint32_t height;
    std::uint32_t width;
    std::uint32_t channels;
    std::uint32_t row_stride;   ///< bytes
    std::uint32_t pixel_stride; ///< bytes
    float scale;
    std::int32_t zero_point;
    std::size_t bytes;           ///< of its buffer, in device or host memory
    Order order;                 ///< of a device tensor's elements in its shape
    std::span<const float> data; ///< of a constant; lives as long as the model
    Colours colours;             ///< of a picture, nv12: that it becomes; of others unknown
    bool full_range;             ///< nv12: bytes 0..255 rather than 16..235

    bool on_device() const noexcept { return height != 0; }
    bool is_constant() const noexcept { return !data.empty(); }
    /// elements as the user sees them: the product of shape
    std::size_t elements() const noexcept;
};

/// Region `region` of the segment's job is tensor number `tensor`.
struct TensorBinding {
    std::uint32_t region;
    std::uint32_t tensor;
    bool writable;
};

enum class CpuOpType : std::uint8_t {
    softmax = 1,
    dequantize = 2, ///< a copy
    unary = 3,
    binary = 4,
    select = 5,
    view = 6,
    gather = 7,
    gather_elements = 8,
    concat = 9,
    pad = 10,
    interpolate = 11,
    log_softmax = 12,
    normalize = 13,
    reduce = 14,
    top_k = 15,
    non_max_suppression = 16,
    matrix_product = 17,
    convolution = 18,
    pool = 19,
};

/// One operator that runs on the CPU, in float32; tensor numbers.
struct CpuOp {
    CpuOpType type;
    std::string_view name;
    std::vector<std::uint32_t> inputs;
    std::uint32_t output;
    std::vector<std::int64_t> integers; ///< the operator's own parameters
    std::vector<float> reals;
};

/// A maximal run of operators on one kind of processor: exactly one of the two sides is filled.
struct Segment {
    bool on_bpu() const noexcept { return !fcs.empty(); }

    std::vector<overtake_fc> fcs;         ///< BPU
    std::vector<std::uint64_t> fc_cycles; ///< modelled cost of each FC
    std::vector<TensorBinding> bindings;
    std::uint32_t scratch_bytes = 0;

    std::vector<CpuOp> cpu_ops; ///< CPU
};

class Model {
public:
    /// Maps the file and verifies all of it that this library relies on.  Of a file of several
    /// models (overtake pack) it takes the one called `name`; EINVAL, naming them, if there is none
    /// such, or if several leave open which is meant by no name.
    static std::shared_ptr<const Model> load(const std::string& path, std::string_view name = {});
    /// All models of a file, which share its mapping and, on a device, its weights.
    static std::vector<std::shared_ptr<const Model>> load_all(const std::string& path);
    /// The same for bytes in memory, which are copied; `name` stands for the path in errors.
    static std::shared_ptr<const Model> from_bytes(std::span<const std::byte> bytes,
                                                   const std::string& name = "model");
    /// All models of a file that is in memory.
    static std::vector<std::shared_ptr<const Model>>
    all_from_bytes(std::span<const std::byte> bytes, const std::string& name = "model");
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    std::string_view name() const noexcept;
    /// Profile that the FC costs were computed with.
    std::string_view profile_name() const noexcept;
    /// Clock of that profile: cycles per millisecond, not 0.
    std::uint32_t clock_khz() const noexcept;
    /// The limit it was split under, microseconds; 0 = not split.
    std::uint32_t max_time_per_fc_us() const noexcept;

    std::span<const Tensor> tensors() const noexcept;
    std::span<const std::uint32_t> inputs() const noexcept;  ///< tensor numbers
    std::span<const std::uint32_t> outputs() const noexcept; ///< tensor numbers
    const Tensor& input(std::size_t index) const;            ///< throws Error EINVAL
    const Tensor& output(std::size_t index) const;           ///< throws Error EINVAL
    /// In the order in which they run.
    std::span<const Segment> segments() const noexcept;
    std::span<const std::byte> program() const noexcept;
    std::span<const std::byte> weights() const noexcept;

    /// The whole verified file.
    std::span<const std::byte> file() const noexcept;
    /// The model's own table (overtake.fbs.Model of model.fbs) in it, for readers of what is not in
    /// this class (reports).
    const void* table() const noexcept;

private:
    struct Contents;
    explicit Model(std::unique_ptr<Contents> contents);
    static std::vector<std::shared_ptr<const Model>>
    read_all(const std::shared_ptr<const FileBytes>& file, const std::string& path);
    std::unique_ptr<Contents> contents_;
};

} // namespace overtake
