// SPDX-License-Identifier: MIT
#include "embedded/embedded_events.hpp"

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>

#include "embedded/memory.hpp"
#include "monotonic_clock.hpp"

namespace overtake {

namespace {

class EmbeddedEvents final : public EventSource {
public:
    EmbeddedEvents(std::shared_ptr<Device> device, FirmwareHost& host, std::uint32_t capacity)
        : device_(std::move(device)), host_(host),
          memory_(std::make_shared<MemoryAccount>(), event_ring_bytes(capacity)),
          area_(*new (memory_.data()) EventArea{}), reader_(area_, capacity),
          writer_(area_, capacity, [this] { wake(); }) {
        host_.watch(writer_);
    }
    ~EmbeddedEvents() override { host_.forget(writer_); }

    std::size_t read(std::span<Event> out, std::int64_t deadline_ns) override {
        if (deadline_ns < 0)
            throw Error(EINVAL, "events: negative deadline");
        const auto deadline = static_cast<std::uint64_t>(deadline_ns);
        std::size_t count = reader_.take(out);
        if (count != 0 || out.empty())
            return count;
        std::unique_lock lock(mutex_);
        while (monotonic_ns() < deadline) {
            reader_.waits().store(1);
            if (!reader_.is_empty())
                break;
            wait_until(changed_, lock, deadline);
        }
        return reader_.take(out);
    }
    std::uint64_t lost() const noexcept override { return reader_.lost(); }

private:
    void wake() {
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
    }

    std::shared_ptr<Device> device_;
    FirmwareHost& host_;
    PrivateAllocation memory_; ///< zeroed pages, present once they are written
    EventArea& area_;
    EventReader reader_;
    EventWriter writer_;
    std::mutex mutex_; ///< the device takes it under its own lock
    std::condition_variable changed_;
};

} // namespace

std::unique_ptr<EventSource> make_embedded_events(std::shared_ptr<Device> device,
                                                  FirmwareHost& host, const EventOptions& options) {
    return std::make_unique<EmbeddedEvents>(std::move(device), host, ring_capacity(options));
}

} // namespace overtake
