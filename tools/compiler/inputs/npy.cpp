// SPDX-License-Identifier: MIT
#include "compiler/inputs/npy.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "compiler/inputs/sample_file.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/half.hpp"

namespace overtake::compiler {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header_bytes = 1 << 20;
constexpr std::size_t max_dimensions = 32;

struct Header {
    std::string type; // numpy's descr, such as <f4
    bool fortran_order = false;
    std::vector<std::size_t> shape;
};

// The header is a Python dictionary literal of three known keys.
class HeaderParser {
public:
    explicit HeaderParser(std::string_view text) : text_(text) {}

    // Returns nothing if the text is not such a dictionary.
    std::optional<Header> parse() {
        if (!take('{'))
            return std::nullopt;
        unsigned seen = 0;
        while (!take('}')) {
            const auto key = string();
            if (!key || !take(':'))
                return std::nullopt;
            if (*key == "descr" && read_type())
                seen |= 1;
            else if (*key == "fortran_order" && read_order())
                seen |= 2;
            else if (*key == "shape" && read_shape())
                seen |= 4;
            else
                return std::nullopt;
            if (!take(',') && peek() != '}')
                return std::nullopt;
        }
        return seen == 7 ? std::optional(header_) : std::nullopt;
    }

private:
    char peek() {
        while (position_ < text_.size() &&
               std::isspace(static_cast<unsigned char>(text_[position_])))
            ++position_;
        return position_ < text_.size() ? text_[position_] : '\0';
    }

    bool take(char wanted) {
        if (peek() != wanted)
            return false;
        ++position_;
        return true;
    }

    std::optional<std::string> string() {
        const char quote = peek();
        if (quote != '\'' && quote != '"')
            return std::nullopt;
        const std::size_t end = text_.find(quote, position_ + 1);
        if (end == std::string_view::npos)
            return std::nullopt;
        const std::string result(text_.substr(position_ + 1, end - position_ - 1));
        position_ = end + 1;
        return result;
    }

    bool word(std::string_view wanted) {
        peek();
        if (text_.substr(position_, wanted.size()) != wanted)
            return false;
        position_ += wanted.size();
        return true;
    }

    bool read_type() {
        const auto text = string();
        header_.type = text.value_or("");
        return text.has_value();
    }

    bool read_order() {
        header_.fortran_order = word("True");
        return header_.fortran_order || word("False");
    }

    bool read_shape() {
        header_.shape.clear();
        if (!take('('))
            return false;
        while (!take(')')) {
            std::size_t size = 0;
            if (!std::isdigit(static_cast<unsigned char>(peek())))
                return false;
            while (position_ < text_.size() &&
                   std::isdigit(static_cast<unsigned char>(text_[position_])))
                if (__builtin_mul_overflow(size, std::size_t{10}, &size) ||
                    __builtin_add_overflow(size, static_cast<std::size_t>(text_[position_++] - '0'),
                                           &size))
                    return false;
            header_.shape.push_back(size);
            if (header_.shape.size() > max_dimensions || (!take(',') && peek() != ')'))
                return false;
        }
        return true;
    }

    std::string_view text_;
    std::size_t position_ = 0;
    Header header_;
};

// Notes the loss of `element` in float32.
template <typename Element>
void note_loss(Array& array, Element element, std::size_t index) {
    const auto describe = [index](auto number) {
        return fmt::format("{} at element {}", number, index);
    };
    const double real = static_cast<double>(array.data[index]);
    if constexpr (std::is_same_v<Element, double>) {
        if (array.became_infinite.empty() && std::isinf(real) && std::isfinite(element))
            array.became_infinite = describe(element);
    } else if constexpr (std::is_integral_v<Element> && sizeof(Element) >= sizeof(float)) {
        // A double holds 64-bit integers no better.
        __extension__ using Wide = __int128;
        if (array.was_rounded.empty() && static_cast<Wide>(real) != static_cast<Wide>(element))
            array.was_rounded = describe(element);
    }
}

struct Half {
    std::uint16_t bits;

    explicit operator float() const { return from_float16(bits); }
};

template <typename Element>
void convert(Array& array, const char* bytes, std::size_t count) {
    array.data.resize(count);
    for (std::size_t index = 0; index < count; ++index) {
        Element element;
        std::memcpy(&element, bytes + index * sizeof(Element), sizeof(Element));
        array.data[index] = static_cast<float>(element);
        note_loss(array, element, index);
    }
}

struct StoredType {
    std::string_view name;
    std::size_t bytes;
    void (*convert)(Array&, const char*, std::size_t);
};

constexpr StoredType stored_types[] = {
    {"<f4", 4, convert<float>},         {"<f8", 8, convert<double>},
    {"|u1", 1, convert<std::uint8_t>},  {"|i1", 1, convert<std::int8_t>},
    {"|b1", 1, convert<std::uint8_t>},  {"<u2", 2, convert<std::uint16_t>},
    {"<i2", 2, convert<std::int16_t>},  {"<i4", 4, convert<std::int32_t>},
    {"<i8", 8, convert<std::int64_t>},  {"<u4", 4, convert<std::uint32_t>},
    {"<u8", 8, convert<std::uint64_t>}, {"<f2", 2, convert<Half>},
};

std::size_t little_endian(const std::string& bytes, std::size_t offset, std::size_t length) {
    std::size_t value = 0;
    for (std::size_t index = 0; index < length; ++index)
        value |= std::size_t{static_cast<unsigned char>(bytes[offset + index])} << (8 * index);
    return value;
}

// Puts elements that are stored with the first index fastest into row-major order.
std::vector<float> from_fortran(const std::vector<float>& stored,
                                const std::vector<std::size_t>& shape) {
    std::vector<float> data(stored.size());
    std::vector<std::size_t> index(shape.size());
    for (float& element : data) {
        std::size_t offset = 0;
        for (std::size_t axis = shape.size(); axis-- > 0;)
            offset = offset * shape[axis] + index[axis];
        element = stored[offset];
        for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];)
            index[axis] = 0;
    }
    return data;
}

// Rounds to nearest even.
std::uint16_t half_bits(float real) {
    const auto bits = std::bit_cast<std::uint32_t>(real);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const double magnitude = std::abs(double{real});
    if (std::isnan(real))
        return sign | 0x7e00;
    constexpr double greatest = 65504, least_step = 0x1p-24;
    if (magnitude >= greatest + 16)
        return sign | 0x7c00;
    // Counts in steps of the exponent's last bit; numbers too small for an exponent count on from
    // 0.
    const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : -14, -14);
    const auto steps = static_cast<std::uint16_t>(
        std::nearbyint(magnitude / least_step * std::exp2(-14 - exponent)));
    return static_cast<std::uint16_t>(sign + steps + ((exponent + 14) << 10));
}

template <typename Element>
Element element_of(float real) {
    if constexpr (std::is_same_v<Element, bool>) {
        return real != 0;
    } else if constexpr (std::is_integral_v<Element>) {
        // If the greatest integer has no float32, the next greater number has one.
        if (std::isnan(real))
            return 0;
        if (real >= static_cast<float>(std::numeric_limits<Element>::max()))
            return std::numeric_limits<Element>::max();
        if (real <= static_cast<float>(std::numeric_limits<Element>::min()))
            return std::numeric_limits<Element>::min();
    }
    return static_cast<Element>(real);
}

template <typename Stored, Stored (*stored_of)(float)>
void write_elements(std::ostream& stream, std::span<const float> data) {
    constexpr std::size_t at_once = 1 << 16;
    std::vector<char> bytes;
    for (std::size_t first = 0; first < data.size(); first += at_once) {
        const auto part = data.subspan(first, std::min(at_once, data.size() - first));
        bytes.resize(part.size() * sizeof(Stored));
        for (std::size_t index = 0; index < part.size(); ++index) {
            const Stored element = stored_of(part[index]);
            std::memcpy(bytes.data() + index * sizeof(Stored), &element, sizeof(Stored));
        }
        stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
}

struct WrittenType {
    const char* name;
    void (*write)(std::ostream&, std::span<const float>);
};

template <typename Element>
constexpr auto write_as = write_elements<Element, element_of<Element>>;

// The types by ElementType.
constexpr WrittenType written_types[] = {
    {"<f4", write_as<float>},
    {"<f8", write_as<double>},
    {"<f2", write_elements<std::uint16_t, half_bits>},
    {"|i1", write_as<std::int8_t>},
    {"|u1", write_as<std::uint8_t>},
    {"<i2", write_as<std::int16_t>},
    {"<u2", write_as<std::uint16_t>},
    {"<i4", write_as<std::int32_t>},
    {"<u4", write_as<std::uint32_t>},
    {"<i8", write_as<std::int64_t>},
    {"<u8", write_as<std::uint64_t>},
    {"|b1", write_as<bool>},
};

} // namespace

Array read_npy(const std::string& path) {
    const std::string bytes = read_sample_file(path);
    if (!bytes.starts_with(magic))
        throw CompileError(path, describe_other(bytes));
    if (bytes.size() < 10)
        throw CompileError(path, "its header is cut off; write it again with numpy.save");
    const unsigned version = static_cast<unsigned char>(bytes[6]);
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    if (version < 1 || version > 3 || bytes.size() < 8 + length_bytes)
        throw CompileError(path, "unknown .npy version " + std::to_string(version));
    const std::size_t header_bytes = little_endian(bytes, 8, length_bytes);
    const std::size_t start = 8 + length_bytes + header_bytes;
    if (header_bytes > max_header_bytes || start > bytes.size())
        throw CompileError(path, "its header is cut off; write it again with numpy.save");
    const auto header =
        HeaderParser(std::string_view(bytes).substr(8 + length_bytes, header_bytes)).parse();
    if (!header)
        throw CompileError(path, "its header is malformed; write it again with numpy.save");
    for (const StoredType& type : stored_types) {
        if (type.name != header->type)
            continue;
        std::size_t count = 1, total = 0;
        for (std::size_t size : header->shape)
            if (__builtin_mul_overflow(count, size, &count))
                throw CompileError(path, "its shape is impossible");
        if (__builtin_mul_overflow(count, type.bytes, &total) || total > bytes.size() - start)
            throw CompileError(path, "has fewer elements than its shape says; is the file whole?");
        Array array{header->shape, {}};
        type.convert(array, bytes.data() + start, count);
        if (header->fortran_order)
            array.data = from_fortran(array.data, array.shape);
        return array;
    }
    throw CompileError(path, "elements of type '" + header->type +
                                 "' are not supported; convert them with astype('float32')");
}

void write_npy(std::ostream& stream, std::span<const std::size_t> shape,
               std::span<const float> data, ElementType type) {
    const WrittenType& written = written_types[static_cast<std::size_t>(type)];
    std::string sizes;
    for (std::size_t size : shape)
        sizes += std::to_string(size) + ",";
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                     written.name, sizes);
    const std::size_t prefix = magic.size() + 4;
    header.append(63 - (prefix + header.size()) % 64, ' ');
    header += '\n';
    std::string file(magic);
    file += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
             static_cast<char>(header.size() >> 8)};
    file += header;
    stream.write(file.data(), static_cast<std::streamsize>(file.size()));
    written.write(stream, data);
}

} // namespace overtake::compiler
