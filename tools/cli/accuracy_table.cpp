// SPDX-License-Identifier: MIT
#include "accuracy_table.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "printable.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

// Names of nodes in a line for people; JSON has all.
constexpr std::size_t most_names = 8;

std::string names_of(const std::set<std::string>& nodes) {
    std::string text;
    std::size_t count = 0;
    for (const std::string& name : nodes)
        if (count++ < most_names)
            text += (text.empty() ? "'" : ", '") + printable(name) + "'";
    if (count > most_names)
        text += fmt::format(" and {} more (--json names all)", count - most_names);
    return text;
}

} // namespace

void print_accuracy(const compiler::AccuracyReport& report, std::FILE* stream) {
    const float of_sign = compiler::cosine_of_rarer_sign(static_cast<float>(report.wanted));
    fmt::print(stream, "cosine of at least {} wanted of each output{}, over {} sample{}\n",
               report.wanted,
               of_sign > 0 ? fmt::format(", and of {:g} of its rarer sign", of_sign) : "",
               report.samples, report.samples == 1 ? "" : "s");
    fmt::print(stream, "  {:<24} {:>9} {:>10} {:>12} {:>10}  {}\n", "tried", "cosine", "rarer sign",
               "device us", "CPU us", "output farthest from float");
    for (const compiler::AccuracyAttempt& attempt : report.attempts) {
        const char* mark = attempt.is_chosen ? "* " : "  ";
        if (!attempt.refusal.empty()) {
            fmt::print(stream, "{}{:<24} refused: {}\n", mark, attempt.what,
                       printable(attempt.refusal));
            continue;
        }
        const std::size_t output = attempt.farthest();
        const std::string some =
            attempt.samples == report.samples ? "" : fmt::format(", {} samples", attempt.samples);
        const float rarer = attempt.rarer_signs[output];
        fmt::print(stream, "{}{:<24} {:>9.6f} {:>10} {:>12.1f} {:>10.1f}  {}{}\n", mark,
                   attempt.what, attempt.cosines[output],
                   std::isnan(rarer) ? "-" : fmt::format("{:.6f}", rarer), attempt.device_us,
                   attempt.cpu_us, printable(report.outputs[output]), some);
    }
    for (const compiler::AccuracyAttempt& attempt : report.attempts) {
        if (attempt.is_chosen && !attempt.moved.empty())
            fmt::print(stream, "  in float on the CPU: {}\n", names_of(attempt.moved));
        if (attempt.is_chosen && !attempt.in_16_bits.empty())
            fmt::print(stream, "  in 16 bits: {}\n", names_of(attempt.in_16_bits));
        if (attempt.is_chosen && report.is_cut_short)
            fmt::print(stream, "  perhaps fewer nodes in {} suffice: no more networks were tried\n",
                       attempt.moved.empty() ? "16 bits" : "float");
    }
}

Json accuracy_json(const compiler::AccuracyReport& report) {
    Json json = {{"wanted", report.wanted},
                 {"samples", report.samples},
                 {"cut_short", report.is_cut_short},
                 {"attempts", Json::array()}};
    for (const compiler::AccuracyAttempt& attempt : report.attempts) {
        Json& entry = json["attempts"].emplace_back();
        entry = {{"tried", attempt.what}, {"chosen", attempt.is_chosen}};
        if (!attempt.refusal.empty()) {
            entry["refused"] = attempt.refusal;
            continue;
        }
        entry["samples"] = attempt.samples;
        entry["device_us"] = attempt.device_us;
        entry["cpu_us"] = attempt.cpu_us;
        entry["in_float"] = attempt.moved;
        entry["in_16_bits"] = attempt.in_16_bits;
        Json& outputs = entry["outputs"] = Json::array();
        for (std::size_t number = 0; number < attempt.cosines.size(); ++number) {
            const auto number_or_null = [](float cosine) {
                return std::isnan(cosine) ? Json() : Json(cosine);
            };
            outputs.push_back({{"name", report.outputs[number]},
                               {"cosine", number_or_null(attempt.cosines[number])},
                               {"rarer_sign", number_or_null(attempt.rarer_signs[number])}});
        }
    }
    return json;
}

} // namespace overtake::command
