// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {
namespace {

namespace fs = std::filesystem;

/// Far more than any scenario has; what walks a document may recurse.
constexpr std::size_t levels_max = 64;

/// Goes over a text and refuses what a parsed document no longer shows or cannot bear: a key that
/// is given twice, of which a reader would see one only; a number that no double holds; great
/// depth. Places are named as elsewhere.
class Check : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool start_object(std::size_t) override { return enter(false); }
    bool start_array(std::size_t) override { return enter(true); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }

    bool key(string_t& key) override {
        levels_.back().key = key;
        if (!levels_.back().keys.insert(key).second)
            throw Error(EINVAL, fmt::format("{}: given twice", path()));
        return true;
    }

    bool parse_error(std::size_t, const std::string&,
                     const nlohmann::json::exception& error) override {
        std::string what = error.what();
        // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
        if (const auto end = what.find("] "); end != std::string::npos)
            what = what.substr(end + 2);
        if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr)
            what = fmt::format("{}: a number that is far too large", path());
        throw Error(EINVAL, what);
    }

private:
    struct Level {
        bool is_array;
        std::size_t index = 0;
        std::string key{};
        std::unordered_set<std::string> keys{};
    };

    bool enter(bool is_array) {
        if (levels_.size() == levels_max)
            throw Error(EINVAL, fmt::format("{}: more than {} levels deep", path(), levels_max));
        levels_.push_back({.is_array = is_array});
        return true;
    }

    bool leave() {
        levels_.pop_back();
        return value();
    }

    bool value() {
        if (!levels_.empty())
            levels_.back().index++;
        return true;
    }

    /// What is being read.
    std::string path() const {
        std::string text;
        for (const Level& level : levels_) {
            if (level.is_array)
                text += fmt::format("[{}]", level.index);
            else
                text += (text.empty() ? "" : ".") + level.key;
        }
        return text.empty() ? "the scenario" : text;
    }

    std::vector<Level> levels_;
};

std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw Error(errno, std::string(std::strerror(errno)) + "; name a readable JSON file");
    if (fs::is_directory(path))
        throw Error(EISDIR, "is a directory; name a JSON file");
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (file.bad())
        throw Error(EIO, "cannot be read to its end");
    if (text.empty())
        throw Error(EINVAL, "is empty; name a JSON file");
    return text;
}

} // namespace

nlohmann::json parse_json(const std::string& text) {
    Check check;
    nlohmann::json::sax_parse(text, &check);
    return nlohmann::json::parse(text);
}

nlohmann::json read_json(const fs::path& path) {
    try {
        return parse_json(read_text(path));
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", path.string(), error.what()));
    }
}

} // namespace overtake::simulator
