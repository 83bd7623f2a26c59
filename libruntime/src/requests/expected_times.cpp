// SPDX-License-Identifier: MIT
#include "overtake/expected_times.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "coordination/coordinated_engine.hpp"
#include "coordination/times_file.hpp"
#include "monotonic_clock.hpp"
#include "overtake/error.hpp"
#include "requests/loaded_model.hpp"
#include "requests/request.hpp"

namespace overtake {

struct ExpectedTimes::State {
    coordination::TimesFile file;
};

namespace {

using coordination::TimesFile;

constexpr unsigned warm_up_runs = 2;
constexpr std::int64_t look_every_ns = 200'000'000;
constexpr std::uintmax_t most_file_bytes = 4u << 20; // a file of expected times has some thousands

std::string text_of_file(const std::string& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (error && error != std::errc::no_such_file_or_directory)
        throw Error(error.value(), fmt::format("{}: cannot be opened: {}; name a file of overtake "
                                               "profile",
                                               path, error.message()));
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw Error(EINVAL, path + ": is no regular file; name a file of overtake profile");
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        const int code = errno != 0 ? errno : EIO;
        throw Error(code, fmt::format("{}: cannot be opened: {}; name a file of overtake profile",
                                      path, std::strerror(code)));
    }
    if (std::filesystem::file_size(path, error) > most_file_bytes)
        throw Error(EINVAL, path + ": is too large for a file of expected times; name a file of "
                                   "overtake profile");
    return {std::istreambuf_iterator<char>(file), {}};
}

/// An inference of zeros.
class ZeroInference {
public:
    explicit ZeroInference(const Model& model)
        : inputs_(memory_of(model, model.inputs())), outputs_(memory_of(model, model.outputs())) {}

    void add_to(Request& request, const std::shared_ptr<LoadedModel>& model) const {
        request.add(model, inputs_, outputs_);
    }

private:
    std::vector<TensorMemory> memory_of(const Model& model,
                                        std::span<const std::uint32_t> numbers) {
        std::vector<TensorMemory> memory(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); i++) {
            auto& values = arrays_.emplace_back(model.tensors()[numbers[i]].elements());
            memory[i].data = reinterpret_cast<std::byte*>(values.data());
        }
        return memory;
    }

    std::vector<std::vector<float>> arrays_;
    std::vector<TensorMemory> inputs_, outputs_;
};

/// The measurement: runs of the pieces of each class.
class Measurement {
public:
    Measurement(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                std::shared_ptr<coordination::CoordinatedModel> coordinated, unsigned runs,
                const std::function<void(double)>& progress)
        : engine_(engine), coordinated_(*engine.state().coordinated), model_(model), runs_(runs),
          progress_(progress), loaded_(std::move(coordinated)), inference_(model->model()) {}

    TimesFile take() {
        std::set<std::size_t> seen;
        for (std::size_t q = 0; q < coordinated_.processors().size(); q++)
            if (seen.insert(coordinated_.class_of(q)).second)
                ways_.push_back(coordinated_.processors()[q].name);
        ways_.emplace_back(); // the coordinator chooses the processor
        for (way_ = 0; way_ + 1 < ways_.size(); way_++)
            run_on(ways_[way_]);
        if (!taken_.empty()) {
            const TimesFile so_far = summary();
            coordinated_.begin_records(*loaded_, &so_far);
        }
        run_on("");
        return summary();
    }

private:
    /// Submits a request.  Returns null if there is a unit that no processor may run under `on`.
    std::shared_ptr<Request> submit(const std::string& on) {
        auto request = engine_.create_request();
        inference_.add_to(*request, model_);
        TaskOptions options;
        options.on = on;
        try {
            request->submit(options);
        } catch (const Error& error) {
            if (error.code() != EINVAL)
                throw;
            refusal_ = error.what();
            return nullptr;
        }
        return request;
    }

    void run_on(const std::string& on) {
        for (unsigned run = 0; run < warm_up_runs + runs_; run++) {
            if (!on.empty()) // no recorded times: else the plan could prefer shorter pieces
                coordinated_.begin_records(*loaded_, nullptr);
            const std::shared_ptr<Request> request = submit(on);
            if (!request)
                return;
            wait(*request);
            if (const std::int32_t status = request->status(); status != 0)
                throw Error(-status,
                            fmt::format("{}: a request{}{} failed: {}", model_->model().name(),
                                        on.empty() ? "" : " on ", on, reason(*request)));
            if (run >= warm_up_runs)
                keep(*request);
            if (progress_)
                progress_((static_cast<double>(way_) +
                           static_cast<double>(run + 1) / (warm_up_runs + runs_)) /
                          static_cast<double>(ways_.size()));
        }
    }

    /// Waits for a request, but not for a processor that has failed, as the request would.
    void wait(Request& request) {
        while (!request.wait(static_cast<std::int64_t>(monotonic_ns()) + look_every_ns))
            for (const ProcessorState& state : engine_.processors())
                if (!state.in_use) {
                    request.cancel();
                    request.wait();
                    throw Error(EIO, fmt::format("{}: the processor {} has failed, so there is "
                                                 "nothing to measure; leave it out, or try again",
                                                 model_->model().name(), state.name));
                }
    }

    static std::string reason(const Request& request) {
        return request.error().empty() ? std::strerror(-request.status()) : request.error();
    }

    void keep(const Request& request) {
        const auto task =
            std::static_pointer_cast<coordination::CoordinatedTask>(request.state().submitted());
        for (const coordination::MeasuredRun& run : task->measured_runs())
            taken_[{coordinated_.class_of(run.processor), run.units}].push_back(
                std::max<std::uint64_t>(run.executed_ns, 1));
    }

    TimesFile summary() {
        TimesFile file;
        file.name = "times";
        file.model = model_->model().name();
        file.model_digest = coordination::digest_of(model_->model());
        file.host = coordination::host_cpu();
        std::map<std::size_t, TimesFile::Class> classes;
        for (auto& [what, times] : taken_) {
            if (2 * times.size() < runs_) // a plan that the coordinator gave up soon
                continue;
            const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
            std::ranges::nth_element(times, middle);
            const auto [of, is_new] = classes.try_emplace(what.first);
            if (is_new)
                of->second = coordination::described_class(coordinated_.classes()[what.first]);
            of->second.pieces.push_back({what.second, *middle});
        }
        for (auto& [number, of] : classes)
            file.classes.push_back(std::move(of));
        if (file.classes.empty())
            throw Error(EINVAL, refusal_);
        return file;
    }

    Engine& engine_;
    coordination::CoordinatedEngine& coordinated_;
    const std::shared_ptr<LoadedModel> model_;
    const unsigned runs_;
    const std::function<void(double)>& progress_;
    const std::shared_ptr<coordination::CoordinatedModel> loaded_;
    const ZeroInference inference_;
    std::vector<std::string> ways_;
    std::size_t way_ = 0;
    std::string refusal_;
    /// The times that runs took, by class and units.
    std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::uint64_t>> taken_;
};

} // namespace

ExpectedTimes::ExpectedTimes(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ExpectedTimes::ExpectedTimes(ExpectedTimes&& other) noexcept = default;
ExpectedTimes& ExpectedTimes::operator=(ExpectedTimes&& other) noexcept = default;
ExpectedTimes::~ExpectedTimes() = default;

ExpectedTimes ExpectedTimes::read(const std::string& path) {
    return parse(text_of_file(path), path);
}

ExpectedTimes ExpectedTimes::parse(const std::string& text, const std::string& name) {
    return ExpectedTimes(std::make_unique<State>(State{coordination::parse_times(text, name)}));
}

ExpectedTimes ExpectedTimes::measure(Engine& engine, const std::shared_ptr<LoadedModel>& model,
                                     unsigned runs, const std::function<void(double)>& progress) {
    engine.state().origin.require("engine");
    if (!engine.state().coordinated || !model->state_->coordinated)
        throw Error(EINVAL, "expected times are of several processors; make the engine with "
                            "EngineOptions::processors, and load the model there");
    if (runs == 0)
        throw Error(EINVAL, "expected times: 0 runs; at least 1");
    return ExpectedTimes(std::make_unique<State>(
        State{Measurement(engine, model, model->state_->coordinated, runs, progress).take()}));
}

std::string ExpectedTimes::text() const {
    return coordination::text_of(state_->file);
}

bool ExpectedTimes::is_of(const Model& model) const {
    return state_->file.model == model.name() &&
           state_->file.model_digest == coordination::digest_of(model);
}

std::string_view ExpectedTimes::model_name() const noexcept {
    return state_->file.model;
}

std::vector<ExpectedTime> ExpectedTimes::times() const {
    std::vector<ExpectedTime> times;
    for (const TimesFile::Class& of : state_->file.classes)
        for (const TimesFile::Piece& piece : of.pieces)
            times.push_back({of.name, piece.units, piece.time_ns});
    return times;
}

std::shared_ptr<LoadedModel> Engine::load(std::shared_ptr<const Model> model,
                                          const ExpectedTimes& times) {
    state_->origin.require("engine");
    const TimesFile& file = times.state_->file;
    if (!state_->coordinated)
        throw Error(EINVAL, fmt::format("{}: expected times are of several processors; make the "
                                        "engine with EngineOptions::processors",
                                        file.name));
    return std::make_shared<LoadedModel>(
        std::make_unique<LoadedModel::State>(*state_, std::move(model), &file));
}

} // namespace overtake
