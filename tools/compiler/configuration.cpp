// SPDX-License-Identifier: MIT
#include "compiler/configuration.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "compiler/configuration_value.hpp"
#include "compiler/ir/error.hpp"

namespace overtake::compiler {
namespace {

// What the file says so far.  Keys come in any order; finish() puts together what belongs together.
class Reader {
public:
    explicit Reader(const std::string& path)
        : path_(path), directory_(std::filesystem::path(path).parent_path()) {}

    Configuration run() {
        const YAML::Node root = load();
        if (!root.IsMap())
            throw CompileError(path_ + ":1", "holds no groups of keys such as model_parameters");
        for (const auto& entry : each_once(root, "the file")) {
            const auto group = groups().find(entry.first);
            if (group == groups().end())
                unknown(entry, "group", names_of(groups()));
            if (entry.second.IsNull())
                continue;
            if (!entry.second.IsMap())
                refuse(entry, "must hold keys");
            for (const auto& key : each_once(entry.second, entry.first))
                read_key(key, group->second, entry.first);
        }
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

    // Takes the one value that asks for nothing.
    static Apply only(bool wanted, std::string reason) {
        return [=](Reader&, const Value& value) {
            if (value.truth() != wanted)
                value.refuse(reason);
        };
    }

    static Apply names(std::vector<std::string> ImportOptions::*list) {
        return [list](Reader& r, const Value& v) {
            for (const Value& part : v.parts())
                (r.result_.compile.import.*list).push_back(part.text());
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
        const std::string cut =
            "cutting parts off a model is not supported; cut the ONNX file, for "
            "instance with onnx.utils.extract_model";
        return {
            {"onnx_model",
             [](Reader& r, const Value& v) { r.result_.compile.model = r.resolve(v.text()); }},
            {"march", [](Reader& r, const Value& v) { r.result_.compile.profile = v.text(); }},
            {"output_model_file_prefix", [](Reader& r, const Value& v) { r.prefix_ = v.text(); }},
            {"working_dir", [](Reader& r, const Value& v) { r.working_directory_ = v.text(); }},
            {"layer_out_dump",
             only(false, "outputs of single layers are not written; the report of "
                         "compiler_parameters.debug compares each with float")},
            {"caffe_model", refused(onnx_only)},
            {"prototxt", refused(onnx_only)},
            {"output_nodes", refused(cut)},
            {"remove_node_name", refused(cut)},
            {"remove_node_type",
             [](Reader& r, const Value& v) {
                 for (const Value& part : v.parts())
                     if (part.word() != "dequantize")
                         part.refuse(
                             "only Dequantize can be removed: outputs are int8 then; inputs "
                             "are with input_type_rt: int8");
                 r.result_.compile.int8_outputs = true;
             }},
            {"node_info", refused("placement and width of single nodes are not set here; use "
                                  "run_on_cpu and run_on_bpu")},
            {"set_node_data_type", refused("the device computes in int8 only; use run_on_cpu for "
                                           "nodes that need more")},
            {"debug_mode", refused("use compiler_parameters.debug")},
            {"log_level", refused("messages have no levels; use --quiet to have none")},
        };
    }

    static Group input_keys() {
        return {
            {"input_name", per_input(&Input::name)},
            {"input_type_train", per_input(&Input::trained)},
            {"input_type_rt", per_input(&Input::given)},
            {"input_layout_train", per_input(&Input::layout_trained)},
            {"input_layout_rt", per_input(&Input::layout_given)},
            {"input_space_and_range", per_input(&Input::range)},
            {"input_shape", per_input(&Input::shape)},
            {"norm_type", per_input(&Input::normalisation)},
            {"mean_value", per_input_numbers(&Input::mean)},
            {"scale_value", per_input_numbers(&Input::scale)},
            {"input_batch",
             [](Reader&, const Value& v) {
                 if (v.whole(1, 4096) != 1)
                     v.refuse("a task is one sample; submit several tasks instead");
             }},
            {"separate_batch", only(false, "a task is one sample as it is")},
            {"separate_name", refused("a task is one sample as it is")},
        };
    }

    static Group calibration_keys() {
        return {
            {"cal_data_dir",
             [](Reader& r, const Value& v) {
                 for (const Value& part : v.parts())
                     r.sample_paths_.push_back(part);
             }},
            {"cal_data_type",
             [](Reader& r, const Value& v) {
                 for (const Value& part : v.parts())
                     r.raw_types_.push_back(part.choice<RawType>(
                         {{"float32", RawType::float32}, {"uint8", RawType::uint8}}));
                 r.raw_value_ = v;
             }},
            {"preprocess_on", [](Reader& r, const Value& v) { r.stretches_ = v.truth(); }},
            {"calibration_type",
             [](Reader& r, const Value& v) {
                 r.calibration_ = v;
                 r.result_.compile.method =
                     v.choice<CalibrationMethod>({{"default", CalibrationMethod::best},
                                                  {"mix", CalibrationMethod::best},
                                                  {"max", CalibrationMethod::min_max},
                                                  {"kl", CalibrationMethod::kl},
                                                  {"skip", CalibrationMethod::min_max},
                                                  {"load", CalibrationMethod::min_max}});
             }},
            {"max_percentile",
             [](Reader& r, const Value& v) {
                 r.result_.compile.percentile = 100 * v.real(0.5, 1.0);
                 r.percentile_ = v;
             }},
            {"per_channel", only(false, "a tensor that is computed has one scale; weights have one "
                                        "for each channel as it is")},
            {"run_on_cpu", names(&ImportOptions::run_on_cpu)},
            {"run_on_bpu", names(&ImportOptions::run_on_bpu)},
            {"bias_correction", [](Reader& r, const Value& v) { r.corrects_bias_ = v.truth(); }},
            {"equalisation", [](Reader& r, const Value& v) { r.equalises_ = v.truth(); }},
            {"optimization", refused("there are no further ways of quantising")},
            {"quant_config", refused("is a file of another tool; say the same with the keys here")},
        };
    }

    static Group compiler_keys() {
        return {
            {"compile_mode",
             [](Reader&, const Value& v) {
                 const bool is_latency =
                     v.choice<bool>({{"latency", true}, {"bandwidth", false}, {"balance", false}});
                 if (!is_latency)
                     v.refuse("only latency is supported: the memory plan does not trade time for "
                              "traffic");
             }},
            {"balance_factor", refused("belongs to compile_mode balance, which is not supported")},
            {"debug", [](Reader& r, const Value& v) { r.reports_ = v.truth(); }},
            {"core_num",
             [](Reader&, const Value& v) {
                 if (v.whole(1, 64) != 1)
                     v.refuse("a job runs on one core; run two tasks of the model on two cores "
                              "instead");
             }},
            {"max_time_per_fc",
             [](Reader& r, const Value& v) {
                 const std::int64_t limit = v.whole(0, 4294967295);
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
                 r.source_ = v;
                 if (const std::optional<Value> only = v.is_map() ? v.entry("") : v)
                     is_resizer(*only);
             }},
            {"jobs",
             [](Reader&, const Value& v) {
                 if (v.whole(1, 1024) != 1)
                     v.refuse("one thread compiles; leave it out or say 1");
             }},
            {"advice",
             refused("the report of compiler_parameters.debug shows where the time goes")},
            {"ability_entry", refused("there are no licensed abilities")},
            {"hbdk3_compatible_mode", refused("means nothing here")},
            {"extra_params", refused("means nothing here")},
        };
    }

    static Group custom_keys() {
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
            {"op_register_files", refused("names Python files of another tool; give `domains`, and "
                                          "`library`, a shared object that registers them")},
            {"custom_op_dir", refused("names Python files of another tool; give `domains`, and "
                                      "`library`, a shared object that registers them")},
        };
    }

    static bool is_resizer(const Value& source) {
        return source.choice<bool>({{"ddr", false}, {"pyramid", false}, {"resizer", true}});
    }

    // One word for all inputs, or a map with a word for each that is not ddr.
    void read_source(InputOptions& options) const {
        if (!source_)
            return;
        const std::optional<Value> source =
            source_->is_map() ? source_->entry(options.name) : source_;
        if (!source)
            return;
        const bool is_picture = options.given == InputKind::nv12;
        options.from_resizer = is_resizer(*source);
        if (source->word() != "ddr" && !is_picture)
            source->refuse("belongs to input_type_rt nv12");
    }

    // What belongs to one input, each key a list over the inputs.
    struct Input {
        using List = std::vector<Value>;
        List name, trained, given, layout_trained, layout_given, range, shape, normalisation, mean,
            scale;
    };

    static Apply per_input(Input::List Input::*list) {
        return [list](Reader& r, const Value& v) { r.input_.*list = v.parts(); };
    }

    // A list of numbers is one input's.
    static Apply per_input_numbers(Input::List Input::*list) {
        return [list](Reader& r, const Value& v) {
            r.input_.*list = v.is_list() ? Input::List{v} : v.parts();
        };
    }

    YAML::Node load() const {
        std::error_code error;
        if (std::filesystem::is_directory(path_, error))
            throw CompileError(path_, "is a directory; name a YAML file");
        try {
            return YAML::LoadFile(path_);
        } catch (const YAML::BadFile&) {
            throw CompileError(path_, "cannot be read; name a YAML file");
        } catch (const YAML::Exception& error) {
            throw CompileError(path_ + ":" + std::to_string(error.mark.line + 1), error.msg);
        }
    }

    [[noreturn]] void refuse(const Entry& entry, const std::string& reason) const {
        throw CompileError(path_ + ":" + std::to_string(entry.line), entry.first + ": " + reason);
    }

    template <typename Map>
    static std::vector<std::string> names_of(const Map& map) {
        std::vector<std::string> names;
        for (const auto& [name, meaning] : map)
            names.push_back(name);
        return names;
    }

    std::vector<Entry> each_once(const YAML::Node& map, const std::string& where) const {
        std::vector<Entry> entries;
        std::set<std::string> seen;
        for (const auto& pair : map) {
            const int line = pair.first.Mark().line + 1;
            if (!pair.first.IsScalar())
                throw CompileError(path_ + ":" + std::to_string(line),
                                   "a key of " + where + " must be a word");
            entries.push_back({pair.first.Scalar(), pair.second, line});
            if (!seen.insert(entries.back().first).second)
                refuse(entries.back(), "stands here twice");
        }
        return entries;
    }

    [[noreturn]] void unknown(const Entry& entry, const std::string& what,
                              const std::vector<std::string>& known) const {
        const std::string nearest = nearest_name(entry.first, known);
        std::string other;
        for (const auto& [name, group] : groups())
            if (group.contains(entry.first))
                other = "; it belongs to " + name;
        refuse(entry, "is no " + what +
                          (!other.empty()    ? other
                           : nearest.empty() ? ""
                                             : "; did you mean " + nearest + "?"));
    }

    void read_key(const Entry& key, const Group& group, const std::string& name) {
        const auto found = group.find(key.first);
        if (found == group.end())
            unknown(key, "key of " + name, names_of(group));
        if (key.second.IsNull())
            refuse(key, "is empty; leave the key out for its default");
        found->second(*this, Value(path_, key.first, key.line, key.second));
    }

    std::string resolve(const std::string& path) const { return (directory_ / path).string(); }

    Configuration finish() {
        CompileOptions& compile = result_.compile;
        if (compile.model.empty())
            throw CompileError(path_, "names no model; add onnx_model to model_parameters");
        const std::string prefix =
            prefix_.value_or(std::filesystem::path(compile.model).stem().string());
        const std::filesystem::path working = resolve(working_directory_);
        result_.output = (working / (prefix + ".ovm")).string();
        if (reports_)
            result_.report = working.string();
        finish_calibration();
        finish_inputs();
        finish_samples();
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
            percentile_->refuse("belongs to calibration_type max");
        if (compile.percentile < 100)
            compile.method = CalibrationMethod::percentile;
    }

    // The value of a key for one input.
    const Value* of(const Input::List& list, std::size_t index) const {
        if (list.empty())
            return nullptr;
        if (list.size() != input_count_)
            list.front().refuse("has " + std::to_string(list.size()) + " parts for " +
                                std::to_string(input_count_) +
                                " inputs; give one for each, divided by ';'");
        return &list[index];
    }

    void finish_inputs() {
        std::size_t most = 0;
        for (const Input::List* list :
             {&input_.name, &input_.trained, &input_.given, &input_.layout_trained,
              &input_.layout_given, &input_.range, &input_.shape, &input_.normalisation,
              &input_.mean, &input_.scale})
            most = std::max(most, list->size());
        input_count_ = input_.name.empty() ? std::max<std::size_t>(most, 1) : input_.name.size();
        if (input_.name.empty() && input_count_ > 1)
            throw CompileError(path_, "says something of " + std::to_string(input_count_) +
                                          " inputs; add input_name");
        for (std::size_t index = 0; index < input_count_; ++index)
            result_.compile.inputs.push_back(input_options(index));
        for (const InputOptions& input : result_.compile.inputs)
            if (!input.name.empty() && !input.shape.empty())
                result_.compile.import.input_shapes[input.name] = input.shape;
    }

    InputOptions input_options(std::size_t index) const {
        InputOptions options;
        if (const Value* name = of(input_.name, index))
            options.name = name->text();
        if (const Value* type = of(input_.trained, index))
            options.trained = trained_kind(*type);
        options.given = options.trained;
        if (const Value* type = of(input_.given, index))
            options.given = given_kind(*type);
        if (const Value* layout = of(input_.layout_trained, index))
            options.channels_last = layout->choice<bool>({{"nchw", false}, {"nhwc", true}});
        if (const Value* layout = of(input_.layout_given, index))
            check_layout(*layout, options);
        if (const Value* range = of(input_.range, index)) {
            options.full_range = range->choice<bool>({{"regular", true}, {"bt601_video", false}});
            if (options.given != InputKind::nv12)
                range->refuse("belongs to input_type_rt nv12");
        }
        if (const Value* shape = of(input_.shape, index))
            options.shape = shape->shape();
        read_source(options);
        options.stretches = stretches_;
        read_normalisation(index, options);
        return options;
    }

    static InputKind trained_kind(const Value& type) {
        const InputKind unsupported = InputKind::int8;
        const InputKind kind = type.choice<InputKind>({{"featuremap", InputKind::tensor},
                                                       {"rgb", InputKind::rgb},
                                                       {"bgr", InputKind::bgr},
                                                       {"gray", InputKind::gray},
                                                       {"yuv444", unsupported}});
        if (kind == unsupported)
            type.refuse("networks that were trained on YUV are not supported");
        return kind;
    }

    static InputKind given_kind(const Value& type) {
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

    // What the user's arrays look like follows from the type.
    static void check_layout(const Value& layout, const InputOptions& options) {
        const bool last = layout.choice<bool>({{"nchw", false}, {"nhwc", true}});
        if (last != options.channels_last)
            layout.refuse("arrays are given in the layout of the network, " +
                          std::string(options.channels_last ? "NHWC" : "NCHW"));
    }

    void read_normalisation(std::size_t index, InputOptions& options) const {
        enum class Norm { none, mean, scale, both };
        const Value* type = of(input_.normalisation, index);
        const Norm norm = type ? type->choice<Norm>({{"no_preprocess", Norm::none},
                                                     {"data_mean", Norm::mean},
                                                     {"data_scale", Norm::scale},
                                                     {"data_mean_and_scale", Norm::both}})
                               : Norm::none;
        const bool has_mean = norm == Norm::mean || norm == Norm::both;
        const bool has_scale = norm == Norm::scale || norm == Norm::both;
        const Value *mean = of(input_.mean, index), *scale = of(input_.scale, index);
        if (has_mean && !mean)
            type->refuse("needs mean_value");
        if (has_scale && !scale)
            type->refuse("needs scale_value");
        if (mean && !has_mean)
            mean->refuse("has no effect with norm_type " +
                         (type ? type->text() : "no_preprocess, which is the default"));
        if (scale && !has_scale)
            scale->refuse("has no effect with norm_type " +
                          (type ? type->text() : "no_preprocess, which is the default"));
        if (mean)
            options.mean = mean->numbers();
        if (scale)
            options.scale = scale->numbers();
        if (options.trained == InputKind::tensor && (mean || scale))
            type->refuse("is for pictures; set input_type_train to rgb, bgr or gray");
    }

    void finish_samples() {
        CompileOptions& compile = result_.compile;
        const std::string type = calibration_ ? calibration_->word() : "";
        if ((type == "skip" || type == "load") && !sample_paths_.empty())
            sample_paths_.front().refuse("has no effect with calibration_type " + type);
        compile.needs_given_scales = type == "load";
        compile.wants_noise = type == "skip";
        if (raw_types_.size() > 1 && raw_types_.size() != input_count_)
            raw_value_->refuse("needs one part, or one for each input");
        for (std::size_t index = 0; index < raw_types_.size(); ++index)
            compile.inputs[index].raw = raw_types_[index];
        if (raw_types_.size() == 1)
            for (InputOptions& input : compile.inputs)
                input.raw = raw_types_[0];
        if (sample_paths_.empty())
            return;
        if (sample_paths_.size() != input_count_)
            sample_paths_.front().refuse("has " + std::to_string(sample_paths_.size()) +
                                         " parts for " + std::to_string(input_count_) + " inputs");
        for (std::size_t index = 0; index < input_count_; ++index) {
            const std::string& name = compile.inputs[index].name;
            compile.calibration.push_back((name.empty() ? "" : name + "=") +
                                          resolve(sample_paths_[index].text()));
        }
    }

    const std::string path_;
    const std::filesystem::path directory_;
    Configuration result_;
    Input input_;
    std::size_t input_count_ = 1;
    std::optional<std::string> prefix_;
    std::string working_directory_ = "model_output";
    std::vector<Value> sample_paths_;
    std::vector<RawType> raw_types_;
    std::optional<Value> raw_value_, calibration_, percentile_, source_;
    std::optional<bool> corrects_bias_, equalises_;
    bool stretches_ = true;
    bool reports_ = false;
    int level_ = 1;
};

} // namespace

Configuration read_configuration(const std::string& path) {
    return Reader(path).run();
}

} // namespace overtake::compiler
