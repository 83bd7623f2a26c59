// SPDX-License-Identifier: MIT
#include "compiler/onnx/libonnx_messages.hpp"

#include <regex>
#include <utility>
#include <vector>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

// Texts of libonnx, and their meaning.
const std::vector<std::pair<std::regex, std::string>>& translations() {
    static const std::vector<std::pair<std::regex, std::string>> table = [] {
        const std::vector<std::pair<const char*, const char*>> texts = {
            {R"(Nodes in a graph must be topologically sorted, however input '([^']*)' of node: )"
             R"(name: (.*?) OpType: (\S+) is not output of any previous nodes.*)",
             "node '$2' ($3): nothing makes its input '$1'"},
            {R"(Graph must be in single static assignment \(SSA\) form, however '([^']*)' has been )"
             R"(used as (?:graph input names|output names|both).*)",
             "'$1' is written more than once"},
            {R"(.*\(op_type:([^,]+), node name: (.*?)\): \[ShapeInferenceError\] )"
             R"((?:Output:)?.*differ in dimension (\d+): \((-\d+)\) vs \(-?\d+\).*)",
             "node '$2' ($1): its output would have $4 elements along axis $3; its scales or sizes "
             "are out of range"},
            {R"(.*\(op_type:([^,]+), node name: (.*?)\): \[ShapeInferenceError\] )"
             R"(.*[Ii]nferred shape and existing shape differ in dimension (\d+): \((\d+)\) vs )"
             R"(\((-?\d+)\).*)",
             "node '$2' ($1): its output has $4 elements along axis $3, and the model says $5; "
             "correct the shape that it declares, or export it again"},
            {R"(.*\(op_type:([^,]+), node name: (.*?)\): \[ShapeInferenceError\] )"
             R"(.*[Ii]nferred shape and existing shape differ in rank: \((\d+)\) vs \((\d+)\).*)",
             "node '$2' ($1): its output has $3 dimensions, and the model says $4; correct the "
             "shape that it declares, or export it again"},
            {R"(.*\(op_type:([^,]+), node name: (.*?)\): (?:\[ShapeInferenceError\] )?(.+))",
             "node '$2' ($1): $3"},
            {R"(Unrecognized attribute: (\S+) for operator (\S+).*)",
             "$2 has no attribute '$1' in this opset"},
            {R"(Required attribute '([^']*)' is missing.*)",
             "a node lacks the attribute '$1', which its operator requires"},
            {R"(Field 'shape' of 'type' is required but missing.*)",
             "an input or output says nothing of its shape"},
            {R"(Your model ir_version (?:\d+ )?is higher than the checker's.*)",
             "its IR version is newer than 8"},
            {R"(Op registered for (\S+) is deprecated in domain_version of (\d+).*)",
             "opset $2 no longer has the operator $1"},
            {R"(.*adapt_(\w+?)_\d+_\d+: Assertion `.*` failed: .*(?:input shape is unknown|)"
             R"(unknown input shape|shape must be (?:available|known)).*)",
             "the shape of what a node ($1) reads is not known before run time"},
            {R"(No Adapter (?:From Version \S+ )?for (\S+).*)",
             "there is no conversion for the operator $1"},
            {R"((?:\S+:\d+: )?(?:\w+: )?Assertion `[^`]*` failed: (.+))", "$1"},
            {R"((?:\S+:\d+: )?(?:(\w+): )?Assertion `([^`]*)` failed\W*)",
             "what it says of a node contradicts itself ($2)"},
        };
        std::vector<std::pair<std::regex, std::string>> made;
        for (const auto& [pattern, meaning] : texts)
            made.emplace_back(std::regex(pattern), meaning);
        return made;
    }();
    return table;
}

} // namespace

std::string plain_message(const std::string& message) {
    constexpr std::size_t longest = 1000; // regular expressions recurse over what they match
    std::string text = one_line(message);
    text = one_line(text.substr(0, text.find("==> Context"))).substr(0, longest);
    for (const auto& [pattern, meaning] : translations())
        if (std::regex_match(text, pattern))
            return std::regex_replace(text, pattern, meaning);
    return text;
}

} // namespace overtake::compiler
