// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "overtake/expected_times.hpp"

namespace py = pybind11;

namespace overtake::python {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
/// The interval at which a wait checks for Ctrl-C.
constexpr std::int64_t slice_ns = second_ns / 10;

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::int64_t deadline_of(std::optional<double> timeout) {
    constexpr double century_s = 3.2e9;
    if (!timeout || *timeout > century_s)
        return deadline_never;
    if (!(*timeout >= 0))
        return 0;
    return now_ns() + static_cast<std::int64_t>(std::ceil(*timeout * second_ns));
}

std::string names_of(const Model& model, std::span<const std::uint32_t> numbers) {
    std::vector<std::string> names;
    for (const std::uint32_t number : numbers)
        names.push_back(fmt::format("'{}'", model.tensors()[number].name));
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string reason_of(const Request& request) {
    const std::string error = request.error();
    if (!error.empty())
        return error;
    if (request.status() == -ECANCELED)
        return "it was cancelled";
    if (request.status() == -ETIME)
        return "it was dropped, since its deadline (slo) had passed or could not be met";
    return std::strerror(-request.status());
}

} // namespace

SessionState::SessionState(std::shared_ptr<Device> device, std::shared_ptr<const Model> model,
                           const EngineOptions& options, const std::string& times)
    : engine_(std::make_shared<Engine>(std::move(device), options)),
      loaded_(times.empty() ? engine_->load(model)
                            : engine_->load(model, ExpectedTimes::read(times))) {
    if (options.record < 2)
        model_ = std::move(model);
    else // the loaded model keeps only the parts that running needs
        model_ = std::shared_ptr<const Model>(loaded_, &loaded_->model());
}

SessionState::~SessionState() {
    close();
}

std::shared_ptr<Engine> SessionState::engine() const {
    if (!engine_)
        throw Error(EINVAL, "session: it is closed; make another one");
    return engine_;
}

void SessionState::keep(std::shared_ptr<Request> request, std::vector<py::array> arrays) {
    kept_.push_back({std::move(request), std::move(arrays)});
}

void SessionState::collect() {
    std::vector<Kept> over;
    const auto running = std::partition(kept_.begin(), kept_.end(), [](const Kept& kept) {
        return kept.request->status() == -EINPROGRESS;
    });
    std::move(running, kept_.end(), std::back_inserter(over));
    kept_.erase(running, kept_.end());
    // The arrays are dropped only here: dropping one may run Python code, which may call this
    // function again.
}

void SessionState::close() {
    std::shared_ptr<Engine> engine = std::move(engine_);
    std::shared_ptr<LoadedModel> loaded = std::move(loaded_);
    if (engine) {
        const py::gil_scoped_release released;
        loaded.reset();
        engine.reset();
    }
    collect();
}

Task::Task(std::shared_ptr<SessionState> session, const py::dict& inputs,
           const TaskOptions& options, const std::shared_ptr<Notifier>& notifier,
           std::uint64_t token)
    : session_(std::move(session)) {
    // The engine is kept until the request is submitted, so that closing the session does not lose
    // the request's end.
    std::shared_ptr<Engine> engine = session_->engine();
    request_ = engine->create_request();
    session_->collect();
    const std::vector<TensorMemory> from = lend_inputs(inputs);
    const std::vector<TensorMemory> to = make_outputs();
    const std::shared_ptr<LoadedModel> loaded = session_->loaded();
    const py::gil_scoped_release released;
    request_->add(loaded, from, to);
    if (notifier)
        request_->on_end([notifier, token] { notifier->ended(token); });
    request_->submit(options);
    engine.reset();
}

Task::~Task() {
    if (is_done())
        return;
    {
        const py::gil_scoped_release released;
        request_->cancel();
    }
    std::move(outputs_.begin(), outputs_.end(), std::back_inserter(inputs_));
    session_->keep(std::move(request_), std::move(inputs_));
}

std::vector<TensorMemory> Task::lend_inputs(const py::dict& inputs) {
    const Model& model = *session_->model();
    std::vector<TensorMemory> memory;
    for (const std::uint32_t number : model.inputs()) {
        const Tensor& tensor = model.tensors()[number];
        const py::str name{std::string(tensor.name)};
        if (!inputs.contains(name))
            throw Error(EINVAL, fmt::format("input '{}': it is missing", tensor.name));
        LentArray lent = lend_input(tensor, inputs[name]);
        inputs_.push_back(std::move(lent.array));
        memory.push_back(lent.memory);
    }
    if (inputs.size() != memory.size())
        for (const auto& [key, value] : inputs) {
            const auto is_named = [name = py::str(key).cast<std::string>(),
                                   &model](std::uint32_t number) {
                return model.tensors()[number].name == name;
            };
            if (std::ranges::none_of(model.inputs(), is_named))
                throw Error(EINVAL, fmt::format("input '{}': {} has no such input; it has {}",
                                                py::str(key).cast<std::string>(), model.name(),
                                                names_of(model, model.inputs())));
        }
    return memory;
}

std::vector<TensorMemory> Task::make_outputs() {
    std::vector<TensorMemory> memory;
    for (const std::uint32_t number : session_->model()->outputs()) {
        LentArray lent = make_output(session_->model()->tensors()[number]);
        outputs_.push_back(std::move(lent.array));
        memory.push_back(lent.memory);
    }
    return memory;
}

bool Task::wait(std::optional<double> timeout) const {
    const std::int64_t deadline = deadline_of(timeout);
    // Another thread may drop the last reference to the Task meanwhile.
    const std::shared_ptr<Request> request = request_;
    for (;;) {
        {
            const py::gil_scoped_release released;
            if (request->wait(std::min(deadline, now_ns() + slice_ns)))
                return true;
        }
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
        if (now_ns() >= deadline)
            return false;
    }
}

void Task::cancel() {
    const std::shared_ptr<Request> request = request_;
    const py::gil_scoped_release released;
    request->cancel();
}

py::dict Task::result(std::optional<double> timeout) const {
    if (!wait(timeout)) {
        PyErr_SetString(PyExc_TimeoutError, "task: it has not ended yet");
        throw py::error_already_set();
    }
    if (const std::int32_t status = request_->status(); status != 0)
        throw Error(-status, "task: " + reason_of(*request_));
    const Model& model = *session_->model();
    py::dict dict;
    for (std::size_t i = 0; i < outputs_.size(); i++)
        dict[py::str(std::string(model.tensors()[model.outputs()[i]].name))] = outputs_[i];
    return dict;
}

} // namespace overtake::python
