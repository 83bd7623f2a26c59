// SPDX-License-Identifier: MIT
#include "model/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cpu/tensor_layout.hpp"
#include "model/core_plan_reader.hpp"
#include "model/place.hpp"
#include "model/segment_reader.hpp"
#include "model/unit_reader.hpp"
#include "overtake/device.hpp"

namespace overtake {

namespace {

constexpr std::uint64_t largest_element_count = 1ull << 31;
constexpr std::size_t largest_rank = 8;

std::string_view view(const flatbuffers::String* text) {
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

using Root = fbs::Model;

/// Follows segments in the order in which they run.  Knows which tensors are set after the segments
/// so far.
class SegmentTensors final : public TensorUse {
public:
    SegmentTensors(const FileView& file, const std::vector<Tensor>& tensors) : file_(file) {
        for (const Tensor& tensor : tensors)
            state_.push_back(tensor.is_constant() ? State::constant : State::unset);
    }

    void take_input(std::uint32_t number, const Place& place) {
        file_.require(state_[number] == State::unset, place,
                      "the same tensor twice, or a constant");
        state_[number] = State::input;
    }

    void read(std::uint32_t number, const Place& place) override {
        file_.require(state_[number] != State::unset, place,
                      fmt::format("tensor {} is read before anything wrote it", number));
    }

    void write(std::uint32_t number, const Place& place) override {
        file_.require(
            state_[number] != State::input, place,
            fmt::format("tensor {} is an input of the model and would be overwritten", number));
        file_.require(state_[number] != State::constant, place,
                      fmt::format("tensor {} is a constant and would be overwritten", number));
        state_[number] = State::written;
    }

    bool is_written(std::uint32_t number) const { return state_[number] == State::written; }

private:
    enum class State { unset, constant, input, written };

    const FileView& file_;
    std::vector<State> state_;
};

/// Reads and checks one file, part by part; a part relies on those before it.
class Reader {
public:
    Reader(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
           std::span<const std::byte> file, const std::string& path)
        : file_{file, path}, root_(root), weights_(weights) {}

    ModelContents read() {
        contents_.table = &root_;
        read_header();
        const Place tensors = of_root(Root::VT_TENSORS, "tensors");
        for (const fbs::Tensor* tensor : *root_.tensors())
            read_tensor(*tensor, tensors.element(contents_.tensors.size(), tensor));
        contents_.segment_tensors = contents_.tensors.size();
        read_segments();
        if (root_.fc_shares()) // for reports, which read it in place
            file_.check_alignment(*root_.fc_shares(), of_root(Root::VT_FC_SHARES, "fc_shares"));
        check_total_memory(of_root(Root::VT_TENSORS, "tensors"));
        if (root_.core_plan())
            read_core_plan(*root_.core_plan(), file_, contents_);
        if (!root_.units() && !root_.unit_classes())
            return std::move(contents_);
        const Place unit_tensors = of_root(Root::VT_UNIT_TENSORS, "unit_tensors");
        if (root_.unit_tensors())
            for (const fbs::Tensor* tensor : *root_.unit_tensors())
                read_tensor(*tensor,
                            unit_tensors.element(
                                contents_.tensors.size() - contents_.segment_tensors, tensor));
        check_total_memory(unit_tensors);
        read_units(root_, file_, contents_);
        return std::move(contents_);
    }

private:
    void require(bool condition, const Place& place, const std::string& reason) const {
        file_.require(condition, place, reason);
    }

    Place of_root(flatbuffers::voffset_t field, const char* name) const {
        return Place{"", &root_}.field(field, name);
    }

    void read_header() {
        require(root_.version() >> 16 == model_file_version >> 16 ||
                    root_.version() >> 16 == model_file_version_int16 >> 16,
                of_root(Root::VT_VERSION, "version"),
                fmt::format("{}.{}, but this library reads {}.x; compile the model again",
                            root_.version() >> 16, root_.version() & 0xffff,
                            model_file_version_int16 >> 16));
        const Place isa = of_root(Root::VT_ISA_VERSION, "isa_version");
        contents_.isa_version = root_.isa_version();
        require(contents_.isa_version >> 16 == OVERTAKE_ISA_VERSION >> 16, isa,
                fmt::format("{}, but this library knows {}.x",
                            isa_version_text(contents_.isa_version), OVERTAKE_ISA_VERSION >> 16));
        require(contents_.isa_version <= OVERTAKE_ISA_VERSION, isa,
                fmt::format("{}, but this library knows {} and older; install a newer one",
                            isa_version_text(contents_.isa_version),
                            isa_version_text(OVERTAKE_ISA_VERSION)));
        contents_.name = view(root_.name());
        contents_.profile_name = view(root_.profile()->name());
        contents_.clock_khz = root_.profile()->clock_khz();
        require(contents_.clock_khz != 0,
                Place{"profile", root_.profile()}.field(fbs::Profile::VT_CLOCK_KHZ, "clock_khz"),
                "0");
        contents_.max_time_per_fc_us = root_.max_time_per_fc_us();
        const Place program = of_root(Root::VT_PROGRAM, "program");
        contents_.program = bytes(*root_.program(), program);
        contents_.weights = bytes(weights_, {"weights", &weights_});
        require(contents_.program.size() % sizeof(overtake_insn) == 0, program,
                fmt::format("{} bytes are no whole number of instructions of {} bytes",
                            contents_.program.size(), sizeof(overtake_insn)));
    }

    std::span<const std::byte> bytes(const flatbuffers::Vector<std::uint8_t>& data,
                                     const Place& place) const {
        require(data.size() <= OVERTAKE_MAX_BUFFER_BYTES, place,
                fmt::format("{} bytes, at most {}", data.size(), OVERTAKE_MAX_BUFFER_BYTES));
        return {reinterpret_cast<const std::byte*>(data.data()), data.size()};
    }

    void read_tensor(const fbs::Tensor& from, const Place& place) {
        Tensor tensor{};
        tensor.name = view(from.name());
        tensor.shape.assign(from.shape()->begin(), from.shape()->end());
        tensor.data_type = static_cast<DataType>(from.data_type());
        tensor.height = from.height();
        tensor.width = from.width();
        tensor.channels = from.channels();
        tensor.row_stride = from.row_stride();
        tensor.pixel_stride = from.pixel_stride();
        tensor.scale = from.scale();
        tensor.zero_point = from.zero_point();
        tensor.bytes = from.bytes();
        tensor.order = static_cast<Order>(from.order());
        require(from.order() >= fbs::Order::MIN && from.order() <= fbs::Order::MAX,
                place.field(fbs::Tensor::VT_ORDER, "order"),
                fmt::format("no order {}", static_cast<int>(from.order())));
        require(from.colours() >= fbs::Colours::MIN && from.colours() <= fbs::Colours::MAX,
                place.field(fbs::Tensor::VT_COLOURS, "colours"),
                fmt::format("no colours {}", static_cast<int>(from.colours())));
        tensor.colours = static_cast<Colours>(from.colours());
        tensor.full_range = from.full_range();
        tensor.from_resizer = from.from_resizer();
        tensor.is_int16 = from.is_int16();
        require(!tensor.from_resizer || tensor.data_type == DataType::nv12,
                place.field(fbs::Tensor::VT_FROM_RESIZER, "from_resizer"), "of what is not nv12");
        require(from.element_type() >= fbs::ElementType::MIN &&
                    from.element_type() <= fbs::ElementType::MAX,
                place.field(fbs::Tensor::VT_ELEMENT_TYPE, "element_type"),
                fmt::format("no element type {}", static_cast<int>(from.element_type())));
        for (const auto* numbers : {from.pixel_mean(), from.pixel_scale()})
            require(!numbers ||
                        std::ranges::all_of(*numbers, [](float n) { return std::isfinite(n); }),
                    place, "pixels are normalised by numbers that are not finite");
        if (from.data())
            tensor.data = {from.data()->data(), from.data()->size()};
        check_shape(tensor, place.field(fbs::Tensor::VT_SHAPE, "shape"));
        require(from.data_type() >= fbs::DataType::MIN && from.data_type() <= fbs::DataType::MAX,
                place.field(fbs::Tensor::VT_DATA_TYPE, "data_type"),
                fmt::format("no type {}", static_cast<int>(from.data_type())));
        require(tensor.bytes <= OVERTAKE_MAX_BUFFER_BYTES,
                place.field(fbs::Tensor::VT_BYTES, "bytes"),
                fmt::format("{}, at most {}", tensor.bytes, OVERTAKE_MAX_BUFFER_BYTES));
        if (tensor.on_device())
            check_device_tensor(tensor, place);
        else
            check_host_tensor(tensor, place);
        contents_.tensors.push_back(std::move(tensor));
    }

    void check_shape(const Tensor& tensor, const Place& place) const {
        require(!tensor.shape.empty() && tensor.shape.size() <= largest_rank, place,
                fmt::format("{} dimensions, but 1..{} are possible", tensor.shape.size(),
                            largest_rank));
        std::uint64_t count = 1;
        for (const std::uint32_t dimension : tensor.shape) {
            require(dimension != 0, place, "a dimension is 0");
            count *= dimension; // both factors are below 2^32
            require(count <= largest_element_count, place, "too many elements");
        }
    }

    static std::uint64_t count(const std::vector<std::uint32_t>& shape) {
        unsigned __int128 product = 1; // of three dimensions below 2^32
        for (const std::uint32_t dimension : shape)
            product *= dimension;
        return product > ~0ull ? ~0ull : static_cast<std::uint64_t>(product);
    }

    static std::vector<std::uint32_t> without_ones(std::vector<std::uint32_t> shape) {
        std::erase(shape, 1u);
        return shape;
    }

    // Joins all dimensions of the shape but the last two to one, as Order::rows has them.
    static std::vector<std::uint32_t> leading_joined(std::vector<std::uint32_t> shape) {
        while (shape.size() > 3) {
            shape[1] *= shape[0]; // below 2^32: the elements have been counted
            shape.erase(shape.begin());
        }
        return shape;
    }

    void check_device_tensor(const Tensor& tensor, const Place& place) const {
        require(tensor.width != 0 && tensor.channels != 0, place, "no width or no channels");
        check_dimensions(tensor, place.field(fbs::Tensor::VT_SHAPE, "shape"));
        require(!tensor.is_constant(), place.field(fbs::Tensor::VT_DATA, "data"),
                "is a constant in device memory");
        require(!tensor.is_int16 ||
                    (tensor.data_type == DataType::float32 && tensor.zero_point == 0),
                place.field(fbs::Tensor::VT_IS_INT16, "is_int16"),
                "of what is no float32 or has a zero point");
        require(std::isfinite(tensor.scale) && tensor.scale > 0,
                place.field(fbs::Tensor::VT_SCALE, "scale"),
                fmt::format("{} is not a positive number", tensor.scale));
        require(tensor.zero_point >= -128 && tensor.zero_point <= 127,
                place.field(fbs::Tensor::VT_ZERO_POINT, "zero_point"),
                fmt::format("{} is not in -128..127", tensor.zero_point));
        check_strides(tensor, place);
    }

    void check_dimensions(const Tensor& tensor, const Place& place) const {
        const bool is_rows = tensor.order == Order::rows;
        const std::vector<std::uint32_t> own =
            is_rows ? std::vector{tensor.height, tensor.width, tensor.channels}
                    : std::vector{tensor.channels, tensor.height, tensor.width};
        const std::vector<std::uint32_t> wanted = without_ones(tensor.shape);
        const bool is_joined =
            is_rows && without_ones(leading_joined(tensor.shape)) == without_ones(own);
        const bool is_flat = wanted.size() <= 1 && tensor.elements() == count(own);
        require(is_flat || is_joined || wanted == without_ones(own) ||
                    (!is_rows && is_batch_of(own, tensor)),
                place,
                fmt::format("[{}] is not {}x{}x{} (height, width, channels) of one sample",
                            fmt::join(tensor.shape, ", "), tensor.height, tensor.width,
                            tensor.channels));
    }

    /// Whether the tensor is one or several images of the dimensions `own`.
    static bool is_batch_of(std::vector<std::uint32_t> own, const Tensor& tensor) {
        const std::uint64_t image = count(own);
        if (image > tensor.elements() || tensor.elements() % image != 0)
            return false;
        const std::vector<std::uint32_t> wanted = without_ones(tensor.shape);
        own.insert(own.begin(), static_cast<std::uint32_t>(tensor.elements() / image));
        return wanted.size() <= 1 || wanted == without_ones(own);
    }

    /// Checks the strides, and that the last element lies in the buffer.
    void check_strides(const Tensor& tensor, const Place& place) const {
        const bool is_picture = tensor.data_type == DataType::nv12;
        require(!is_picture || (tensor.channels == 1 && tensor.pixel_stride == 1 &&
                                tensor.height % 3 == 0 && tensor.width % 2 == 0),
                place, "no NV12 picture");
        const std::uint64_t padded =
            is_picture ? 1
                       : std::uint64_t{round_up(tensor.channels, OVERTAKE_CHANNEL_ALIGN)} *
                             (tensor.is_int16 ? sizeof(std::int16_t) : 1);
        require(is_picture || (tensor.pixel_stride % OVERTAKE_CHANNEL_ALIGN == 0 &&
                               tensor.pixel_stride >= padded),
                place.field(fbs::Tensor::VT_PIXEL_STRIDE, "pixel_stride"),
                fmt::format("{} for {} channels", tensor.pixel_stride, tensor.channels));
        require(tensor.row_stride >= std::uint64_t{tensor.width} * tensor.pixel_stride &&
                    (!tensor.is_int16 || tensor.row_stride % sizeof(std::int16_t) == 0),
                place.field(fbs::Tensor::VT_ROW_STRIDE, "row_stride"),
                fmt::format("{} for {} pixels of {} bytes", tensor.row_stride, tensor.width,
                            tensor.pixel_stride));
        // The rows of all images; there are at most as many as elements.
        const std::uint64_t rows = std::uint64_t{tensor.height} * image_count(tensor);
        // Below 2^63: there are at most 2^31 rows, each of less than 2^32 bytes.
        const std::uint64_t end = (rows - 1) * tensor.row_stride +
                                  std::uint64_t{tensor.width - 1} * tensor.pixel_stride + padded;
        require(tensor.bytes >= end, place.field(fbs::Tensor::VT_BYTES, "bytes"),
                fmt::format("{}, but its last element ends at {}", tensor.bytes, end));
    }

    void check_host_tensor(const Tensor& tensor, const Place& place) const {
        require(tensor.data_type == DataType::float32,
                place.field(fbs::Tensor::VT_DATA_TYPE, "data_type"),
                "tensors in host memory are float32");
        require(tensor.bytes == tensor.elements() * sizeof(float),
                place.field(fbs::Tensor::VT_BYTES, "bytes"),
                fmt::format("{} for {} float32", tensor.bytes, tensor.elements()));
        require(!tensor.is_constant() || tensor.data.size() == tensor.elements(),
                place.field(fbs::Tensor::VT_DATA, "data"),
                fmt::format("{} elements for {}", tensor.data.size(), tensor.elements()));
    }

    void read_segments() {
        const SegmentReader reader(file_, contents_.tensors,
                                   contents_.program.size() / sizeof(overtake_insn));
        SegmentTensors tensors(file_, contents_.tensors);
        const Place inputs = of_root(Root::VT_INPUTS, "inputs");
        require(root_.inputs()->size() != 0, inputs, "none");
        for (const std::uint32_t number : *root_.inputs()) {
            const Place place = inputs.number(*root_.inputs(), contents_.inputs.size());
            tensors.take_input(reader.tensor_number(number, place), place);
            contents_.inputs.push_back(number);
        }
        const Place segments = of_root(Root::VT_SEGMENTS, "segments");
        require(root_.segments()->size() != 0, segments, "none");
        for (const fbs::Segment* segment : *root_.segments())
            contents_.segments.push_back(
                reader.read(*segment, segments.element(contents_.segments.size(), segment),
                            contents_.clock_khz, tensors));
        const Place outputs = of_root(Root::VT_OUTPUTS, "outputs");
        require(root_.outputs()->size() != 0, outputs, "none");
        for (const std::uint32_t number : *root_.outputs()) {
            const Place place = outputs.number(*root_.outputs(), contents_.outputs.size());
            require(tensors.is_written(reader.tensor_number(number, place)), place,
                    "no segment writes this tensor");
            contents_.outputs.push_back(number);
        }
    }

    /// Checks the memory that one upload and one task need together.
    void check_total_memory(const Place& place) const {
        std::uint64_t total = contents_.program.size() + contents_.weights.size();
        for (const Tensor& tensor : contents_.tensors) {
            total += tensor.bytes; // each is at most 2^30, and there are fewer than 2^32 tensors
            require(total <= OVERTAKE_MAX_CLIENT_BYTES, place,
                    fmt::format("need more than {} bytes together", OVERTAKE_MAX_CLIENT_BYTES));
        }
    }

    const FileView file_;
    const fbs::Model& root_;
    const flatbuffers::Vector<std::uint8_t>& weights_;
    ModelContents contents_;
};

} // namespace

ModelContents read_model(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
                         std::span<const std::byte> file, const std::string& path) {
    return Reader(root, weights, file, path).read();
}

} // namespace overtake
