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

#include "overtake/export.hpp"

namespace overtake {

/// The version of a model file; a reader refuses a file whose upper half is that of neither
/// version.
constexpr std::uint32_t model_file_version = 1u << 16;
/// The version of a file with tensors of 16 bits, which older libraries would take for bytes.
constexpr std::uint32_t model_file_version_int16 = 2u << 16;

/// The type of a tensor's elements, as its user sees them.
enum class DataType : std::uint8_t {
    float32 = 1, ///< numbers
    int8 = 2,    ///< bytes -128..127
    int64 = 3,   ///< integers, as float32
    uint8 = 4,   ///< bytes 0..255; the device holds each less 128
    /// A camera's picture: rows of luma, then half as many rows of chroma (U, V), bytes without
    /// padding.  Its shape is {1, 1, rows of both, width}.
    nv12 = 5
};

/// "float32", "uint8", ...; "?" for a number that is no type.  The text lives for ever.
OVERTAKE_API const char* name_of(DataType type) noexcept;

/// The order of a user's elements.
enum class Order : std::uint8_t {
    planes = 0, ///< channels, height, width
    rows = 1    ///< height, width, channels
};

/// The order of the colour channels of an input that is a picture.
enum class Colours : std::uint8_t {
    unknown = 0, ///< not a picture, or the model does not say
    rgb = 1,     ///< red, green, blue
    bgr = 2,     ///< blue, green, red
    gray = 3     ///< one channel
};

/// A tensor of a model.
///
/// In device memory it is int8, or int16, height x width x channels, channels innermost and padded
/// to 8: element (y, x, c) begins at byte y * row_stride + x * pixel_stride + c, of int16 2 * c,
/// and its value is scale * (q - zero_point); nv12 has no padding.  A tensor with more elements
/// than one such image has is a batch: images one behind the other, each height * row_stride bytes.
/// A user hands in inputs of bytes as bytes (to set_input() as numbers with the values of the
/// bytes), whatever these stand for.  A tensor with height 0 is not in device memory but a dense
/// row-major array of data_type.  Users see each tensor as a dense row-major array of `shape`.
struct Tensor {
    std::string_view name;            ///< lives as long as the model
    std::vector<std::uint32_t> shape; ///< as in ONNX; a scalar's is {1}
    DataType data_type;               ///< as the user sees it
    std::uint32_t height;             ///< rows in device memory; 0 = in host memory
    std::uint32_t width;              ///< pixels in a row
    std::uint32_t channels;           ///< without padding
    std::uint32_t row_stride;         ///< bytes from one row to the next
    std::uint32_t pixel_stride;       ///< bytes from one pixel to the next
    float scale;                      ///< the value of one step of q
    std::int32_t zero_point;          ///< the q that stands for 0
    std::size_t bytes;                ///< size of its buffer, in device or host memory
    Order order;                      ///< device tensor: order of the elements in its shape
    std::span<const float> data;      ///< a constant's values; lives as long as the model
    /// Picture: the order of its colour channels.  The device converts an nv12 input to this order.
    Colours colours;
    bool full_range; ///< nv12: luma has the values 0..255 rather than 16..235
    /// nv12: the input is meant to be a region of a larger picture, which the device resizes
    /// (Engine).
    bool from_resizer = false;
    /// True: in device memory an element has 16 bits, little endian, and the zero point is 0.
    /// False: an element has 8 bits.
    bool is_int16 = false;

    /// Whether the tensor is in device memory while the model runs.
    bool on_device() const noexcept { return height != 0; }
    /// Whether the tensor's values are in the model file.
    bool is_constant() const noexcept { return !data.empty(); }
    /// The number of elements that the user sees: the product of `shape`.
    OVERTAKE_API std::size_t elements() const noexcept;
};

/// A compiled network.  Everything that its functions return lives as long as the Model.
class OVERTAKE_API Model {
public:
    /// Maps the file and verifies all of it that this library relies on.  From a file of several
    /// models (overtake pack) it takes the one called `name`.  EINVAL, naming the models, if none
    /// is called so, or if `name` is empty and there are several.
    static std::shared_ptr<const Model> load(const std::string& path, std::string_view name = {});
    /// Loads all models of a file, which share its mapping and, on a device, its weights.
    static std::vector<std::shared_ptr<const Model>> load_all(const std::string& path);
    /// Loads the model in bytes in memory, which are copied; `name` stands for the path in errors.
    static std::shared_ptr<const Model> from_bytes(std::span<const std::byte> bytes,
                                                   const std::string& name = "model");
    /// Loads all models of a file that is in memory.
    static std::vector<std::shared_ptr<const Model>>
    all_from_bytes(std::span<const std::byte> bytes, const std::string& name = "model");
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// The name that the compiler was given, or the ONNX graph's.
    std::string_view name() const noexcept;
    /// Profile that the FC costs were computed with.
    std::string_view profile_name() const noexcept;
    /// Clock of that profile: cycles per millisecond, not 0.
    std::uint32_t clock_khz() const noexcept;
    /// The limit of an FC's time under which the compiler split it, in microseconds; 0 = not split.
    std::uint32_t max_time_per_fc_us() const noexcept;

    /// All tensors of the model: inputs, outputs, constants and values between segments.
    std::span<const Tensor> tensors() const noexcept;
    /// Numbers of tensors, in the order of the network's inputs.
    std::span<const std::uint32_t> inputs() const noexcept;
    /// Numbers of tensors, in the order of the network's outputs.
    std::span<const std::uint32_t> outputs() const noexcept;
    /// Input `index`, counted from 0.  EINVAL if the model has no such input.
    const Tensor& input(std::size_t index) const;
    /// Output `index`, counted from 0.  EINVAL if the model has no such output.
    const Tensor& output(std::size_t index) const;
    /// Instructions of all FCs (overtake_isa.h).
    std::span<const std::byte> program() const noexcept;
    /// Weights as the instructions read them; those of the whole pack if the model came in one.
    std::span<const std::byte> weights() const noexcept;
    /// The whole verified file; the pack's if the model came in one.
    std::span<const std::byte> file() const noexcept;

private:
    friend struct ModelContents; // of Overtake's own tools
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit Model(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

} // namespace overtake
