// SPDX-License-Identifier: MIT
//
// This file and abi.c compile only if the layout is that of abi.inc.  The test also checks that
// abi.inc lacks no structure and no field of the headers.
#include "abi.h"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

std::string read(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::set<std::string> listed() {
    std::string table = read(OVERTAKE_ABI_TABLE);
    std::regex line("ABI_FIELD\\((\\w+), (\\w+), [0-9]");
    std::set<std::string> names;
    for (std::sregex_iterator it(table.begin(), table.end(), line), end; it != end; ++it)
        names.insert((*it)[1].str() + "." + (*it)[2].str());
    return names;
}

std::set<std::string> declared(const std::string& header) {
    std::string text =
        std::regex_replace(read(header), std::regex("/\\*[^*]*\\*+([^/*][^*]*\\*+)*/"), "");
    std::regex structure("struct (\\w+) \\{([^}]*)\\}");
    std::regex field("(\\w+)(\\[\\w+\\])?;");
    std::set<std::string> names;
    for (std::sregex_iterator it(text.begin(), text.end(), structure), end; it != end; ++it) {
        std::string body = (*it)[2].str();
        for (std::sregex_iterator in(body.begin(), body.end(), field); in != end; ++in)
            names.insert((*it)[1].str() + "." + (*in)[1].str());
    }
    return names;
}

} // namespace

TEST(Abi, TableHasEveryFieldOfTheHeaders) {
    std::set<std::string> fields = declared(OVERTAKE_UAPI_DIR "/overtake_accel.h");
    fields.merge(declared(OVERTAKE_UAPI_DIR "/overtake_accel_cores.h"));
    fields.merge(declared(OVERTAKE_UAPI_DIR "/overtake_accel_groups.h"));
    fields.merge(declared(OVERTAKE_UAPI_DIR "/overtake_accel_record.h"));
    fields.merge(declared(OVERTAKE_UAPI_DIR "/overtake_accel_task.h"));
    fields.merge(declared(OVERTAKE_UAPI_DIR "/overtake_isa.h"));
    EXPECT_GT(fields.size(), 100u);
    EXPECT_EQ(fields, listed());
}

TEST(Abi, UringPayloadIsWhatAnSqeHolds) {
    EXPECT_EQ(sizeof(drm_overtake_submit), OVERTAKE_URING_PAYLOAD_BYTES);
    EXPECT_LE(sizeof(drm_overtake_cancel), OVERTAKE_URING_PAYLOAD_BYTES);
    EXPECT_LE(sizeof(drm_overtake_replay), OVERTAKE_URING_PAYLOAD_BYTES);
}
