// SPDX-License-Identifier: MIT
#include "model/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cpu/operation.hpp"
#include "model/tensor_layout.hpp"
#include "overtake/device.hpp"

namespace overtake {

namespace {

constexpr std::uint64_t largest_element_count = 1ull << 31;
constexpr std::size_t largest_rank = 8;
constexpr std::uint64_t most_expected_ns = INT64_MAX;

std::string_view view(const flatbuffers::String* text) {
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

using Root = fbs::Model;

/// A part of the file: what messages call it, and where it begins.
struct Place {
    std::string name;
    const void* address;

    /// A field of the table that is here; where it is left out, the table itself.
    Place field(flatbuffers::voffset_t number, const char* what) const {
        const auto* at = static_cast<const flatbuffers::Table*>(address)->GetAddressOf(number);
        return {name.empty() ? what : fmt::format("{}.{}", name, what), at ? at : address};
    }

    /// An element of the vector that the field here holds.
    Place element(std::size_t index, const void* at) const {
        return {fmt::format("{}[{}]", name, index), at};
    }
    Place number(const flatbuffers::Vector<std::uint32_t>& vector, std::size_t index) const {
        return element(index, vector.data() + index);
    }
};

/// Reads and checks one file, part by part; a part relies on those before it.
class Reader {
public:
    Reader(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
           std::span<const std::byte> file, const std::string& path)
        : file_(file), path_(path), root_(root), weights_(weights) {}

    ModelContents read() {
        contents_.table = &root_;
        read_header();
        const Place tensors = of_root(Root::VT_TENSORS, "tensors");
        for (const fbs::Tensor* tensor : *root_.tensors())
            read_tensor(*tensor, tensors.element(contents_.tensors.size(), tensor));
        for (const Tensor& tensor : contents_.tensors)
            state_.push_back(tensor.is_constant() ? TensorState::constant : TensorState::unset);
        read_inputs();
        const Place segments = of_root(Root::VT_SEGMENTS, "segments");
        require(root_.segments()->size() != 0, segments, "none");
        for (const fbs::Segment* segment : *root_.segments())
            read_segment(*segment, segments.element(contents_.segments.size(), segment));
        read_outputs();
        if (root_.fc_shares()) // of reports, which read it in place
            check_alignment(*root_.fc_shares(), of_root(Root::VT_FC_SHARES, "fc_shares"));
        check_total_memory();
        return std::move(contents_);
    }

private:
    enum class TensorState { unset, constant, input, written };

    void require(bool condition, const Place& place, const std::string& reason) const {
        if (!condition)
            throw Error(EINVAL,
                        fmt::format("{}: offset {}: {}: {}", path_,
                                    static_cast<const std::byte*>(place.address) - file_.data(),
                                    place.name, reason));
    }

    Place of_root(flatbuffers::voffset_t field, const char* name) const {
        return Place{"", &root_}.field(field, name);
    }

    void read_header() {
        require(
            root_.version() >> 16 == model_file_version >> 16, of_root(Root::VT_VERSION, "version"),
            fmt::format("{}.{}, but this library reads {}.x; compile the model again",
                        root_.version() >> 16, root_.version() & 0xffff, model_file_version >> 16));
        require(root_.isa_version() >> 16 == OVERTAKE_ISA_VERSION >> 16,
                of_root(Root::VT_ISA_VERSION, "isa_version"),
                fmt::format("{}.{}, but this library knows {}.x", root_.isa_version() >> 16,
                            root_.isa_version() & 0xffff, OVERTAKE_ISA_VERSION >> 16));
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

    /// Of vectors whose elements want more than the four bytes that the verifier looks at.
    template <typename Elements>
    void check_alignment(const Elements& elements, const Place& place) const {
        require(elements.size() == 0 ||
                    reinterpret_cast<std::uintptr_t>(elements.Data()) % alignof(std::uint64_t) == 0,
                place, "misaligned");
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
        require(!tensor.from_resizer || tensor.data_type == DataType::nv12,
                place.field(fbs::Tensor::VT_FROM_RESIZER, "from_resizer"), "of what is not nv12");
        require(from.element_type() >= fbs::ElementType::MIN &&
                    from.element_type() <= fbs::ElementType::MAX,
                place.field(fbs::Tensor::VT_ELEMENT_TYPE, "element_type"),
                fmt::format("no element type {}", static_cast<int>(from.element_type())));
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
            count *= dimension; // both below 2^32
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

    // Rows take all dimensions but the last two as one.
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

    /// Whether it is several images, each of its own channels, height and width.
    static bool is_batch_of(std::vector<std::uint32_t> own, const Tensor& tensor) {
        const std::uint64_t image = count(own);
        if (image > tensor.elements() || tensor.elements() % image != 0)
            return false;
        const std::vector<std::uint32_t> wanted = without_ones(tensor.shape);
        own.insert(own.begin(), static_cast<std::uint32_t>(tensor.elements() / image));
        return wanted.size() <= 1 || wanted == without_ones(own);
    }

    /// The last element lies in the buffer.
    void check_strides(const Tensor& tensor, const Place& place) const {
        const bool is_picture = tensor.data_type == DataType::nv12;
        require(!is_picture || (tensor.channels == 1 && tensor.pixel_stride == 1 &&
                                tensor.height % 3 == 0 && tensor.width % 2 == 0),
                place, "no NV12 picture");
        const std::uint64_t padded =
            is_picture ? 1 : round_up(tensor.channels, OVERTAKE_CHANNEL_ALIGN);
        require(is_picture || (tensor.pixel_stride % OVERTAKE_CHANNEL_ALIGN == 0 &&
                               tensor.pixel_stride >= padded),
                place.field(fbs::Tensor::VT_PIXEL_STRIDE, "pixel_stride"),
                fmt::format("{} for {} channels", tensor.pixel_stride, tensor.channels));
        require(tensor.row_stride >= std::uint64_t{tensor.width} * tensor.pixel_stride,
                place.field(fbs::Tensor::VT_ROW_STRIDE, "row_stride"),
                fmt::format("{} for {} pixels of {} bytes", tensor.row_stride, tensor.width,
                            tensor.pixel_stride));
        // Rows of all images, as many as there are elements at most.
        const std::uint64_t rows = std::uint64_t{tensor.height} * image_count(tensor);
        // Below 2^63: the terms are products of 32-bit numbers, and the element count is bounded.
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

    std::uint32_t tensor_number(std::uint32_t number, const Place& place) const {
        require(number < contents_.tensors.size(), place,
                fmt::format("tensor {}, but there are {}", number, contents_.tensors.size()));
        return number;
    }

    void read_inputs() {
        const Place inputs = of_root(Root::VT_INPUTS, "inputs");
        require(root_.inputs()->size() != 0, inputs, "none");
        for (const std::uint32_t number : *root_.inputs()) {
            const Place place = inputs.number(*root_.inputs(), contents_.inputs.size());
            tensor_number(number, place);
            require(state_[number] == TensorState::unset, place,
                    "the same tensor twice, or a constant");
            state_[number] = TensorState::input;
            contents_.inputs.push_back(number);
        }
    }

    void read_outputs() {
        const Place outputs = of_root(Root::VT_OUTPUTS, "outputs");
        require(root_.outputs()->size() != 0, outputs, "none");
        for (const std::uint32_t number : *root_.outputs()) {
            const Place place = outputs.number(*root_.outputs(), contents_.outputs.size());
            tensor_number(number, place);
            require(state_[number] == TensorState::written, place, "no segment writes this tensor");
            contents_.outputs.push_back(number);
        }
    }

    void read_segment(const fbs::Segment& from, const Place& place) {
        require((from.bpu() != nullptr) != (from.cpu() != nullptr), place,
                "needs exactly one of bpu and cpu");
        Segment segment;
        if (from.bpu())
            read_bpu_segment(*from.bpu(), segment, {place.name + ".bpu", from.bpu()});
        else
            read_cpu_segment(*from.cpu(), segment, {place.name + ".cpu", from.cpu()});
        contents_.segments.push_back(std::move(segment));
    }

    std::uint64_t expected_ns(const std::vector<std::uint64_t>& fc_cycles) const {
        unsigned __int128 cycles = 0;
        for (const std::uint64_t fc : fc_cycles)
            cycles += fc;
        const unsigned __int128 ns =
            (cycles * 1'000'000 + contents_.clock_khz - 1) / contents_.clock_khz;
        return static_cast<std::uint64_t>(std::min<unsigned __int128>(ns, most_expected_ns));
    }

    void read_bpu_segment(const fbs::BpuSegment& from, Segment& segment, const Place& place) {
        const std::uint64_t insns = contents_.program.size() / sizeof(overtake_insn);
        const Place fcs = place.field(fbs::BpuSegment::VT_FCS, "fcs");
        require(
            from.fcs()->size() != 0 && from.fcs()->size() <= OVERTAKE_MAX_FCS, fcs,
            fmt::format("{} FCs, but 1..{} are possible", from.fcs()->size(), OVERTAKE_MAX_FCS));
        check_alignment(*from.fcs(), fcs);
        for (const fbs::Fc* fc : *from.fcs()) {
            const std::uint64_t end = std::uint64_t{fc->first_insn()} + fc->insn_count();
            require(fc->insn_count() != 0 && end <= insns, fcs.element(segment.fcs.size(), fc),
                    fmt::format("instructions {}..{} of a program of {}", fc->first_insn(), end,
                                insns));
            segment.fcs.push_back({fc->first_insn(), fc->insn_count()});
            segment.fc_cycles.push_back(fc->cycles());
        }
        segment.expected_ns = expected_ns(segment.fc_cycles);
        segment.scratch_bytes = from.scratch_bytes();
        require(segment.scratch_bytes <= OVERTAKE_MAX_SCRATCH_BYTES,
                place.field(fbs::BpuSegment::VT_SCRATCH_BYTES, "scratch_bytes"),
                fmt::format("{}, at most {}", segment.scratch_bytes, OVERTAKE_MAX_SCRATCH_BYTES));
        read_bindings(from, segment, place.field(fbs::BpuSegment::VT_BINDINGS, "bindings"));
    }

    void read_bindings(const fbs::BpuSegment& from, Segment& segment, const Place& place) {
        std::uint32_t regions = 0;
        for (const fbs::Binding* binding : *from.bindings()) {
            const Place here = place.element(segment.bindings.size(), binding);
            const Place region_place{here.name + ".region", binding};
            const Place tensor_place{here.name + ".tensor", binding};
            const std::uint32_t region = binding->region();
            require(region >= OVERTAKE_REGION_IO && region < OVERTAKE_MAX_REGIONS, region_place,
                    fmt::format("{}, but {}..{} are possible", region, OVERTAKE_REGION_IO,
                                OVERTAKE_MAX_REGIONS - 1));
            require(!(regions & (1u << region)), region_place, "bound twice");
            regions |= 1u << region;
            const std::uint32_t number = tensor_number(binding->tensor(), tensor_place);
            require(contents_.tensors[number].on_device(), tensor_place, "is not in device memory");
            segment.bindings.push_back({region, number, binding->writable()});
        }
        for (const TensorBinding& binding : segment.bindings)
            if (!binding.writable)
                require_value(binding.tensor, place);
        for (const TensorBinding& binding : segment.bindings)
            if (binding.writable)
                mark_written(binding.tensor, place);
    }

    void require_value(std::uint32_t number, const Place& place) const {
        require(state_[number] != TensorState::unset, place,
                fmt::format("tensor {} is read before anything wrote it", number));
    }

    void mark_written(std::uint32_t number, const Place& place) {
        require(state_[number] != TensorState::input, place,
                fmt::format("tensor {} is an input of the model and would be overwritten", number));
        require(state_[number] != TensorState::constant, place,
                fmt::format("tensor {} is a constant and would be overwritten", number));
        state_[number] = TensorState::written;
    }

    void read_cpu_segment(const fbs::CpuSegment& from, Segment& segment, const Place& place) {
        const Place ops = place.field(fbs::CpuSegment::VT_OPS, "ops");
        require(from.ops()->size() != 0, ops, "none");
        segment.expected_ns = std::min(from.expected_ns(), most_expected_ns);
        for (const fbs::CpuOp* op : *from.ops())
            segment.cpu_ops.push_back(read_cpu_op(*op, ops.element(segment.cpu_ops.size(), op)));
    }

    CpuOp read_cpu_op(const fbs::CpuOp& from, const Place& place) {
        CpuOp op{};
        op.type = static_cast<CpuOpType>(from.type());
        require(cpu::name_of(op.type) != nullptr, place.field(fbs::CpuOp::VT_TYPE, "type"),
                fmt::format("no operator {}", static_cast<int>(from.type())));
        const Place inputs = place.field(fbs::CpuOp::VT_INPUTS, "inputs");
        const Place outputs = place.field(fbs::CpuOp::VT_OUTPUTS, "outputs");
        require(from.inputs() && from.inputs()->size() >= 1, inputs, "none");
        require(from.outputs() && from.outputs()->size() == 1, outputs, "needs exactly one");
        op.name = view(from.name());
        op.output = tensor_number(from.outputs()->Get(0), outputs.number(*from.outputs(), 0));
        for (const std::uint32_t number : *from.inputs()) {
            const Place here = inputs.number(*from.inputs(), op.inputs.size());
            op.inputs.push_back(tensor_number(number, here));
            require_value(number, here);
            require(number != op.output, place, "reads what it writes");
        }
        if (from.integers()) {
            check_alignment(*from.integers(), place.field(fbs::CpuOp::VT_INTEGERS, "integers"));
            op.integers.assign(from.integers()->begin(), from.integers()->end());
        } else if (from.type() == fbs::CpuOpType::Softmax) {
            op.integers = {read_axis(from, op, place.field(fbs::CpuOp::VT_AXIS, "axis"))};
        }
        if (from.reals())
            op.reals.assign(from.reals()->begin(), from.reals()->end());
        if (op.type == CpuOpType::custom)
            op.custom = read_custom(from);
        const std::string reason = cpu::check(cpu::operation_of(contents_.tensors, op));
        require(reason.empty(), place, fmt::format("{} {}", cpu::name_of(op.type), reason));
        mark_written(op.output, outputs.number(*from.outputs(), 0));
        return op;
    }

    static std::string text(const flatbuffers::String* from) { return from ? from->str() : ""; }

    template <class To, class From>
    static void copy(const From* from, std::vector<To>& to) {
        if (from)
            to.assign(from->begin(), from->end());
    }

    static std::shared_ptr<const OperatorDescription> read_custom(const fbs::CpuOp& from) {
        auto custom = std::make_shared<OperatorDescription>();
        custom->domain = text(from.domain());
        custom->type = text(from.custom_type());
        custom->node = text(from.name());
        if (!from.attributes())
            return custom;
        for (const fbs::Attribute* attribute : *from.attributes()) {
            OperatorAttribute& read = custom->attributes.emplace_back();
            read.name = text(attribute->name());
            copy(attribute->integers(), read.integers);
            copy(attribute->reals(), read.reals);
            copy(attribute->shape(), read.shape);
            if (attribute->strings())
                for (const flatbuffers::String* string : *attribute->strings())
                    read.strings.push_back(text(string));
        }
        return custom;
    }

    std::int64_t read_axis(const fbs::CpuOp& from, const CpuOp& op, const Place& place) const {
        const int rank = static_cast<int>(contents_.tensors[op.inputs[0]].shape.size());
        require(from.axis() >= -rank && from.axis() < rank, place,
                fmt::format("{} for {} dimensions", from.axis(), rank));
        return from.axis() < 0 ? from.axis() + rank : from.axis();
    }

    /// What one upload and one task need together.
    void check_total_memory() const {
        std::uint64_t total = contents_.program.size() + contents_.weights.size();
        for (const Tensor& tensor : contents_.tensors) {
            total += tensor.bytes; // each at most 2^30, and fewer than 2^32 of them
            require(total <= OVERTAKE_MAX_CLIENT_BYTES, of_root(Root::VT_TENSORS, "tensors"),
                    fmt::format("need more than {} bytes together", OVERTAKE_MAX_CLIENT_BYTES));
        }
    }

    const std::span<const std::byte> file_;
    const std::string& path_;
    const fbs::Model& root_;
    const flatbuffers::Vector<std::uint8_t>& weights_;
    ModelContents contents_;
    std::vector<TensorState> state_; ///< at this point of the reading, which is the running order
};

} // namespace

ModelContents read_model(const fbs::Model& root, const flatbuffers::Vector<std::uint8_t>& weights,
                         std::span<const std::byte> file, const std::string& path) {
    return Reader(root, weights, file, path).read();
}

} // namespace overtake
