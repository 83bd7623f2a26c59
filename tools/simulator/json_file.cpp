// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "overtake/device.hpp"
#include "simulator/scenario.hpp"

namespace overtake::simulator {
namespace {

namespace fs = std::filesystem;

/// The most levels of a document, far more than any scenario has. Code that walks a document may
/// recurse.
constexpr std::size_t levels_max = 64;

/// Builds a document from a text. Refuses input that the document would no longer show, or that its
/// readers cannot handle: a key given twice, a number that no double holds, great depth. Errors
/// name the place as elsewhere.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    nlohmann::json take() { return std::move(root_); }

    bool null() override { return value(nullptr); }
    bool boolean(bool v) override { return value(v); }
    bool number_integer(number_integer_t v) override { return value(v); }
    bool number_unsigned(number_unsigned_t v) override { return value(v); }
    bool number_float(number_float_t v, const string_t&) override { return value(v); }
    bool string(string_t& v) override { return value(std::move(v)); }
    bool binary(binary_t& v) override { return value(std::move(v)); }
    bool start_object(std::size_t) override { return enter(nlohmann::json::object()); }
    bool start_array(std::size_t) override { return enter(nlohmann::json::array()); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }

    bool key(string_t& key) override {
        Level& level = levels_.back();
        const auto [member, is_new] =
            level.container->get_ref<object_t&>().try_emplace(std::move(key));
        level.member = &*member;
        if (!is_new)
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
    using object_t = nlohmann::json::object_t;
    struct Level {
        nlohmann::json* container;
        object_t::value_type* member = nullptr; ///< of an object: the member that is being read
    };

    /// Returns the place of the next value.
    template <class Value>
    nlohmann::json& place(Value&& value) {
        if (levels_.empty())
            return root_ = std::forward<Value>(value);
        const Level& level = levels_.back();
        if (level.container->is_array())
            return level.container->get_ref<nlohmann::json::array_t&>().emplace_back(
                std::forward<Value>(value));
        return level.member->second = std::forward<Value>(value);
    }

    template <class Value>
    bool value(Value&& value) {
        place(std::forward<Value>(value));
        return true;
    }

    bool enter(nlohmann::json empty) {
        if (levels_.size() == levels_max)
            throw Error(EINVAL, fmt::format("{}: more than {} levels deep", path(), levels_max));
        levels_.push_back({.container = &place(std::move(empty))});
        return true;
    }

    bool leave() {
        levels_.pop_back();
        return true;
    }

    /// Returns the path of the value that is being read.
    std::string path() const {
        std::string text;
        for (const Level& level : levels_) {
            if (level.container->is_array()) {
                // The last element of an outer level is the one that is being read.
                const std::size_t inner = &level == &levels_.back() ? 0 : 1;
                text += fmt::format("[{}]", level.container->size() - inner);
            } else if (level.member != nullptr) {
                text += (text.empty() ? "" : ".") + level.member->first;
            }
        }
        return text.empty() ? "the scenario" : text;
    }

    nlohmann::json root_;
    std::vector<Level> levels_;
};

std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw Error(errno, std::string(std::strerror(errno)) + "; name a readable JSON file");
    if (fs::is_directory(path))
        throw Error(EISDIR, "is a directory; name a JSON file");
    std::string text;
    constexpr std::size_t at_once = std::size_t{1} << 20;
    do {
        const std::size_t before = text.size();
        text.resize(before + at_once);
        file.read(text.data() + before, at_once);
        text.resize(before + static_cast<std::size_t>(file.gcount()));
    } while (file);
    if (file.bad())
        throw Error(EIO, "cannot be read to its end");
    if (text.empty())
        throw Error(EINVAL, "is empty; name a JSON file");
    return text;
}

} // namespace

nlohmann::json parse_json(const std::string& text) {
    Builder builder;
    nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
    return builder.take();
}

nlohmann::json read_json(const fs::path& path) {
    try {
        return parse_json(read_text(path));
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", path.string(), error.what()));
    }
}

} // namespace overtake::simulator
