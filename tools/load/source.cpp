// SPDX-License-Identifier: MIT
#include "load/source.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace overtake::load {

namespace {

class SessionInference final : public Inference {
public:
    explicit SessionInference(Task task) : task_(std::move(task)) {}
    void start(const TaskOptions& options) override { task_.start(options); }
    std::int32_t status() const override { return task_.status(); }
    std::vector<Completion> completions() const override {
        return {task_.completions().begin(), task_.completions().end()};
    }
    std::uint64_t ended_ns() const override { return static_cast<std::uint64_t>(task_.ended_ns()); }

private:
    Task task_;
};

class SessionFirstEnd final : public FirstEnd {
public:
    explicit SessionFirstEnd(Session& session) : session_(session) {}
    void wait(std::span<Inference* const> /*running*/, std::int64_t deadline_ns) override {
        session_.wait_any(deadline_ns);
    }

private:
    Session& session_;
};

class SessionSource final : public Source {
public:
    explicit SessionSource(Session session)
        : own_(std::make_unique<Session>(std::move(session))), session_(*own_) {}
    explicit SessionSource(Session* session) : session_(*session) {}
    const Model& model() const override { return session_.model(); }
    std::size_t given_back_bytes() const override { return session_.given_back_bytes(); }
    std::unique_ptr<Inference> make() override {
        return std::make_unique<SessionInference>(session_.create_task());
    }
    std::unique_ptr<FirstEnd> first_end() override {
        return std::make_unique<SessionFirstEnd>(session_);
    }

private:
    std::unique_ptr<Session> own_;
    Session& session_;
};

/// Counts the ends that have been reported so far.
class Ends {
public:
    void add() {
        const std::lock_guard lock(mutex_);
        count_++;
        news_.notify_one();
    }
    std::uint64_t count() {
        const std::lock_guard lock(mutex_);
        return count_;
    }
    /// Waits until the count differs from `seen`.
    void wait(std::uint64_t seen, std::chrono::steady_clock::time_point deadline) {
        std::unique_lock lock(mutex_);
        news_.wait_until(lock, deadline, [&] { return count_ != seen; });
    }

private:
    std::mutex mutex_;
    std::condition_variable news_;
    std::uint64_t count_ = 0;
};

class EngineInference final : public Inference {
public:
    EngineInference(Device& device, std::shared_ptr<Engine> engine,
                    std::shared_ptr<LoadedModel> model)
        : engine_(std::move(engine)), model_(std::move(model)) {
        const Model& of = model_->model();
        for (const std::uint32_t number : of.inputs())
            inputs_.push_back(memory_of(device, of.tensors()[number]));
        for (const std::uint32_t number : of.outputs())
            outputs_.push_back(memory_of(device, of.tensors()[number]));
    }

    void start(const TaskOptions& options) override {
        is_submitted_ = false;
        is_told_ = false;
        request_ = engine_->create_request();
        request_->add(model_, inputs_, outputs_);
        request_->submit(options);
        is_submitted_ = true;
    }
    /// After the destructor, no thread uses the inference's arrays.
    ~EngineInference() override {
        if (!is_submitted_)
            return;
        request_->cancel();
        request_->wait();
    }
    bool wait(std::int64_t deadline_ns) { return request_->wait(deadline_ns); }
    bool is_told() const { return is_told_; }
    /// From now on, `ends` counts the end of the inference.
    void tell(const std::shared_ptr<Ends>& ends) {
        if (!std::exchange(is_told_, true))
            request_->on_end([ends] { ends->add(); });
    }
    std::int32_t status() const override { return request_->status(); }
    std::vector<Completion> completions() const override {
        std::vector<Completion> jobs;
        for (const SegmentRecord& segment : request_->segments())
            if (segment.on_bpu && segment.start_ns != 0)
                jobs.push_back(segment.job);
        return jobs;
    }
    std::uint64_t ended_ns() const override { return request_->ended_ns(); }

private:
    TensorMemory memory_of(Device& device, const Tensor& tensor) {
        TensorMemory memory;
        if (tensor.on_device() && !tensor.is_constant()) {
            buffers_.push_back(device.create_buffer(tensor.bytes));
            memory.form = TensorForm::device;
            memory.data = buffers_.back()->data();
            memory.address = buffers_.back()->address();
        } else {
            arrays_.push_back(std::make_unique<std::vector<float>>(tensor.elements()));
            memory.data = reinterpret_cast<std::byte*>(arrays_.back()->data());
        }
        return memory;
    }

    const std::shared_ptr<Engine> engine_;
    const std::shared_ptr<LoadedModel> model_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<std::unique_ptr<std::vector<float>>> arrays_;
    std::vector<TensorMemory> inputs_, outputs_;
    std::shared_ptr<overtake::Request> request_; ///< destroyed first
    bool is_submitted_ = false;
    bool is_told_ = false;
};

/// Waits first for the oldest inference, which usually ends first, and soon. If it does not, the
/// engine's thread reports ends, which would take time from short requests.
class EngineFirstEnd final : public FirstEnd {
public:
    void wait(std::span<Inference* const> running, std::int64_t deadline_ns) override {
        using std::chrono::steady_clock;
        constexpr std::int64_t soon_ns = 1'000'000;
        auto& oldest = static_cast<EngineInference&>(*running.front());
        if (running.size() == 1) {
            oldest.wait(deadline_ns);
            return;
        }
        const std::int64_t soon =
            std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count() + soon_ns;
        if (!oldest.is_told() && (oldest.wait(std::min(deadline_ns, soon)) || deadline_ns <= soon))
            return;
        const std::uint64_t seen = ends_->count();
        for (Inference* const each : running)
            static_cast<EngineInference*>(each)->tell(ends_);
        // An inference that ended before tell() is not missed.
        if (std::ranges::all_of(
                running, [](const Inference* each) { return each->status() == -EINPROGRESS; }))
            ends_->wait(seen, steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
    }

private:
    const std::shared_ptr<Ends> ends_ = std::make_shared<Ends>();
};

class EngineSource final : public Source {
public:
    EngineSource(std::shared_ptr<Device> device, std::shared_ptr<Engine> engine,
                 std::shared_ptr<LoadedModel> model)
        : device_(std::move(device)), engine_(std::move(engine)), model_(std::move(model)) {}
    const Model& model() const override { return model_->model(); }
    std::size_t given_back_bytes() const override { return model_->given_back_bytes(); }
    std::unique_ptr<Inference> make() override {
        return std::make_unique<EngineInference>(*device_, engine_, model_);
    }
    std::unique_ptr<FirstEnd> first_end() override { return std::make_unique<EngineFirstEnd>(); }
    bool has_one_place() const override { return engine_->processors().empty(); }

private:
    const std::shared_ptr<Device> device_;
    const std::shared_ptr<Engine> engine_;
    const std::shared_ptr<LoadedModel> model_;
};

} // namespace

std::unique_ptr<Source> session_source(Session session) {
    return std::make_unique<SessionSource>(std::move(session));
}

std::unique_ptr<Source> session_source_of(Session& session) {
    return std::make_unique<SessionSource>(&session);
}

std::unique_ptr<Source> engine_source(std::shared_ptr<Device> device,
                                      std::shared_ptr<Engine> engine,
                                      std::shared_ptr<LoadedModel> model) {
    return std::make_unique<EngineSource>(std::move(device), std::move(engine), std::move(model));
}

} // namespace overtake::load
