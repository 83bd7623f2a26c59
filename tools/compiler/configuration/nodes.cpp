// SPDX-License-Identifier: MIT
#include "compiler/configuration/nodes.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace overtake::compiler {
namespace {

using Setting = ConfigurationValue;

constexpr std::string_view quantise_suffix = "_HzQuantize", dequantise_suffix = "_HzDequantize";

// Reads the width with which a node, by its name, shall compute: int8, as the BPU does, or more.
void read_width(const Setting& type, NodeWish& wish) {
    const std::string width =
        type.choice<std::string>({{"int8", "int8"}, {"int16", "int16"}, {"float32", "float32"}});
    if (wish.width.empty() || width != "int8")
        wish.width = width;
}

NodeWish wish_for(const Setting& node, const std::string& name) {
    NodeWish wish;
    wish.name = name;
    wish.place = node.place_of_warning();
    return wish;
}

void read_node(const std::string& name, const Setting& node, ImportOptions& import) {
    NodeWish wish = wish_for(node, name);
    if (node.is_empty())
        return;
    for (const auto& [key, setting] : node.entries()) {
        if (setting.is_empty())
            continue;
        if (key == "ON")
            wish.on = setting.choice<NodeWish::On>(
                {{"bpu", NodeWish::On::bpu}, {"cpu", NodeWish::On::cpu}});
        else if (key.starts_with("InputType") || key.starts_with("OutputType"))
            read_width(setting, wish);
        else
            setting.warn("has no effect; ON, InputType and OutputType have");
    }
    import.wishes.push_back(std::move(wish));
}

// Reads set_KIND_input_int16 and set_KIND_output_int8.  Returns false for any other word.
bool read_kind(const Setting& word, ImportOptions& import) {
    const std::string text = word.text();
    const std::size_t end = text.rfind('_');
    for (const std::string_view side : {"_input", "_output"}) {
        const bool is_side = end != std::string::npos && end > side.size() + 4 &&
                             text.substr(end - side.size(), side.size()) == side;
        const std::string width = is_side ? text.substr(end + 1) : "";
        if (!text.starts_with("set_") || (width != "int8" && width != "int16"))
            continue;
        NodeWish wish = wish_for(word, "");
        wish.place += ": " + text;
        wish.kind = text.substr(4, end - side.size() - 4);
        wish.width = width;
        import.wishes.push_back(std::move(wish));
        return true;
    }
    return false;
}

void read_optimization_word(const Setting& word, CompileOptions& compile) {
    const std::string name = word.word();
    if (name == "set_all_nodes_int16") {
        NodeWish wish = wish_for(word, "");
        wish.place += ": " + word.text();
        wish.width = "int16";
        compile.import.wishes.push_back(std::move(wish));
    } else if (name == "set_model_output_int8") {
        compile.int8_outputs = true;
    } else if (name == "asymmetric" || name == "bias_correction") {
        // Both are done anyway; the key bias_correction of the same group can turn the latter off.
    } else if (!read_kind(word, compile.import)) {
        word.warn(word.text() + " is not known here; the network is quantised to int8 as "
                                "calibration_type and optimize_level say");
    }
}

} // namespace

void read_placement(const Setting& names, NodeWish::On on, ImportOptions& import) {
    for (const Setting& part : names.parts()) {
        NodeWish wish = wish_for(part, part.text());
        wish.place += ": " + wish.name;
        wish.on = on;
        wish.must = on == NodeWish::On::bpu;
        import.wishes.push_back(std::move(wish));
    }
}

void read_node_info(const Setting& info, ImportOptions& import) {
    for (const auto& [name, node] : info.entries())
        node.keeping_faults([&, &name = name, &node = node] { read_node(name, node, import); });
}

void read_node_types(const Setting& types, ImportOptions& import) {
    for (const Setting& part : types.parts()) {
        const std::string text = part.text();
        const std::size_t colon = text.rfind(':');
        if (colon == std::string::npos || colon == 0)
            part.refuse("'" + text + "' is not NODE:int8 or NODE:int16");
        NodeWish wish = wish_for(part, text.substr(0, colon));
        wish.place += ": " + wish.name;
        read_width(part.with_text(text.substr(colon + 1)), wish);
        import.wishes.push_back(std::move(wish));
    }
}

void read_optimization(const Setting& words, CompileOptions& compile) {
    for (const Setting& word : words.words())
        read_optimization_word(word, compile);
}

void read_removed_types(const Setting& types, CompileOptions& compile) {
    for (const Setting& part : types.parts()) {
        const std::string type = part.choice<std::string>({{"quantize", "Quantize"},
                                                           {"dequantize", "Dequantize"},
                                                           {"transpose", "Transpose"},
                                                           {"cast", "Cast"},
                                                           {"reshape", "Reshape"},
                                                           {"softmax", "Softmax"}});
        if (type == "Quantize")
            compile.int8_inputs = true;
        else if (type == "Dequantize")
            compile.int8_outputs = true;
        else
            compile.import.removed.push_back({type, true, part.place_of_warning()});
    }
}

void read_removed_names(const Setting& names, CompileOptions& compile) {
    for (const Setting& part : names.parts()) {
        const std::string name = part.text();
        // Nodes that the board's compiler adds have the name of their tensor.
        if (name.ends_with(dequantise_suffix))
            compile.int8_output_names.push_back(
                {name.substr(0, name.size() - dequantise_suffix.size()),
                 part.place_of_warning() + ": " + name});
        else if (name.ends_with(quantise_suffix))
            compile.int8_input_names.push_back(
                {name.substr(0, name.size() - quantise_suffix.size()),
                 part.place_of_warning() + ": " + name});
        else
            compile.import.removed.push_back({name, false, part.place_of_warning() + ": " + name});
    }
}

} // namespace overtake::compiler
