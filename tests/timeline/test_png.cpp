// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "observe/timeline/png.hpp"
#include "overtake/device.hpp"
#include "random_timeline.hpp"
#include "svg_contents.hpp"

namespace overtake::timeline {
namespace {

std::string contents_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string message_of(std::string_view svg, const std::string& path) {
    try {
        write_png(svg, path);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

/// Returns a number of four bytes in the header of a PNG.
unsigned number_at(const std::string& png, std::size_t at) {
    unsigned value = 0;
    for (std::size_t byte = at; byte < at + 4; byte++)
        value = value << 8 | static_cast<unsigned char>(png.at(byte));
    return value;
}

TEST(Png, HasTheSizeOfTheDocument) {
    // The picture is larger than a pipe, so that both ends have to work at once.
    const Timeline timeline = random_timeline({.cores = 4, .fcs_per_core = 500}, 1);
    const std::string svg = to_svg(timeline, 0, end_of(timeline));
    ASSERT_GT(svg.size(), 200'000u);
    const auto height = inspect(svg)["height"].get<unsigned>();
    const ScratchDirectory directory;
    write_png(svg, directory.path() / "picture.png");
    const std::string png = contents_of(directory.path() / "picture.png");
    EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(number_at(png, 16), 1200u);
    EXPECT_EQ(number_at(png, 20), height);
    EXPECT_EQ(directory.files(), 1u);
}

TEST(Png, NamesThePackageWhenTheProgramIsMissing) {
    const ScratchDirectory directory;
    const std::string path = std::getenv("PATH");
    setenv("PATH", directory.path().c_str(), 1);
    const std::string message = message_of("<svg/>", directory.path() / "picture.png");
    setenv("PATH", path.c_str(), 1);
    EXPECT_NE(message.find("librsvg2-bin"), std::string::npos) << message;
    EXPECT_EQ(directory.files(), 0u);
}

TEST(Png, NamesThePathThatCannotBeWritten) {
    const ScratchDirectory directory;
    const std::string path = directory.path() / "missing" / "picture.png";
    EXPECT_EQ(message_of(to_svg({}, 0, 1000), path),
              path + ": cannot be written: No such file or directory; make its directory first, or "
                     "name another place");
    const std::string full = message_of(to_svg({}, 0, 1000), "/dev/full");
    EXPECT_EQ(full.find("/dev/full: cannot be written: "), 0u) << full;
    EXPECT_EQ(directory.files(), 0u);
}

TEST(Png, KeepsTheOldFileWhenTheDocumentIsBad) {
    const ScratchDirectory directory;
    const std::string path = directory.path() / "picture.png";
    std::ofstream(path) << "old";
    const std::string bad = "<nonsense>" + std::string(1'000'000, '<');
    const std::string message = message_of(bad, path);
    EXPECT_EQ(message.find(path + ": cannot be written: rsvg-convert failed: "), 0u) << message;
    EXPECT_EQ(contents_of(path), "old");
    EXPECT_EQ(directory.files(), 1u);
}

TEST(Png, SaysWhatTheProgramSaidWhenItDoesNotEvenRead) {
    const ScratchDirectory programs;
    const std::string program = programs.path() / "rsvg-convert";
    std::ofstream(program) << "#!/bin/sh\nexec 0<&-\necho 'no mood' >&2\nexit 3\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const ScratchDirectory directory;
    const std::string target = directory.path() / "picture.png";
    const std::string path = std::getenv("PATH");
    setenv("PATH", programs.path().c_str(), 1);
    // The text is larger than a pipe: the write fails, and no process dies.
    const std::string message = message_of(std::string(10'000'000, ' '), target);
    setenv("PATH", path.c_str(), 1);
    EXPECT_EQ(message, target + ": cannot be written: rsvg-convert failed: no mood");
    EXPECT_EQ(directory.files(), 0u);
}

} // namespace
} // namespace overtake::timeline
