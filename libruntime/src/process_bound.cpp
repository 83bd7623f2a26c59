// SPDX-License-Identifier: MIT
#include "process_bound.hpp"

#include <utility>
#include <vector>

#include "fork_origin.hpp"
#include "overtake/event_source.hpp"
#include "overtake/service.hpp"

namespace overtake {

namespace {

/// An object of a backend.  A child of fork() calls none of its functions, not even its destructor.
template <class Object>
class Bound {
public:
    explicit Bound(std::unique_ptr<Object> object) : object_(object.release()) {}

    Object& use(const char* what) const {
        origin_.require(what);
        return *object_;
    }
    bool is_here() const noexcept { return origin_.is_here(); }
    /// Only for calls that take no lock.
    Object& anywhere() const noexcept { return *object_; }

private:
    ForkOrigin origin_;
    std::unique_ptr<Object, DeleteWhereMade<Object>> object_;
};

class BoundBuffer final : public Buffer {
public:
    explicit BoundBuffer(std::unique_ptr<Buffer> buffer) : buffer_(std::move(buffer)) {
        data_ = buffer_.anywhere().data();
        size_ = buffer_.anywhere().size();
        address_ = buffer_.anywhere().address();
    }

private:
    Bound<Buffer> buffer_;
};

class BoundQueue final : public Queue {
public:
    explicit BoundQueue(std::unique_ptr<Queue> queue) : queue_(std::move(queue)) {}

    void submit(std::span<const Job> jobs) override { queue_.use(name).submit(jobs); }
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override {
        return queue_.use(name).reap(out, deadline_ns);
    }
    bool cancel(std::uint64_t tag) override { return queue_.use(name).cancel(tag); }
    std::size_t in_flight() const noexcept override {
        return queue_.is_here() ? queue_.anywhere().in_flight() : 0;
    }
    void interrupt() override { queue_.use(name).interrupt(); }
    std::uint32_t record(const Job& job, unsigned instances) override {
        return queue_.use(name).record(job, instances);
    }
    void replay(std::span<const Replay> replays) override { queue_.use(name).replay(replays); }
    void forget(std::uint32_t recording) override { queue_.use(name).forget(recording); }

private:
    static constexpr const char* name = "queue";
    Bound<Queue> queue_;
};

class BoundServiceQueue final : public ServiceQueue {
public:
    explicit BoundServiceQueue(std::unique_ptr<ServiceQueue> queue) : queue_(std::move(queue)) {}

    const ServiceSettings& settings() const noexcept override {
        return queue_.anywhere().settings();
    }
    void submit(const ServiceTask& task) override { queue_.use(name).submit(task); }
    std::vector<ServiceEvent> reap(std::int64_t deadline_ns) override {
        return queue_.use(name).reap(deadline_ns);
    }
    void cpu_done(std::uint64_t tag, std::uint32_t segment, std::int32_t status) override {
        queue_.use(name).cpu_done(tag, segment, status);
    }
    bool cancel(std::uint64_t tag) override { return queue_.use(name).cancel(tag); }
    std::size_t live() const noexcept override {
        return queue_.is_here() ? queue_.anywhere().live() : 0;
    }
    void interrupt() override { queue_.use(name).interrupt(); }

private:
    static constexpr const char* name = "service queue";
    Bound<ServiceQueue> queue_;
};

class BoundEvents final : public EventSource {
public:
    explicit BoundEvents(std::unique_ptr<EventSource> source) : source_(std::move(source)) {}

    std::size_t read(std::span<Event> out, std::int64_t deadline_ns) override {
        return source_.use("events").read(out, deadline_ns);
    }
    std::uint64_t lost() const noexcept override {
        return source_.is_here() ? source_.anywhere().lost() : 0;
    }

private:
    Bound<EventSource> source_;
};

class BoundClock final : public ManualClock {
public:
    explicit BoundClock(ManualClock& clock) : clock_(clock) {}

    std::uint64_t now_ns() const override {
        origin_.require("manual clock");
        return clock_.now_ns();
    }
    void advance_to(std::uint64_t now_ns) override {
        origin_.require("manual clock");
        clock_.advance_to(now_ns);
    }

private:
    ForkOrigin origin_;
    ManualClock& clock_;
};

class BoundDevice final : public Device {
public:
    explicit BoundDevice(std::shared_ptr<Device> device)
        : device_(std::make_unique<std::shared_ptr<Device>>(std::move(device))) {
        if (ManualClock* clock = inner().manual_clock())
            clock_ = std::make_unique<BoundClock>(*clock);
    }

    std::string_view backend() const noexcept override { return inner().backend(); }
    drm_overtake_device_info info() const override { return use().info(); }
    std::vector<drm_overtake_core_info> cores() const override { return use().cores(); }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        return std::make_unique<BoundBuffer>(use().create_buffer(bytes));
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        return std::make_unique<BoundQueue>(use().create_queue(options));
    }
    ManualClock* manual_clock() noexcept override { return clock_.get(); }
    std::unique_ptr<ServiceQueue>
    create_service_queue(const ServiceQueueOptions& options) override {
        return std::make_unique<BoundServiceQueue>(use().create_service_queue(options));
    }
    std::unique_ptr<EventSource> events(const EventOptions& options) override {
        return std::make_unique<BoundEvents>(use().events(options));
    }
    std::vector<drm_overtake_core_profile> core_profiles() const override {
        return use().core_profiles();
    }
    bool takes_groups() const noexcept override { return inner().takes_groups(); }
    bool records() const noexcept override { return inner().records(); }

    Device& use() const { return *device_.use("device"); }

private:
    Device& inner() const noexcept { return *device_.anywhere(); }

    /// Shared, since the objects that a backend makes keep its device.
    Bound<std::shared_ptr<Device>> device_;
    std::unique_ptr<BoundClock> clock_;
};

} // namespace

std::shared_ptr<Device> bind_to_process(std::shared_ptr<Device> device) {
    return std::make_shared<BoundDevice>(std::move(device));
}

Device& unbound(Device& device) {
    const auto* const bound = dynamic_cast<const BoundDevice*>(&device);
    return bound ? bound->use() : device;
}

} // namespace overtake
