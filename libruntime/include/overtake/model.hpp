// SPDX-License-Identifier: MIT
//
// Model: a compiled network (.ovm), verified once and used in place.
//
// Thread safety: a Model is immutable and may be shared between threads.
// Errors: overtake::Error.  EINVAL, with "FILE: offset N: FIELD: reason", for a file that is not a
// sound model file; EISDIR for a directory; ENOMEM for bytes that cannot be copied; otherwise the
// errno of opening or mapping the file.
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

/// The version of a model file.  A reader refuses a file if the upper 16 bits of its version are
/// those of neither version here.
constexpr std::uint32_t model_file_version = 1u << 16;
/// The version of a file with tensors of 16 bits.  An older library would take their elements for
/// bytes, so it has to refuse the file.
constexpr std::uint32_t model_file_version_int16 = 2u << 16;

/// The type of a tensor's elements, as its user sees them.
enum class DataType : std::uint8_t {
    float32 = 1, ///< numbers
    int8 = 2,    ///< bytes -128..127
    int64 = 3,   ///< integers, which Overtake's functions pass as float32
    uint8 = 4,   ///< bytes 0..255; device memory has each value minus 128
    /// A camera picture: rows of luma, then half as many rows of chroma (U, V), bytes without
    /// padding.  Its shape is {1, 1, rows of luma and chroma, width}.
    nv12 = 5
};

/// "float32", "uint8", ...; "?" for a number that is no type.  The text lives for ever.
OVERTAKE_API const char* name_of(DataType type) noexcept;

/// The order of the elements of an image that a user passes.
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
/// In device memory a tensor has elements of 8 or 16 bits in the order height x width x channels,
/// with channels padded to a multiple of 8.  Element (y, x, c) begins at byte y * row_stride + x *
/// pixel_stride + c (16 bits: 2 * c instead of c).  The value of an element q is scale * (q -
/// zero_point).  An nv12 tensor has no padding.  A tensor with more elements than one such image is
/// a batch: images one behind the other, each of height * row_stride bytes.  A user passes an input
/// of bytes as bytes, and to set_input() as numbers with the values of the bytes; scale and
/// zero_point are not applied.  A tensor with height 0 is not in device memory; it is a dense
/// row-major array of data_type.  Users see each tensor as a dense row-major array of `shape`.
struct Tensor {
    std::string_view name;            ///< lives as long as the model
    std::vector<std::uint32_t> shape; ///< as in ONNX; {1} for a scalar
    DataType data_type;               ///< as the user sees it
    std::uint32_t height;             ///< rows in device memory; 0 = in host memory
    std::uint32_t width;              ///< pixels in a row
    std::uint32_t channels;           ///< without padding
    std::uint32_t row_stride;         ///< bytes from one row to the next
    std::uint32_t pixel_stride;       ///< bytes from one pixel to the next
    float scale;                      ///< the value of one step of q
    std::int32_t zero_point;          ///< the q that stands for 0
    std::size_t bytes;                ///< size of its buffer, in device or host memory
    Order order;                      ///< tensor on the device: order of elements in its shape
    std::span<const float> data;      ///< values of a constant; lives as long as the model
    /// The order of the colour channels of a picture.  The device converts an nv12 input to it.
    Colours colours;
    bool full_range; ///< nv12: luma has the values 0..255 instead of 16..235
    /// nv12: the input is a region of a larger picture, which the device resizes (Engine).
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
    /// Maps the file and verifies all parts of it that this library relies on.  From a file of
    /// several models (overtake pack) it takes the model called `name`.  EINVAL, naming the models,
    /// if no model has that name, or if `name` is empty and the file has several models.
    static std::shared_ptr<const Model> load(const std::string& path, std::string_view name = {});
    /// Loads all models of a file, which share its mapping and, on a device, its weights.
    static std::vector<std::shared_ptr<const Model>> load_all(const std::string& path);
    /// Loads a model file with one model that is in memory, and copies it.  `name` stands for the
    /// path in errors.
    static std::shared_ptr<const Model> from_bytes(std::span<const std::byte> bytes,
                                                   const std::string& name = "model");
    /// Loads all models of a model file that is in memory, and copies it.
    static std::vector<std::shared_ptr<const Model>>
    all_from_bytes(std::span<const std::byte> bytes, const std::string& name = "model");
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// The name that the compiler was given, or the name of the ONNX graph.
    std::string_view name() const noexcept;
    /// The name of the profile with which the FC costs were computed.
    std::string_view profile_name() const noexcept;
    /// The clock of that profile: cycles per millisecond, not 0.
    std::uint32_t clock_khz() const noexcept;
    /// The limit for the time of an FC, above which the compiler split FCs, in microseconds; 0 = no
    /// limit.
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
    /// The instructions of all FCs (overtake_isa.h).
    std::span<const std::byte> program() const noexcept;
    /// The weights as the instructions read them; for a model of a pack, those of the whole pack.
    std::span<const std::byte> weights() const noexcept;
    /// The whole verified file; for a model of a pack, the file of the pack.
    std::span<const std::byte> file() const noexcept;

private:
    friend struct ModelContents; // of Overtake's own tools
    struct OVERTAKE_HIDDEN State;
    OVERTAKE_HIDDEN explicit Model(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

} // namespace overtake
