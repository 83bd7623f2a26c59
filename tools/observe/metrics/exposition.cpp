// SPDX-License-Identifier: MIT
#include "observe/metrics/exposition.hpp"

#include <fmt/format.h>

namespace overtake::metrics {
namespace {

/// Escapes a value. Other users choose names, so a byte that is no printable ASCII becomes "?".
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\' || c == '"')
            out += '\\';
        out += byte < 0x20 || byte >= 0x7f ? '?' : c;
    }
    return out;
}

std::string written(const Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels)
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", name, escaped(value));
    return text.empty() ? text : text + "}";
}

} // namespace

const char* name_of(Type type) {
    return type == Type::counter ? "counter" : "gauge";
}

void Exposition::add(const Family& family, const Labels& labels, double value) {
    const auto [samples, is_new] = samples_.try_emplace(&family);
    if (is_new)
        order_.push_back(&family);
    samples->second += fmt::format("{}{} {}\n", family.name, written(labels), value);
}

std::string Exposition::text() const {
    std::string text;
    for (const Family* family : order_)
        text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", family->name, family->help,
                            name_of(family->type), samples_.at(family));
    return text;
}

} // namespace overtake::metrics
