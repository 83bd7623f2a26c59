// SPDX-License-Identifier: MIT
#include "overtake/graph.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "coordination/coordinated_engine.hpp"
#include "requests/loaded_model.hpp"
#include "requests/request.hpp"

namespace overtake {

/// The values of a graph's inputs and outputs, in its own memory or in its caller's.
struct GraphTensors {
    std::vector<std::vector<float>> own_inputs, own_outputs; ///< empty: the caller has the memory
    std::vector<TensorMemory> inputs, outputs;
};

namespace {

std::vector<TensorMemory> memory_of(std::vector<std::vector<float>>& arrays) {
    std::vector<TensorMemory> memory(arrays.size());
    for (std::size_t i = 0; i < arrays.size(); i++)
        memory[i].data = reinterpret_cast<std::byte*>(arrays[i].data());
    return memory;
}

std::shared_ptr<GraphTensors> make_tensors(const Model& model) {
    auto tensors = std::make_shared<GraphTensors>();
    for (std::size_t i = 0; i < model.inputs().size(); i++)
        tensors->own_inputs.emplace_back(model.input(i).elements());
    for (std::size_t i = 0; i < model.outputs().size(); i++)
        tensors->own_outputs.emplace_back(model.output(i).elements());
    tensors->inputs = memory_of(tensors->own_inputs);
    tensors->outputs = memory_of(tensors->own_outputs);
    return tensors;
}

/// "units 1, 2"
std::string name_units(std::uint64_t units) {
    std::string text = std::has_single_bit(units) ? "unit " : "units ";
    for (std::uint64_t rest = units; rest != 0; rest &= rest - 1)
        text += fmt::format("{}{}", rest == units ? "" : ", ", std::countr_zero(rest));
    return text;
}

/// Returns the reasons why no processor takes the unit, each with its processors.
std::string name_reasons(const std::vector<UnitRefusal>& refusals, std::size_t unit) {
    std::vector<std::pair<std::string, std::string>> processors_by_reason;
    for (const UnitRefusal& refusal : refusals) {
        if (refusal.unit != unit)
            continue;
        const auto known = std::ranges::find(processors_by_reason, refusal.reason,
                                             &std::pair<std::string, std::string>::second);
        if (known == processors_by_reason.end())
            processors_by_reason.emplace_back(refusal.processor, refusal.reason);
        else
            known->first += ", " + refusal.processor;
    }
    std::string text;
    for (const auto& [processors, reason] : processors_by_reason)
        text += fmt::format("; {}: {}", processors, reason);
    return text;
}

/// Returns the place and the reason of a run's failure.
std::string failure_text(const Request& request) {
    const std::int32_t status = request.status();
    const std::vector<RunRecord> runs = request.runs();
    const auto blamed = std::ranges::find_if(runs.rbegin(), runs.rend(), [&](const auto& run) {
        return run.status == status && status != -ECANCELED && status != -ETIME;
    });
    std::string text =
        blamed != runs.rend()
            ? fmt::format("{} failed on {}", name_units(blamed->units), blamed->processor)
        : status == -ECANCELED ? "it was cancelled"
        : status == -ETIME     ? "it was dropped at its deadline"
                               : "it failed";
    text += fmt::format(": {}", std::generic_category().message(-status));
    const std::string said = request.error();
    return said.empty() ? text : text + " (" + said + ")";
}

} // namespace

const char* name_of(GraphState state) noexcept {
    switch (state) {
    case GraphState::created:
        return "created";
    case GraphState::ready:
        return "ready";
    case GraphState::running:
        return "running";
    case GraphState::done:
        return "done";
    case GraphState::error:
        return "error";
    }
    return "?";
}

struct GraphRun::State {
    /// Everything that prerun() makes.
    struct Prepared {
        std::shared_ptr<LoadedModel> model;
        std::shared_ptr<GraphTensors> tensors;
        std::shared_ptr<Request> request; ///< the next one, or the one submitted last
        bool is_submitted = false;
    };
    /// Marks that a thread prepares or releases: the mutex is free, and other threads are refused.
    class Change {
    public:
        explicit Change(State& state) : state_(state) {
            state_.before = state_.state();
            state_.is_changing = true;
        }
        ~Change() {
            const std::lock_guard lock(state_.mutex);
            state_.is_changing = false;
        }
        Change(const Change&) = delete;
        Change& operator=(const Change&) = delete;

    private:
        State& state_;
    };

    State(Engine& of, std::shared_ptr<const Model> model_, const TaskOptions& options_)
        : engine(of.create_request()->state().engine), model(std::move(model_)), options(options_) {
    }

    // Called with the mutex held.

    GraphState state() const;
    /// Throws Error unless the state is one of `allowed`.
    void require(const char* call, std::initializer_list<GraphState> allowed) const;
    template <class Value>
    std::span<Value> values(const char* call, std::vector<std::vector<float>>& arrays,
                            std::size_t index) const;

    // Called without the mutex.

    void prerun(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs,
                bool is_own);
    Prepared prepare(std::shared_ptr<GraphTensors> tensors);
    std::shared_ptr<Request> make_request(const Prepared& from) const;
    void check_units(const coordination::UnitInference& inference);

    std::string place(const char* call) const {
        return fmt::format("graph '{}': {}()", model->name(), call);
    }

    const ForkOrigin origin;
    const std::shared_ptr<Engine::State> engine;
    const std::shared_ptr<const Model> model;
    const TaskOptions options;

    mutable std::mutex mutex;
    bool is_changing = false; ///< a thread is in prerun() or postrun()
    GraphState before{};      ///< the state until that call has returned
    std::optional<Prepared> prepared;
    std::vector<UnitRefusal> refusals;
};

GraphState GraphRun::State::state() const {
    if (is_changing)
        return before;
    if (!prepared)
        return GraphState::created;
    if (!prepared->is_submitted)
        return GraphState::ready;
    const std::int32_t status = prepared->request->status();
    if (status == -EINPROGRESS)
        return GraphState::running;
    return status == 0 ? GraphState::done : GraphState::error;
}

void GraphRun::State::require(const char* call, std::initializer_list<GraphState> allowed) const {
    origin.require("graph");
    if (is_changing)
        throw Error(EBUSY, place(call) + ": another call is in prerun() or postrun(); call again "
                                         "when that has returned");
    const GraphState now = state();
    if (std::ranges::find(allowed, now) != allowed.end())
        return;
    const char* remedy = "call postrun() first";
    if (now == GraphState::running)
        remedy = "wait() for the end of the run first, or cancel() it and wait()";
    else if (now == GraphState::created)
        remedy = "call prerun() first";
    else if (now == GraphState::ready &&
             std::ranges::find(allowed, GraphState::done) != allowed.end())
        remedy = "call run() first";
    throw Error(now == GraphState::running ? EBUSY : EINVAL,
                fmt::format("{}: the graph is {}; {}", place(call), name_of(now), remedy));
}

template <class Value>
std::span<Value> GraphRun::State::values(const char* call, std::vector<std::vector<float>>& arrays,
                                         std::size_t index) const {
    const bool is_callers =
        prepared->tensors->own_inputs.empty() && prepared->tensors->own_outputs.empty();
    if (is_callers)
        throw Error(EINVAL, place(call) + ": its memory is what prerun() was given");
    if (index >= arrays.size())
        throw Error(EINVAL,
                    fmt::format("{}: no number {}, it has {}", place(call), index, arrays.size()));
    return arrays[index];
}

/// Throws Error, with the reason of each processor, for the first unit that no processor takes.
void GraphRun::State::check_units(const coordination::UnitInference& inference) {
    const engine::RunOptions wanted = engine::run_options(options);
    engine->coordinated->check(wanted);
    std::vector<UnitRefusal> found = engine->coordinated->refusals(inference);
    const std::optional<std::size_t> unit =
        engine->coordinated->unit_without_processor(inference, wanted);
    const std::string reasons = unit ? name_reasons(found, *unit) : std::string();
    {
        const std::lock_guard lock(mutex);
        refusals = std::move(found);
    }
    if (unit)
        throw Error(EINVAL,
                    fmt::format("{}: no processor{} takes unit {}{}; nothing is prepared: name a "
                                "processor of class {}, which the unit was compiled for",
                                place("prerun"),
                                options.on.empty() ? "" : " of '" + options.on + "'", *unit,
                                reasons, inference.model().classes_with(*unit)));
    engine->coordinated->check(inference, wanted);
}

std::shared_ptr<Request> GraphRun::State::make_request(const Prepared& from) const {
    auto request = std::make_shared<Request>(std::make_unique<Request::State>(engine));
    request->add(from.model, from.tensors->inputs, from.tensors->outputs);
    request->keep(from.tensors);
    return request;
}

GraphRun::State::Prepared GraphRun::State::prepare(std::shared_ptr<GraphTensors> tensors) {
    Prepared made;
    made.tensors = std::move(tensors);
    made.model =
        std::make_shared<LoadedModel>(std::make_unique<LoadedModel::State>(*engine, model));
    made.request = make_request(made);
    check_units(*made.request->state().segments.front().whole);
    return made;
}

void GraphRun::State::prerun(std::span<const TensorMemory> inputs,
                             std::span<const TensorMemory> outputs, bool is_own) {
    std::unique_lock lock(mutex);
    require("prerun", {GraphState::created});
    refusals.clear();
    const Change change(*this);
    lock.unlock();
    std::shared_ptr<GraphTensors> tensors;
    if (is_own) {
        tensors = make_tensors(*model);
    } else {
        tensors = std::make_shared<GraphTensors>();
        tensors->inputs.assign(inputs.begin(), inputs.end());
        tensors->outputs.assign(outputs.begin(), outputs.end());
    }
    Prepared made = prepare(std::move(tensors)); // throws before anything is kept
    lock.lock();
    prepared.emplace(std::move(made));
    lock.unlock();
}

GraphRun::GraphRun(Engine& engine, std::shared_ptr<const Model> model, const TaskOptions& options)
    : state_(std::make_unique<State>(engine, std::move(model), options)) {
    if (!state_->engine->coordinated)
        throw Error(EINVAL, fmt::format("graph '{}': its engine has one queue; make one with "
                                        "EngineOptions::processors",
                                        state_->model->name()));
    if (options.deadline_ns != 0)
        throw Error(EINVAL, fmt::format("graph '{}': deadline_ns is one moment, and a graph runs "
                                        "often; give slo_ns",
                                        state_->model->name()));
}

GraphRun::~GraphRun() {
    if (!state_->origin.is_here())
        (void)state_.release();
}

const Model& GraphRun::model() const noexcept {
    return *state_->model;
}

void GraphRun::prerun() {
    state_->prerun({}, {}, true);
}

void GraphRun::prerun(std::span<const TensorMemory> inputs, std::span<const TensorMemory> outputs) {
    state_->prerun(inputs, outputs, false);
}

std::span<float> GraphRun::input(std::size_t index) {
    const std::lock_guard lock(state_->mutex);
    state_->require("input", {GraphState::ready, GraphState::done, GraphState::error});
    return state_->values<float>("input", state_->prepared->tensors->own_inputs, index);
}

std::span<const float> GraphRun::output(std::size_t index) {
    const std::lock_guard lock(state_->mutex);
    state_->require("output", {GraphState::ready, GraphState::done, GraphState::error});
    return state_->values<const float>("output", state_->prepared->tensors->own_outputs, index);
}

void GraphRun::run(bool block) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->require("run", {GraphState::ready, GraphState::done, GraphState::error});
        State::Prepared& prepared = *state_->prepared;
        if (prepared.is_submitted) { // the last request's memory is free
            const std::shared_ptr<Request> next = state_->make_request(prepared);
            next->submit(state_->options);
            prepared.request = next;
        } else {
            prepared.request->submit(state_->options);
            prepared.is_submitted = true;
        }
    }
    if (block)
        wait();
}

bool GraphRun::wait(std::int64_t deadline_ns) {
    std::shared_ptr<Request> request;
    {
        const std::lock_guard lock(state_->mutex);
        state_->require("wait", {GraphState::running, GraphState::done, GraphState::error});
        request = state_->prepared->request;
    }
    if (!request->wait(deadline_ns))
        return false;
    if (const std::int32_t status = request->status(); status != 0)
        throw Error(-status, state_->place("run") + ": " + failure_text(*request));
    return true;
}

void GraphRun::cancel() {
    state_->origin.require("graph");
    const std::lock_guard lock(state_->mutex);
    if (state_->prepared && state_->prepared->is_submitted)
        state_->prepared->request->cancel();
}

void GraphRun::postrun() {
    std::unique_lock lock(state_->mutex);
    state_->require("postrun", {GraphState::ready, GraphState::done, GraphState::error});
    const State::Change change(*state_); // until everything is released
    std::optional<State::Prepared> going;
    going.swap(state_->prepared);
    lock.unlock();
    going.reset();
}

GraphState GraphRun::state() const noexcept {
    if (!state_->origin.is_here())
        return GraphState::error;
    const std::lock_guard lock(state_->mutex);
    return state_->state();
}

std::string GraphRun::error() const {
    state_->origin.require("graph");
    const std::lock_guard lock(state_->mutex);
    return state_->prepared && state_->state() == GraphState::error
               ? failure_text(*state_->prepared->request)
               : std::string();
}

std::vector<UnitRefusal> GraphRun::refusals() const {
    state_->origin.require("graph");
    const std::lock_guard lock(state_->mutex);
    return state_->refusals;
}

std::vector<RunRecord> GraphRun::runs() const {
    state_->origin.require("graph");
    const std::lock_guard lock(state_->mutex);
    return state_->prepared ? state_->prepared->request->runs() : std::vector<RunRecord>();
}

} // namespace overtake
