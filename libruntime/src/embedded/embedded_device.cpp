// SPDX-License-Identifier: MIT
//
// The embedded device: cores of its own inside this process.
#include <cerrno>
#include <unistd.h>

#include "embedded/core_faults.hpp"
#include "embedded/embedded_events.hpp"
#include "embedded/firmware_host.hpp"
#include "embedded/job.hpp"
#include "embedded/memory.hpp"
#include "embedded/recordings.hpp"
#include "overtake/device.hpp"
#include "process_bound.hpp"
#include "refusal.hpp"

namespace overtake {

namespace {

class EmbeddedDevice;

class EmbeddedBuffer final : public Buffer {
public:
    EmbeddedBuffer(std::shared_ptr<AddressSpace> addresses, std::shared_ptr<Allocation> allocation)
        : addresses_(std::move(addresses)) {
        data_ = allocation->data();
        size_ = allocation->size();
        address_ = addresses_->map(std::move(allocation));
    }
    ~EmbeddedBuffer() override { addresses_->unmap(address_); }

private:
    std::shared_ptr<AddressSpace> addresses_;
};

class EmbeddedClock final : public ManualClock {
public:
    explicit EmbeddedClock(FirmwareHost& host) : host_(host) {}
    std::uint64_t now_ns() const override { return host_.manual_now(); }
    void advance_to(std::uint64_t now_ns) override { host_.advance_to(now_ns); }

private:
    FirmwareHost& host_;
};

class EmbeddedDevice final : public Device, public std::enable_shared_from_this<EmbeddedDevice> {
public:
    explicit EmbeddedDevice(const EmbeddedOptions& options, std::vector<ovt_profile> profiles = {})
        : host(options, {}, std::move(profiles)), clock_(host) {
        client.pid = static_cast<std::uint32_t>(getpid());
    }

    std::string_view backend() const noexcept override { return "embedded"; }
    drm_overtake_device_info info() const override { return host.info(); }
    std::vector<drm_overtake_core_info> cores() const override { return host.cores(); }
    std::vector<drm_overtake_core_profile> core_profiles() const override {
        return host.core_profiles();
    }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override;
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override;
    std::unique_ptr<EventSource> events(const EventOptions& options) override {
        return make_embedded_events(shared_from_this(), host, options);
    }
    ManualClock* manual_clock() noexcept override {
        return host.has_manual_clock() ? &clock_ : nullptr;
    }

    // Used by its queues.
    mutable FirmwareHost host;
    EmbeddedClient client;
    const std::shared_ptr<MemoryAccount> account = std::make_shared<MemoryAccount>();
    const std::shared_ptr<AddressSpace> addresses = std::make_shared<AddressSpace>();
    const std::shared_ptr<ScratchMemory> scratch =
        ScratchMemory::make(account, host.info().mode != OVERTAKE_MODE_TIMED);

private:
    EmbeddedClock clock_;
};

class EmbeddedQueue final : public Queue {
public:
    EmbeddedQueue(std::shared_ptr<EmbeddedDevice> device, const QueueOptions& options)
        : device_(std::move(device)),
          recordings_(device_->addresses, device_->account, JobCharge::scratch),
          context_(device_->host.open_context(options, device_->client)) {}
    ~EmbeddedQueue() override { device_->host.close_context(*context_); }

    void submit(std::span<const Job> jobs) override;
    std::size_t reap(std::span<Completion> out, std::int64_t deadline_ns) override;
    bool cancel(std::uint64_t tag) override { return device_->host.cancel(*context_, tag); }
    std::size_t in_flight() const noexcept override { return device_->host.in_flight(*context_); }
    void interrupt() override {
        require_interruptible(context_->options);
        device_->host.interrupt(*context_);
    }
    std::uint32_t record(const Job& job, unsigned instances) override {
        return recordings_.record(job, instances, bounds());
    }
    void replay(std::span<const Replay> replays) override;
    void forget(std::uint32_t recording) override { recordings_.forget(recording); }

private:
    JobBounds bounds() const {
        return {.cores = device_->host.core_count(),
                .max_priority = context_->options.max_priority};
    }
    template <class Item, class Make>
    void submit_made(std::span<const Item> items, Make make);

    std::shared_ptr<EmbeddedDevice> device_;
    Recordings recordings_;
    std::vector<std::shared_ptr<EmbeddedJob>> made_; ///< the jobs of one call
    std::unique_ptr<EmbeddedContext> context_;
};

std::unique_ptr<Buffer> EmbeddedDevice::create_buffer(std::size_t bytes) {
    if (const auto refusal = buffer_refusal(bytes))
        throw *refusal;
    return std::make_unique<EmbeddedBuffer>(addresses,
                                            std::make_shared<PrivateAllocation>(account, bytes));
}

std::unique_ptr<Queue> EmbeddedDevice::create_queue(const QueueOptions& options) {
    return std::make_unique<EmbeddedQueue>(shared_from_this(), options);
}

/// Submits the jobs that `make` makes of the items.  If an item is refused, the jobs before it are
/// in flight.
template <class Item, class Make>
void EmbeddedQueue::submit_made(std::span<const Item> items, Make make) {
    struct ClearAtEnd {
        std::vector<std::shared_ptr<EmbeddedJob>>& made;
        ~ClearAtEnd() { made.clear(); }
    } clear_at_end{made_};
    try {
        for (const Item& item : items)
            made_.push_back(make(item));
    } catch (const Error&) {
        device_->host.submit(*context_, made_);
        throw;
    }
    device_->host.submit(*context_, made_);
}

void EmbeddedQueue::submit(std::span<const Job> jobs) {
    submit_made(jobs, [&](const Job& job) {
        return make_job(job, bounds(), *device_->addresses, *device_->scratch);
    });
}

void EmbeddedQueue::replay(std::span<const Replay> replays) {
    submit_made(replays, [&](const Replay& replay) {
        return recordings_.replay(replay, bounds(), [&] {
            device_->host.submit(*context_, {}); // lets the firmware answer a CANCEL
        });
    });
}

std::size_t EmbeddedQueue::reap(std::span<Completion> out, std::int64_t deadline_ns) {
    if (deadline_ns < 0)
        throw Error(EINVAL, "reap: negative deadline");
    return device_->host.reap(*context_, out, deadline_ns);
}

class EmbeddedFaults final : public CoreFaults {
public:
    explicit EmbeddedFaults(std::shared_ptr<EmbeddedDevice> device) : device_(std::move(device)) {}
    void fail(unsigned core) override { device_->host.fail_core(core); }
    void recover(unsigned core) override { device_->host.recover_core(core); }
    void throttle(unsigned core, unsigned percent) override {
        device_->host.throttle_core(core, percent);
    }

private:
    std::shared_ptr<EmbeddedDevice> device_;
};

} // namespace

std::shared_ptr<Device> open_embedded(const EmbeddedOptions& options) {
    return bind_to_process(std::make_shared<EmbeddedDevice>(options));
}

FaultyDevice open_faulty(const EmbeddedOptions& options, std::vector<ovt_profile> profiles) {
    if (!profiles.empty() && profiles.size() != options.cores)
        throw Error(EINVAL, "embedded device: as many profiles as cores are needed");
    auto device = std::make_shared<EmbeddedDevice>(options, std::move(profiles));
    return {.device = bind_to_process(device), .faults = std::make_shared<EmbeddedFaults>(device)};
}

} // namespace overtake
