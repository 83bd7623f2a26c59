// SPDX-License-Identifier: MIT
#include "coordination/times_file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
#include <set>
#include <string_view>
#include <sys/utsname.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "network/unit_table.hpp"
#include "overtake/error.hpp"

extern "C" {
#include "sched/coord/coord.h"
}

namespace overtake::coordination {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* file_kind = "expected-times";
constexpr unsigned file_version = 1;
constexpr std::uint64_t most_time_ns = std::uint64_t{1} << 40;
constexpr std::size_t most_levels = 8; // a file of expected times has six

/// An object, array or value of the file, with its path in the file.
class Place {
public:
    Place(const Json& value, const std::string& file, std::string path = "")
        : value_(value), file_(file), path_(std::move(path)) {}

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(EINVAL, path_.empty() ? fmt::format("{}: {}", file_, what)
                                          : fmt::format("{}: {}: {}", file_, path_, what));
    }
    bool is_object() const { return value_.is_object(); }

    Place member(const char* key) const {
        if (!value_.is_object())
            fail("is not an object {...}; write the file with overtake profile");
        const auto found = value_.find(key);
        if (found == value_.end())
            Place(value_, file_, join(key))
                .fail("is missing; write the file with overtake profile");
        return Place(*found, file_, join(key));
    }
    /// Refuses other keys, which may be misspelt.
    void allow(std::initializer_list<std::string_view> keys) const {
        if (!value_.is_object())
            fail("is not an object {...}; write the file with overtake profile");
        for (const auto& [key, value] : value_.items())
            if (std::ranges::find(keys, std::string_view(key)) == keys.end())
                Place(value, file_, join(key)).fail("is no key of such a file");
    }
    std::vector<Place> entries() const {
        if (!value_.is_array())
            fail("is not a list [...]");
        std::vector<Place> entries;
        for (std::size_t i = 0; i < value_.size(); i++)
            entries.emplace_back(value_[i], file_, fmt::format("{}[{}]", path_, i));
        return entries;
    }
    std::string text() const {
        if (!value_.is_string())
            fail("is not a text");
        return value_.get<std::string>();
    }
    std::uint64_t number(std::uint64_t least, std::uint64_t most) const {
        const std::uint64_t number =
            value_.is_number_unsigned() ? value_.get<std::uint64_t>() : UINT64_MAX;
        if (number < least || number > most)
            fail(fmt::format("{} is not a whole number in {}..{}",
                             value_.is_number() ? value_.dump() : "it", least, most));
        return number;
    }

private:
    std::string join(const std::string& key) const {
        return path_.empty() ? key : path_ + "." + key;
    }

    const Json& value_;
    const std::string& file_;
    std::string path_;
};

/// Follows the parser, and refuses what the parsed document would not show any more: a repeated
/// key, and great depth.
class Structure {
public:
    explicit Structure(const std::string& file) : file_(file) {}

    void see(Json::parse_event_t event, const Json& value) {
        switch (event) {
        case Json::parse_event_t::object_start:
        case Json::parse_event_t::array_start:
            if (levels_.size() == most_levels)
                fail("is nested too deeply");
            levels_.push_back({event == Json::parse_event_t::array_start});
            return;
        case Json::parse_event_t::key:
            levels_.back().key = value.get<std::string>();
            if (!levels_.back().keys.insert(levels_.back().key).second)
                fail("given twice");
            return;
        case Json::parse_event_t::object_end:
        case Json::parse_event_t::array_end:
            levels_.pop_back();
            break;
        case Json::parse_event_t::value:
            break;
        }
        if (!levels_.empty())
            levels_.back().index++;
    }

private:
    struct Level {
        bool is_list;
        std::size_t index = 0; ///< the index of the next entry
        std::string key{};
        std::set<std::string> keys{};
    };

    [[noreturn]] void fail(const char* what) const {
        std::string path;
        for (const Level& level : levels_)
            if (level.is_list)
                path += fmt::format("[{}]", level.index);
            else
                path += (path.empty() ? "" : ".") + level.key;
        throw Error(EINVAL, fmt::format("{}: {}: {}", file_, path, what));
    }

    const std::string& file_;
    std::vector<Level> levels_;
};

Json parse_json(const std::string& text, const std::string& file) {
    Structure structure(file);
    const auto look = [&](int, Json::parse_event_t event, const Json& value) {
        structure.see(event, value);
        return true;
    };
    try {
        return Json::parse(text, look);
    } catch (const Json::exception& error) {
        std::string what = error.what(); // "[json.exception.parse_error.101] parse error at ..."
        if (const auto end = what.find("] "); end != std::string::npos)
            what = what.substr(end + 2);
        throw Error(EINVAL,
                    fmt::format("{}: {}; write the file with overtake profile", file, what));
    }
}

std::uint64_t parse_units(const Place& list) {
    std::uint64_t units = 0;
    for (const Place& entry : list.entries()) {
        const std::uint64_t unit = entry.number(0, OVT_COORD_MAX_UNITS - 1);
        if (units >> unit != 0)
            entry.fail("units are in ascending order, each once");
        units |= std::uint64_t{1} << unit;
    }
    if (units == 0)
        list.fail("has no unit");
    return units;
}

TimesFile::Class parse_class(const Place& place) {
    TimesFile::Class of;
    of.name = place.member("name").text();
    of.kind = place.member("kind").text();
    if (of.are_cores()) {
        place.allow({"name", "kind", "device", "mode", "profile", "profile_digest", "pieces"});
        of.device = place.member("device").text();
        of.mode = place.member("mode").text();
        of.profile = place.member("profile").text();
        of.digest = place.member("profile_digest").text();
    } else if (of.kind == "workers" || of.kind == "own") {
        place.allow({"name", "kind", "pieces"});
    } else {
        place.member("kind").fail(fmt::format("'{}' is not cores, workers or own", of.kind));
    }
    for (const Place& entry : place.member("pieces").entries()) {
        entry.allow({"units", "time_ns"});
        of.pieces.push_back(
            {parse_units(entry.member("units")), entry.member("time_ns").number(1, most_time_ns)});
        for (std::size_t i = 0; i + 1 < of.pieces.size(); i++)
            if (of.pieces[i].units == of.pieces.back().units)
                entry.fail("the same units as an earlier piece");
    }
    return of;
}

template <class Value>
std::uint64_t add(std::uint64_t digest, const Value& value) {
    return digest_of(std::as_bytes(std::span(&value, 1)), digest);
}

std::uint64_t add(std::uint64_t digest, std::string_view text) {
    return digest_of(std::as_bytes(std::span(text)), add<std::uint64_t>(digest, text.size()));
}

} // namespace

std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t before) noexcept {
    constexpr std::uint64_t prime = 0x100000001b3;
    for (const std::byte byte : bytes)
        before = (before ^ static_cast<std::uint64_t>(byte)) * prime;
    return before;
}

std::string hexadecimal(std::uint64_t digest) {
    return fmt::format("{:016x}", digest);
}

std::string digest_of(const Model& model) {
    const UnitTable table = make_unit_table(model);
    std::uint64_t digest = add(digest_of(model.program()), model.name());
    for (const UnitTable::Class& of : table.classes)
        digest = add(add(digest, std::string_view(of.name)), std::string_view(of.profile_name));
    for (const UnitTable::Unit& unit : table.units) {
        digest = add(add(add(digest, unit.after), unit.operations), unit.output_bytes);
        for (const UnitTable::Work& work : unit.work)
            digest = add(digest, work.expected_ns);
    }
    return hexadecimal(digest);
}

std::string host_cpu() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const std::size_t colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    utsname names{};
    return uname(&names) == 0 ? names.machine : "unknown";
}

TimesFile parse_times(const std::string& text, const std::string& name) {
    const Json document = parse_json(text, name);
    const Place root(document, name);
    TimesFile times;
    times.name = name;
    if (!root.is_object() || root.member("kind").text() != file_kind)
        root.fail("is no file of expected times; write one with overtake profile");
    if (const std::uint64_t version = root.member("version").number(0, UINT32_MAX);
        version != file_version)
        root.member("version").fail(
            fmt::format("{}, but this release reads {}; write the file anew with overtake "
                        "profile",
                        version, file_version));
    root.allow({"version", "kind", "model", "model_digest", "host", "classes"});
    times.model = root.member("model").text();
    times.model_digest = root.member("model_digest").text();
    times.host = root.member("host").text();
    for (const Place& entry : root.member("classes").entries()) {
        times.classes.push_back(parse_class(entry));
        for (std::size_t i = 0; i + 1 < times.classes.size(); i++)
            if (times.classes[i].name == times.classes.back().name)
                entry.member("name").fail(
                    fmt::format("'{}' is the name of an earlier class", times.classes[i].name));
    }
    return times;
}

std::string text_of(const TimesFile& times) {
    Json json = {{"version", file_version}, {"kind", file_kind},
                 {"model", times.model},    {"model_digest", times.model_digest},
                 {"host", times.host},      {"classes", Json::array()}};
    for (const TimesFile::Class& of : times.classes) {
        Json entry = {{"name", of.name}, {"kind", of.kind}};
        if (of.are_cores()) {
            entry["device"] = of.device;
            entry["mode"] = of.mode;
            entry["profile"] = of.profile;
            entry["profile_digest"] = of.digest;
        }
        entry["pieces"] = Json::array();
        for (const TimesFile::Piece& piece : of.pieces) {
            Json units = Json::array();
            for (std::uint64_t rest = piece.units; rest != 0; rest &= rest - 1)
                units.push_back(std::countr_zero(rest));
            entry["pieces"].push_back({{"units", units}, {"time_ns", piece.time_ns}});
        }
        json["classes"].push_back(entry);
    }
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace overtake::coordination
