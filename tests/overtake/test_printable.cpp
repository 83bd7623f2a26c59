// SPDX-License-Identifier: MIT
//
// Names that other users choose, on a terminal and in JSON.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "json_text.hpp"
#include "printable.hpp"

namespace overtake::test {
namespace {

TEST(Printable, WhatMovesACursorOrReordersALineIsReplaced) {
    EXPECT_EQ(printable("größe 模型 \U0001f600"), "größe 模型 \U0001f600");
    EXPECT_EQ(printable("\x1b[2J\x7f\n\xc2\x9b"), "?[2J???");
    EXPECT_EQ(printable("a\x9b\xff\xe2\x80"), "a????");
    for (char32_t character = 0x202a; character <= 0x202e; character++)
        EXPECT_TRUE(is_control_or_format(character)) << std::uint32_t{character};
    for (char32_t character = 0x2066; character <= 0x2069; character++)
        EXPECT_TRUE(is_control_or_format(character)) << std::uint32_t{character};
    EXPECT_EQ(printable("\u200e\u200f\u061c\u202e\u2066\ufeff\u2028\U000e0041"), "????????");
}

TEST(Printable, LinesStayApartWhereTheyAreOurOwn) {
    EXPECT_EQ(printable("a\nb\u202ec\n", true), "a\nb?c\n");
}

TEST(Printable, JsonHasTheSameValuesAndNoSuchCharacter) {
    const nlohmann::json values{{"a\u202eb", "\u2066\u061c\x7f\n\"\\ü"},
                                {"tag", "\U000e0041\U0001f600"}};
    const std::string text = command::text_of(values);
    EXPECT_EQ(nlohmann::json::parse(text), values);
    EXPECT_EQ(printable(text, true), text);
    EXPECT_NE(text.find("a\\u202eb"), std::string::npos) << text;
    EXPECT_NE(text.find("\\udb40\\udc41"), std::string::npos) << text;
    EXPECT_NE(text.find("ü"), std::string::npos) << text;
}

} // namespace
} // namespace overtake::test
