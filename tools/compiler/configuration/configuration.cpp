// SPDX-License-Identifier: MIT
#include "compiler/configuration/configuration.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "compiler/configuration/inputs.hpp"
#include "compiler/configuration/nodes.hpp"
#include "compiler/configuration/value.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

// The contents of the file so far.  Keys come in any order; finish() combines those that belong
// together.
class Reader {
public:
    explicit Reader(const std::string& path)
        : problems_(path), directory_(std::filesystem::path(path).parent_path()) {}

    Configuration run() {
        const YAML::Node root = load();
        if (!root.IsMap())
            throw ConfigurationError(problems_.path(), 1,
                                     "holds no groups of keys such as model_parameters");
        for (const Entry& entry : each_once(root, "the file"))
            problems_.attempt([&] { read_group(entry); });
        return finish();
    }

private:
    using Value = ConfigurationValue;
    using Apply = std::function<void(Reader&, const Value&)>;
    using Group = std::map<std::string, Apply>;

    struct Entry {
        std::string first;
        YAML::Node second;
        int line;
    };

    static Apply refused(std::string reason) {
        return [reason = std::move(reason)](Reader&, const Value& value) { value.refuse(reason); };
    }

    // The key has no effect, whatever its value: it tunes the board's compiler.
    static Apply without_effect(std::string instead) {
        return [instead = std::move(instead)](Reader&, const Value& value) {
            value.warn("has no effect; " + instead);
        };
    }

    // The key has no effect; warns of that if its value is true.
    static Apply if_true(std::string instead) {
        return [instead = std::move(instead)](Reader&, const Value& value) {
            if (value.truth())
                value.warn("has no effect; " + instead);
        };
    }

    // The key has no effect, without a warning: the result is as asked for, whatever the value.
    static Apply accepted() {
        return [](Reader&, const Value&) {};
    }

    static Apply placed(NodeWish::On on) {
        return [on](Reader& r, const Value& v) { read_placement(v, on, r.result_.compile.import); };
    }

    static Apply per_input(InputLists::List InputLists::*list) {
        return [list](Reader& r, const Value& v) { r.lists_.*list = v.parts(); };
    }

    // A list of numbers belongs to one input.
    static Apply per_input_numbers(InputLists::List InputLists::*list) {
        return [list](Reader& r, const Value& v) {
            r.lists_.*list = v.is_list() ? InputLists::List{v} : v.parts();
        };
    }

    static const std::map<std::string, Group>& groups() {
        static const std::map<std::string, Group> table = {
            {"model_parameters", model_keys()},
            {"input_parameters", input_keys()},
            {"calibration_parameters", calibration_keys()},
            {"compiler_parameters", compiler_keys()},
            {"custom_op", custom_keys()},
        };
        return table;
    }

    static Group model_keys() {
        const std::string onnx_only = "only ONNX files are read; give onnx_model";
        return {
            {"onnx_model", [](Reader& r, const Value& v) { r.model_ = v; }},
            {"march",
             [](Reader& r, const Value& v) {
                 const bool is_board = boards().contains(v.word());
                 r.result_.compile.profile = is_board ? "default" : v.text();
                 r.result_.board = is_board ? v.word() : "";
             }},
            {"output_model_file_prefix",
             [](Reader& r, const Value& v) { r.result_.compile.name = v.text(); }},
            {"working_dir", [](Reader& r, const Value& v) { r.working_directory_ = v.text(); }},
            {"layer_out_dump", if_true("outputs of single layers are not written; the report of "
                                       "compiler_parameters.debug compares each with float")},
            {"caffe_model", refused(onnx_only)},
            {"prototxt", refused(onnx_only)},
            {"output_nodes", refused("cutting parts off a model is not supported; cut the ONNX "
                                     "file, for instance with onnx.utils.extract_model")},
            {"remove_node_name",
             [](Reader& r, const Value& v) { read_removed_names(v, r.result_.compile); }},
            {"remove_node_type",
             [](Reader& r, const Value& v) { read_removed_types(v, r.result_.compile); }},
            {"node_info",
             [](Reader& r, const Value& v) { read_node_info(v, r.result_.compile.import); }},
            {"set_node_data_type",
             [](Reader& r, const Value& v) { read_node_types(v, r.result_.compile.import); }},
            {"debug_mode", without_effect("no intermediate data is written; compiler_parameters."
                                          "debug writes a report of every layer")},
            {"log_level", accepted()},
        };
    }

    static Group input_keys() {
        return {
            {"input_name", per_input(&InputLists::name)},
            {"input_type_train", per_input(&InputLists::trained)},
            {"input_type_rt", per_input(&InputLists::given)},
            {"input_layout_train", per_input(&InputLists::layout_trained)},
            {"input_layout_rt", per_input(&InputLists::layout_given)},
            {"input_space_and_range", per_input(&InputLists::range)},
            {"input_shape", per_input(&InputLists::shape)},
            {"norm_type", per_input(&InputLists::normalisation)},
            {"mean_value", per_input_numbers(&InputLists::mean)},
            {"scale_value", per_input_numbers(&InputLists::scale)},
            {"input_batch",
             [](Reader& r, const Value& v) {
                 if (v.whole(1, 256) != 1)
                     r.batch_ = v;
             }},
            {"separate_batch", if_true("a task is one sample as it is")},
            {"separate_name", without_effect("a task is one sample as it is")},
        };
    }

    static Group calibration_keys() {
        return {
            {"cal_data_dir", [](Reader& r, const Value& v) { r.sample_paths_ = v.parts(); }},
            {"cal_data_type",
             [](Reader& r, const Value& v) {
                 for (const Value& part : v.parts())
                     r.raw_types_.push_back(part.choice<RawType>(
                         {{"float32", RawType::float32}, {"uint8", RawType::uint8}}));
                 r.raw_value_ = v;
             }},
            {"preprocess_on", [](Reader& r, const Value& v) { r.lists_.stretches = v.truth(); }},
            {"calibration_type",
             [](Reader& r, const Value& v) {
                 r.result_.compile.method =
                     v.choice<CalibrationMethod>({{"default", CalibrationMethod::best},
                                                  {"mix", CalibrationMethod::best},
                                                  {"max", CalibrationMethod::min_max},
                                                  {"kl", CalibrationMethod::kl},
                                                  {"skip", CalibrationMethod::min_max},
                                                  {"load", CalibrationMethod::min_max}});
                 r.calibration_ = v;
             }},
            {"max_percentile",
             [](Reader& r, const Value& v) {
                 r.result_.compile.percentile = 100 * v.real(0.5, 1.0);
                 r.percentile_ = v;
             }},
            {"per_channel", if_true("weights always have a scale for each channel, "
                                    "and every other tensor has one scale")},
            {"run_on_cpu", placed(NodeWish::On::cpu)},
            {"run_on_bpu", placed(NodeWish::On::bpu)},
            {"bias_correction", [](Reader& r, const Value& v) { r.corrects_bias_ = v.truth(); }},
            {"equalisation", [](Reader& r, const Value& v) { r.equalises_ = v.truth(); }},
            {"optimization",
             [](Reader& r, const Value& v) { read_optimization(v, r.result_.compile); }},
            {"quant_config", without_effect("it is a file of another tool; the keys here choose "
                                            "how the network is quantised")},
        };
    }

    static Group compiler_keys() {
        return {
            {"compile_mode",
             [](Reader&, const Value& v) {
                 const bool is_latency =
                     v.choice<bool>({{"latency", true}, {"bandwidth", false}, {"balance", false}});
                 if (!is_latency)
                     v.warn("has no effect; the network is compiled for latency");
             }},
            {"balance_factor", without_effect("the network is compiled for latency")},
            {"debug", [](Reader& r, const Value& v) { r.reports_ = v.truth(); }},
            {"core_num",
             [](Reader& r, const Value& v) {
                 if (const std::int64_t cores = v.whole(1, 64); cores != 1)
                     r.result_.compile.cores = static_cast<unsigned>(cores);
             }},
            {"max_time_per_fc",
             [](Reader& r, const Value& v) {
                 const std::int64_t limit = v.microseconds(0, 4294967295);
                 if (limit > 0 && limit < 1000)
                     v.refuse("must be 0 or 1000..4294967295 microseconds");
                 r.result_.compile.max_time_per_fc_us = static_cast<std::uint32_t>(limit);
             }},
            {"optimize_level",
             [](Reader& r, const Value& v) {
                 r.level_ = v.choice<int>({{"o0", 0}, {"o1", 1}, {"o2", 2}, {"o3", 3}});
             }},
            {"input_source",
             [](Reader& r, const Value& v) {
                 if (const std::optional<Value> only = v.is_map() ? v.entry("") : v)
                     is_resizer(*only);
                 r.lists_.source = v;
             }},
            {"jobs", [](Reader&, const Value& v) { v.whole(0, 65536); }},
            {"advice", without_effect("the report of compiler_parameters.debug shows where the "
                                      "time goes")},
            {"ability_entry", without_effect("there are no licensed abilities")},
            {"hbdk3_compatible_mode", without_effect("there is one mode")},
            {"extra_params", without_effect("they are parameters of another compiler")},
        };
    }

    static Group custom_keys() {
        const std::string python = "names Python files of another tool; give `domains`, and "
                                   "`library`, a shared object that registers them";
        return {
            {"domains",
             [](Reader& r, const Value& v) {
                 for (const Value& part : v.parts())
                     r.result_.compile.import.custom_domains.push_back(part.text());
             }},
            {"library",
             [](Reader& r, const Value& v) {
                 r.result_.compile.custom_op_library = r.resolve(v.text());
             }},
            {"custom_op_method",
             [](Reader&, const Value& v) {
                 if (v.text() != "register")
                     v.refuse("only register is possible");
             }},
            {"op_register_files", refused(python)},
            {"custom_op_dir", refused(python)},
        };
    }

    // Boards' architectures have no profile of their own (docs/design/profiles.md).
    static const std::set<std::string>& boards() {
        static const std::set<std::string> boards = {"bernoulli", "bernoulli2", "bayes",  "bayes-e",
                                                     "nash-e",    "nash-m",     "nash-p", "nash"};
        return boards;
    }

    YAML::Node load() const {
        const std::string& path = problems_.path();
        std::error_code error;
        if (std::filesystem::is_directory(path, error))
            throw CompileError(path, "is a directory; name a YAML file");
        try {
            return YAML::LoadFile(path);
        } catch (const YAML::BadFile&) {
            throw CompileError(path, "cannot be read; name a YAML file");
        } catch (const YAML::Exception& error) {
            throw ConfigurationError(path, error.mark.line + 1, error.msg);
        }
    }

    [[noreturn]] void refuse(const Entry& entry, const std::string& reason) const {
        throw ConfigurationError(problems_.path(), entry.line, entry.first + ": " + reason);
    }

    template <typename Map>
    static std::vector<std::string> names_of(const Map& map) {
        std::vector<std::string> names;
        for (const auto& [name, meaning] : map)
            names.push_back(name);
        return names;
    }

    // Returns each key once; the first one if a key is repeated.
    std::vector<Entry> each_once(const YAML::Node& map, const std::string& where) {
        std::vector<Entry> entries;
        std::set<std::string> seen;
        for (const auto& pair : map)
            problems_.attempt([&, &key = pair.first, &value = pair.second] {
                const int line = key.Mark().line + 1;
                if (!key.IsScalar())
                    throw ConfigurationError(problems_.path(), line,
                                             "a key of " + where + " must be a word");
                const Entry entry{key.Scalar(), value, line};
                if (!seen.insert(entry.first).second)
                    refuse(entry, "stands here twice; take one out");
                entries.push_back(entry);
            });
        return entries;
    }

    [[noreturn]] void unknown(const Entry& entry, const std::string& what,
                              const std::vector<std::string>& known) {
        const std::string nearest = nearest_name(entry.first, known);
        means_model_ = means_model_ || nearest == "onnx_model";
        std::string other;
        for (const auto& [name, group] : groups())
            if (group.contains(entry.first))
                other = "; it belongs to " + name;
        refuse(entry, "is no " + what +
                          (!other.empty()    ? other
                           : nearest.empty() ? "; take it out"
                                             : "; did you mean " + nearest + "?"));
    }

    void read_group(const Entry& entry) {
        const auto group = groups().find(entry.first);
        if (group == groups().end())
            unknown(entry, "group", names_of(groups()));
        if (entry.second.IsNull())
            return;
        if (!entry.second.IsMap())
            refuse(entry, "must hold keys");
        for (const Entry& key : each_once(entry.second, entry.first))
            problems_.attempt([&] { read_key(key, group->second, entry.first); });
    }

    // A key without a value asks for its default.
    void read_key(const Entry& key, const Group& group, const std::string& name) {
        const auto found = group.find(key.first);
        if (found == group.end())
            unknown(key, "key of " + name, names_of(group));
        const Value value(problems_, key.first, key.line, key.second);
        if (!value.is_empty())
            found->second(*this, value);
    }

    std::string resolve(const std::string& path) const { return (directory_ / path).string(); }

    // Returns the path of a file or directory that exists.
    std::string existing(const Value& path) const {
        const std::string resolved = resolve(path.text());
        std::error_code error;
        if (!std::filesystem::exists(resolved, error))
            path.refuse(resolved + " is not there; paths are relative to the directory of this "
                                   "file");
        return resolved;
    }

    Configuration finish() {
        CompileOptions& compile = result_.compile;
        problems_.attempt([&] {
            if (model_)
                compile.model = existing(*model_);
            else if (!means_model_)
                throw ConfigurationError(problems_.path(), 1,
                                         "names no model; add onnx_model to model_parameters");
        });
        const std::filesystem::path working = resolve(working_directory_);
        const std::string stem = std::filesystem::path(compile.model).stem().string();
        result_.output =
            (working / ((compile.name.empty() ? stem : compile.name) + ".ovm")).string();
        if (reports_)
            result_.report = working.string();
        finish_calibration();
        compile.inputs = read_inputs(lists_, problems_);
        problems_.attempt([&] { finish_batch(); });
        for (const InputOptions& input : compile.inputs)
            if (!input.name.empty() && !input.shape.empty())
                compile.import.input_shapes[input.name] = input.shape;
        problems_.attempt([&] { finish_raw_types(); });
        problems_.attempt([&] { finish_samples(); });
        result_.problems = problems_.sorted();
        return std::move(result_);
    }

    void finish_calibration() {
        CompileOptions& compile = result_.compile;
        if (!calibration_)
            compile.method = level_ == 3 ? CalibrationMethod::best : CalibrationMethod::min_max;
        compile.corrects_bias = corrects_bias_.value_or(level_ > 0);
        compile.equalises_channels = equalises_.value_or(level_ > 0);
        if (!percentile_)
            return;
        if (!calibration_ || calibration_->word() != "max")
            percentile_->warn("has no effect, as it belongs to calibration_type max");
        else if (compile.percentile < 100)
            compile.method = CalibrationMethod::percentile;
    }

    // A network of one image becomes a network of several images.
    void finish_batch() {
        if (!batch_)
            return;
        std::vector<InputOptions>& inputs = result_.compile.inputs;
        if (inputs.size() != 1 || inputs[0].name.empty() || inputs[0].shape.empty() ||
            inputs[0].shape[0] != 1)
            batch_->refuse("is for networks with one input of one image; give input_name, and an "
                           "input_shape that begins with 1");
        if (inputs[0].given == InputKind::nv12)
            batch_->refuse("nv12 is one picture at a time; submit several tasks instead");
        inputs[0].shape[0] = batch_->whole(1, 256);
    }

    // The value has one type for all inputs, or one for each.
    void finish_raw_types() {
        std::vector<InputOptions>& inputs = result_.compile.inputs;
        if (raw_types_.size() > 1 && raw_types_.size() != inputs.size())
            raw_value_->refuse("needs one part, or one for each input");
        for (std::size_t index = 0; index < inputs.size() && !raw_types_.empty(); ++index)
            inputs[index].raw = raw_types_[raw_types_.size() == 1 ? 0 : index];
    }

    void finish_samples() {
        CompileOptions& compile = result_.compile;
        const std::string type = calibration_ ? calibration_->word() : "";
        compile.needs_given_scales = type == "load";
        compile.wants_noise = type == "skip";
        if (sample_paths_.empty())
            return;
        if (compile.needs_given_scales || compile.wants_noise) {
            sample_paths_.front().warn("has no effect with calibration_type " + type);
            return;
        }
        if (sample_paths_.size() != compile.inputs.size())
            sample_paths_.front().refuse("has " + std::to_string(sample_paths_.size()) +
                                         " parts for " + std::to_string(compile.inputs.size()) +
                                         " inputs; give one for each, divided by ';'");
        for (std::size_t index = 0; index < sample_paths_.size(); ++index)
            problems_.attempt([&] {
                const std::string& name = compile.inputs[index].name;
                compile.calibration.push_back((name.empty() ? "" : name + "=") +
                                              existing(sample_paths_[index]));
            });
    }

    ConfigurationProblems problems_;
    const std::filesystem::path directory_;
    Configuration result_;
    InputLists lists_;
    std::string working_directory_ = "model_output";
    InputLists::List sample_paths_;
    std::vector<RawType> raw_types_;
    std::optional<Value> model_, raw_value_, calibration_, percentile_, batch_;
    std::optional<bool> corrects_bias_, equalises_;
    bool means_model_ = false; // also true for a misspelt key
    bool reports_ = false;
    int level_ = 1;
};

} // namespace

Configuration read_configuration(const std::string& path) {
    return Reader(path).run();
}

} // namespace overtake::compiler
