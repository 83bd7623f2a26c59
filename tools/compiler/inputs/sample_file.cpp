// SPDX-License-Identifier: MIT
#include "compiler/inputs/sample_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t longest_signature = 16;

struct Signature {
    std::size_t offset;
    std::string_view bytes;
    const char* meaning;
};

constexpr Signature others[] = {
    {0, "BM"sv, "is a BMP picture, which is not read; convert it to PNG"},
    {0, "GIF8"sv, "is a GIF picture, which is not read; convert it to PNG"},
    {0, "II*\0"sv, "is a TIFF picture, which is not read; convert it to PNG"},
    {0, "MM\0*"sv, "is a TIFF picture, which is not read; convert it to PNG"},
    {8, "WEBP"sv, "is a WebP picture, which is not read; convert it to PNG"},
    {0, "PK\x03\x04"sv,
     "is an archive (.npz or .zip), which is not read; save its arrays one by one with numpy.save"},
    {4, "OVM1"sv, "is a compiled model, not samples"},
    {4, "OVP1"sv, "is a pack of compiled models, not samples"},
};

[[noreturn]] void refuse_file(const std::string& path, const std::string& reason) {
    throw CompileError(path, reason + "; name a readable .npy, .png or .jpg file");
}

std::ifstream open_sample(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found)
        refuse_file(path, std::strerror(ENOENT));
    if (error)
        refuse_file(path, error.message());
    if (std::filesystem::is_directory(status))
        refuse_file(path, "is a directory");
    if (!std::filesystem::is_regular_file(status))
        refuse_file(path, "is a device or a pipe, not a file");
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        refuse_file(path, std::strerror(errno != 0 ? errno : EIO));
    if (std::filesystem::file_size(path, error) == 0)
        refuse_file(path, "is empty");
    return file;
}

} // namespace

SampleKind kind_of_sample(const std::string& path) {
    std::string start(longest_signature, '\0');
    std::ifstream file = open_sample(path);
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    if (start.starts_with("\x93NUMPY"))
        return SampleKind::npy;
    return start.starts_with("\x89PNG") || start.starts_with("\xff\xd8\xff") ? SampleKind::picture
                                                                             : SampleKind::other;
}

std::string read_sample_file(const std::string& path) {
    std::ifstream file = open_sample(path);
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error)
        refuse_file(path, error.message());
    std::string bytes(size, '\0');
    if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
        refuse_file(path, "cannot be read");
    return bytes;
}

std::string describe_other(const std::string& bytes) {
    for (const Signature& signature : others)
        if (bytes.size() >= signature.offset &&
            bytes.compare(signature.offset, signature.bytes.size(), signature.bytes) == 0)
            return signature.meaning;
    return "is neither a .npy array nor a PNG or JPEG picture; write it with numpy.save, or name "
           "another file";
}

std::string describe_not_finite(std::span<const float> values, std::size_t first) {
    const auto wrong = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
    if (wrong == values.end())
        return "";
    const auto element = first + static_cast<std::size_t>(wrong - values.begin());
    return std::string("holds ") + (std::isnan(*wrong) ? "NaN" : "infinity") + " at element " +
           std::to_string(element);
}

} // namespace overtake::compiler
