// SPDX-License-Identifier: MIT
#include "compiler/configuration/inputs.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace overtake::compiler {
namespace {

using Setting = ConfigurationValue;

InputKind trained_kind(const Setting& type) {
    const InputKind unsupported = InputKind::int8;
    const InputKind kind = type.choice<InputKind>({{"featuremap", InputKind::tensor},
                                                   {"rgb", InputKind::rgb},
                                                   {"bgr", InputKind::bgr},
                                                   {"gray", InputKind::gray},
                                                   {"yuv444", unsupported}});
    if (kind == unsupported)
        type.refuse("networks that were trained on YUV are not supported; train it on rgb or bgr");
    return kind;
}

InputKind given_kind(const Setting& type) {
    const std::string name = type.word();
    if (name == "yuv444" || name.starts_with("yuv420") || name.starts_with("yuv_"))
        type.refuse("'" + name + "' is not supported; of YUV only nv12 is");
    return type.choice<InputKind>({{"featuremap", InputKind::tensor},
                                   {"int8", InputKind::int8},
                                   {"rgb", InputKind::rgb},
                                   {"bgr", InputKind::bgr},
                                   {"gray", InputKind::gray},
                                   {"nv12", InputKind::nv12}});
}

bool is_channels_last(const Setting& layout) {
    return layout.choice<bool>({{"nchw", false}, {"nhwc", true}});
}

// Reads the part of each list that belongs to one input.
class InputReader {
public:
    InputReader(const InputLists& lists, std::size_t index, std::size_t count,
                ConfigurationProblems& problems)
        : lists_(lists), index_(index), count_(count), problems_(problems) {}

    InputOptions read() {
        part(lists_.name, [&](const Setting& v) {
            options_.name = v.text();
            options_.place = v.place_of_error();
        });
        part(lists_.trained, [&](const Setting& v) { options_.trained = trained_kind(v); });
        options_.given = options_.trained;
        part(lists_.given, [&](const Setting& v) { options_.given = given_kind(v); });
        part(lists_.layout_trained,
             [&](const Setting& v) { options_.channels_last = is_channels_last(v); });
        part(lists_.layout_given, [&](const Setting& v) { check_layout(v); });
        part(lists_.range, [&](const Setting& v) { read_range(v); });
        part(lists_.shape, [&](const Setting& v) { options_.shape = v.shape(); });
        problems_.attempt([&] { read_source(); });
        options_.stretches = lists_.stretches;
        problems_.attempt([&] { read_normalisation(); });
        return options_;
    }

private:
    // Returns the value of a key for this input.
    const Setting* of(const InputLists::List& list) const {
        if (list.empty())
            return nullptr;
        if (list.size() != count_)
            list.front().refuse("has " + std::to_string(list.size()) + " parts for " +
                                std::to_string(count_) +
                                " inputs; give one for each, divided by ';'");
        return &list[index_];
    }

    template <typename Read>
    void part(const InputLists::List& list, const Read& read) {
        problems_.attempt([&] {
            if (const Setting* value = of(list))
                read(*value);
        });
    }

    // The type determines the layout of the user's arrays; a camera's picture has only one layout.
    void check_layout(const Setting& layout) const {
        const bool last = is_channels_last(layout);
        if (options_.given != InputKind::nv12 && last != options_.channels_last)
            layout.refuse("arrays are given in the layout of the network, " +
                          std::string(options_.channels_last ? "NHWC" : "NCHW") +
                          "; write that, and hand in arrays of that layout");
    }

    void read_range(const Setting& range) {
        options_.full_range = range.choice<bool>({{"regular", true}, {"bt601_video", false}});
        if (options_.given != InputKind::nv12)
            range.warn("has no effect, as it belongs to input_type_rt nv12");
    }

    // The value is one word for all inputs, or a map with a word for each input that is not ddr.
    void read_source() {
        if (!lists_.source)
            return;
        const std::optional<Setting> source =
            lists_.source->is_map() ? lists_.source->entry(options_.name) : lists_.source;
        if (!source)
            return;
        options_.from_resizer = is_resizer(*source);
        if (options_.from_resizer && options_.given != InputKind::nv12)
            source->refuse("belongs to input_type_rt nv12; write ddr");
        if (source->word() != "ddr" && options_.given != InputKind::nv12)
            source->warn("belongs to input_type_rt nv12; the input is read from memory");
    }

    void read_normalisation() {
        enum class Norm { none, mean, scale, both };
        const Setting* type = of(lists_.normalisation);
        const Norm norm = type ? type->choice<Norm>({{"no_preprocess", Norm::none},
                                                     {"data_mean", Norm::mean},
                                                     {"data_scale", Norm::scale},
                                                     {"data_mean_and_scale", Norm::both}})
                               : Norm::none;
        const Setting *mean = of(lists_.mean), *scale = of(lists_.scale);
        const std::string name = type ? type->text() : "no_preprocess, which is the default";
        const auto numbers = [&](const char* key, const Setting* value, bool is_wanted) {
            if (is_wanted && !value)
                type->refuse(std::string("needs ") + key);
            if (value && !is_wanted)
                value->warn("has no effect with norm_type " + name);
            return value && is_wanted ? value->numbers() : std::vector<float>{};
        };
        problems_.attempt([&] {
            options_.mean = numbers("mean_value", mean, norm == Norm::mean || norm == Norm::both);
        });
        options_.scale = numbers("scale_value", scale, norm == Norm::scale || norm == Norm::both);
        if (options_.trained == InputKind::tensor &&
            !(options_.mean.empty() && options_.scale.empty()))
            type->refuse("is for pictures; set input_type_train to rgb, bgr or gray");
    }

    const InputLists& lists_;
    const std::size_t index_, count_;
    ConfigurationProblems& problems_;
    InputOptions options_;
};

/// The input of a name that is no input's would be read from memory, without a word.
void check_sources(const InputLists& lists, const std::vector<InputOptions>& inputs,
                   ConfigurationProblems& problems) {
    if (!lists.source || !lists.source->is_map())
        return;
    if (lists.name.empty() && lists.source->entries().size() == 1)
        return; // it belongs to the only input
    std::vector<std::string> names;
    for (const InputOptions& input : inputs)
        names.push_back(input.name);
    for (const auto& [name, source] : lists.source->entries())
        problems.attempt([&] {
            if (std::ranges::find(names, name) != names.end())
                return;
            const std::string reason =
                lists.name.empty()
                    ? "is for one of several inputs; add input_name, with the inputs' names"
                    : fmt::format("names no input; input_name has {}", fmt::join(names, ", "));
            if (is_resizer(source))
                source.refuse(reason);
            if (!lists.name.empty())
                source.warn(reason);
        });
}

} // namespace

bool is_resizer(const ConfigurationValue& source) {
    return source.choice<bool>({{"ddr", false}, {"pyramid", false}, {"resizer", true}});
}

std::vector<InputOptions> read_inputs(const InputLists& lists, ConfigurationProblems& problems) {
    const InputLists::List* longest = &lists.name;
    for (const InputLists::List* list :
         {&lists.trained, &lists.given, &lists.layout_trained, &lists.layout_given, &lists.range,
          &lists.shape, &lists.normalisation, &lists.mean, &lists.scale})
        if (lists.name.empty() && list->size() > longest->size())
            longest = list;
    const std::size_t count = std::max<std::size_t>(longest->size(), 1);
    std::vector<InputOptions> inputs;
    if (lists.name.empty() && count > 1) {
        problems.attempt([&] {
            longest->front().refuse("has parts for " + std::to_string(count) +
                                    " inputs; add input_name, with their names in that order");
        });
        return {InputOptions{}};
    }
    // Reports a list of the wrong length as one problem, not as one for each input.
    ConfigurationProblems later(problems.path());
    for (std::size_t index = 0; index < count; ++index)
        inputs.push_back(InputReader(lists, index, count, index == 0 ? problems : later).read());
    for (const ConfigurationProblem& problem : later.sorted())
        problems.add_once(problem);
    check_sources(lists, inputs, problems);
    return inputs;
}

} // namespace overtake::compiler
