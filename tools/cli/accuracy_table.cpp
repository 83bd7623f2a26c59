// SPDX-License-Identifier: MIT
#include "accuracy_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "printable.hpp"

namespace overtake::command {
namespace {

using Json = nlohmann::ordered_json;

// A printed line has at most this many names of nodes; the JSON has all names.
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

// Returns whether an output has this measure in any attempt.
bool has(const compiler::AccuracyReport& report, float compiler::OutputNearness::*measure) {
    return std::ranges::any_of(report.attempts, [&](const compiler::AccuracyAttempt& attempt) {
        return std::ranges::any_of(attempt.outputs, [&](const compiler::OutputNearness& output) {
            return !std::isnan(output.*measure);
        });
    });
}

std::string or_none(double value, const char* format) {
    return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

} // namespace

void print_accuracy(const compiler::AccuracyReport& report, std::FILE* stream) {
    const float of_sign = compiler::cosine_of_rarer_sign(static_cast<float>(report.wanted));
    const bool decides = has(report, &compiler::OutputNearness::same_decisions);
    const bool may_be_logits = has(report, &compiler::OutputNearness::logits);
    fmt::print(
        stream, "cosine of at least {} wanted of each output{}{}{}, over {} sample{}\n",
        report.wanted, of_sign > 0 ? fmt::format(", and of {:g} of its rarer sign", of_sign) : "",
        decides ? fmt::format(", and {:g} % of decisions as in float", 100 * report.wanted) : "",
        may_be_logits ? fmt::format(", and {:g} as logits", report.wanted) : "", report.samples,
        report.samples == 1 ? "" : "s");
    fmt::print(stream, "  {:<24} {:>9} {:>10}{}{} {:>12} {:>10}  {}\n", "tried", "cosine",
               "rarer sign", decides ? " decisions" : "", may_be_logits ? " as logits" : "",
               "device us", "CPU us", "output farthest from float");
    for (const compiler::AccuracyAttempt& attempt : report.attempts) {
        const char* mark = attempt.is_chosen ? "* " : "  ";
        if (!attempt.refusal.empty()) {
            fmt::print(stream, "{}{:<24} refused: {}\n", mark, attempt.what,
                       printable(attempt.refusal));
            continue;
        }
        const auto least = [&](auto measure) {
            float found = std::numeric_limits<float>::quiet_NaN();
            for (const compiler::OutputNearness& output : attempt.outputs) {
                const float measured = std::invoke(measure, output);
                if (!(measured >= found))
                    found = std::isnan(measured) ? found : measured;
            }
            return found;
        };
        const std::string some =
            attempt.samples == report.samples ? "" : fmt::format(", {} samples", attempt.samples);
        const std::string same =
            or_none(compiler::percent_of(least(&compiler::OutputNearness::decisions)), "{:.2f} %");
        const std::string as_logits = or_none(least(&compiler::OutputNearness::logits), "{:.6f}");
        fmt::print(stream, "{}{:<24} {:>9.6f} {:>10}{}{} {:>12.1f} {:>10.1f}  {}{}\n", mark,
                   attempt.what, least(&compiler::OutputNearness::cosine),
                   or_none(least(&compiler::OutputNearness::rarer_sign), "{:.6f}"),
                   decides ? fmt::format(" {:>9}", same) : "",
                   may_be_logits ? fmt::format(" {:>9}", as_logits) : "", attempt.device_us,
                   attempt.cpu_us, printable(report.outputs[attempt.farthest()]), some);
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
        for (std::size_t number = 0; number < attempt.outputs.size(); ++number) {
            const compiler::OutputNearness& output = attempt.outputs[number];
            const auto number_or_null = [](float cosine) {
                return std::isnan(cosine) ? Json() : Json(cosine);
            };
            outputs.push_back({{"name", report.outputs[number]},
                               {"cosine", number_or_null(output.cosine)},
                               {"rarer_sign", number_or_null(output.rarer_sign)},
                               {"same_decisions", number_or_null(output.same_decisions)},
                               {"expected_decisions", number_or_null(output.expected_decisions)},
                               {"logits", number_or_null(output.logits)}});
        }
    }
    return json;
}

} // namespace overtake::command
