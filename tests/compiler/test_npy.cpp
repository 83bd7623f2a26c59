// SPDX-License-Identifier: MIT
#include "compiler/inputs/npy.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

#include "compiler/ir/error.hpp"

using namespace overtake::compiler;

namespace {

class Npy : public testing::Test {
protected:
    Npy()
        : directory_(std::filesystem::temp_directory_path() / ("npy" + std::to_string(getpid()))) {
        std::filesystem::create_directories(directory_);
        path_ = directory_ / "array.npy";
    }
    ~Npy() override { std::filesystem::remove_all(directory_); }

    void put(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

    // Makes a version 1 file with this dictionary.
    static std::string file(const std::string& header, const std::string& data) {
        std::string bytes("\x93NUMPY\x01\x00", 8);
        bytes += static_cast<char>(header.size() & 0xff);
        bytes += static_cast<char>(header.size() >> 8);
        return bytes + header + data;
    }

    static std::string dictionary(const std::string& type, const std::string& shape,
                                  const std::string& fortran = "False") {
        return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape +
               ", }\n";
    }

    std::filesystem::path directory_;
    std::filesystem::path path_;
};

TEST_F(Npy, WhatIsWrittenIsRead) {
    for (const std::vector<std::size_t>& shape :
         {std::vector<std::size_t>{}, {3}, {2, 3}, {1, 2, 3, 4}, {0, 5}}) {
        std::size_t count = 1;
        for (std::size_t size : shape)
            count *= size;
        std::vector<float> data(count);
        for (std::size_t index = 0; index < count; ++index)
            data[index] = 0.5f * static_cast<float>(index) - 1.0f;
        {
            std::ofstream stream(path_, std::ios::binary);
            write_npy(stream, shape, data);
        }
        EXPECT_EQ(std::filesystem::file_size(path_) % 64, count * sizeof(float) % 64);
        const Array array = read_npy(path_);
        EXPECT_EQ(array.shape, shape);
        EXPECT_EQ(array.data, data);
    }
}

TEST_F(Npy, ElementTypesBecomeFloat) {
    const auto expect = [&](const std::string& type, const std::string& bytes, float value) {
        put(file(dictionary(type, "(1,)"), bytes));
        EXPECT_EQ(read_npy(path_).data, std::vector<float>{value}) << type;
    };
    using namespace std::string_literals;
    expect("|u1", "\xff"s, 255);
    expect("|i1", "\xff"s, -1);
    expect("|b1", "\x01"s, 1);
    expect("<u2", "\x01\xff"s, 65281);
    expect("<i2", "\xfe\xff"s, -2);
    expect("<i4", "\xfe\xff\xff\xff"s, -2);
    expect("<i8", "\xfe\xff\xff\xff\xff\xff\xff\xff"s, -2);
    expect("<f4", "\0\0\x80\x3f"s, 1);
    expect("<f8", "\0\0\0\0\0\0\xf0\x3f"s, 1);
}

TEST_F(Npy, FortranOrderIsPutInRowMajorOrder) {
    put(file(dictionary("|u1", "(2, 3)", "True"), "\x01\x02\x03\x04\x05\x06"));
    EXPECT_EQ(read_npy(path_).data, (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST_F(Npy, RefusesWhatIsMalformed) {
    const std::string good = dictionary("|u1", "(2, 3)");
    const std::string data = "123456";
    std::string bad_version = file(good, data);
    bad_version[6] = 9;
    std::string many_ones;
    for (int dimension = 0; dimension < 40; ++dimension)
        many_ones += "1, ";
    const std::pair<const char*, std::string> cases[] = {
        {"empty", ""},
        {"no magic", "hello world, this is not an array"},
        {"magic alone", std::string("\x93NUMPY\x01\x00", 8)},
        {"unknown version", bad_version},
        {"header cut off", file(good, data).substr(0, 30)},
        {"one element too few", file(good, "12345")},
        {"no elements", file(good, "")},
        {"no dictionary", file("['descr']", data)},
        {"key missing", file("{'descr': '|u1', 'shape': (2, 3)}", data)},
        {"unknown key", file("{'descr': '|u1', 'fortran_order': False, 'colour': (2, 3)}", data)},
        {"string without end", file("{'descr", data)},
        {"unclosed shape", file("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3", data)},
        {"negative size", file(dictionary("|u1", "(-2, 3)"), data)},
        {"shape that overflows", file(dictionary("|u1", "(4294967296, 4294967296, 2)"), data)},
        {"number that overflows", file(dictionary("|u1", "(99999999999999999999,)"), data)},
        {"bytes that overflow", file(dictionary("<f8", "(4611686018427387904,)"), data)},
        {"more elements than memory", file(dictionary("|u1", "(1000000000000,)"), data)},
        {"too many dimensions", file(dictionary("|u1", "(" + many_ones + ")"), data)},
        {"big-endian", file(dictionary(">f4", "(1,)"), data)},
        {"objects", file(dictionary("|O", "(1,)"), data)},
        {"structures",
         file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", data)},
    };
    for (const auto& [what, bytes] : cases) {
        put(bytes);
        try {
            read_npy(path_);
            ADD_FAILURE() << what << " was accepted";
        } catch (const CompileError& error) {
            EXPECT_EQ(std::string(error.what()).rfind(path_.string() + ": ", 0), 0u) << what;
        }
    }
    EXPECT_THROW(read_npy(directory_ / "absent.npy"), CompileError);
    EXPECT_THROW(read_npy(directory_), CompileError);
}

TEST_F(Npy, DamagedFilesAreReadOrRefused) {
    const std::string whole = file(dictionary("<f4", "(2, 3)"), std::string(24, 'x'));
    std::mt19937 random(1);
    std::size_t refused = 0;
    for (int round = 0; round < 1000; ++round) {
        std::string damaged =
            whole.substr(0, round % 3 == 0 ? random() % whole.size() : whole.size());
        for (std::size_t change = random() % 4; change-- > 0 && !damaged.empty();)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        put(damaged);
        try {
            const Array array = read_npy(path_);
            EXPECT_LE(array.data.size(), whole.size());
        } catch (const CompileError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 200u);
}

} // namespace
