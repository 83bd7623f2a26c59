// SPDX-License-Identifier: MIT
//
// The server's side of a client's queue of service mode.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "server/served_queue.hpp"

namespace overtake::server {

/// Counts the queues of a user for which a place of the task limit is kept.  Thread safe.
class KeptPlaces {
public:
    explicit KeptPlaces(std::size_t most) : most_(most) {}

private:
    friend class KeptPlace;

    const std::size_t most_;
    std::atomic<std::size_t> held_ = 0;
};

/// Keeps a place while the object lives, if one was left.
class KeptPlace {
public:
    explicit KeptPlace(std::shared_ptr<KeptPlaces> places)
        : places_(std::move(places)), is_held_(places_->held_.fetch_add(1) < places_->most_) {}
    ~KeptPlace() { places_->held_--; }
    KeptPlace(const KeptPlace&) = delete;
    KeptPlace& operator=(const KeptPlace&) = delete;
    bool is_held() const noexcept { return is_held_; }

private:
    const std::shared_ptr<KeptPlaces> places_;
    const bool is_held_;
};

/// Belongs to the client's thread, except for the wake-ups of its process.
class ServedTasks {
public:
    /// Throws Error, as Device::create_service_queue().
    ServedTasks(FirmwareHost& host, Client& client, const QueueOptions& options,
                std::uint32_t workers, std::shared_ptr<KeptPlaces> places);
    /// Ends its tasks, and waits for their ends.
    ~ServedTasks();
    ServedTasks(const ServedTasks&) = delete;
    ServedTasks& operator=(const ServedTasks&) = delete;

    int channel() const noexcept { return channel_.get(); }
    /// Descriptors for the client: of the area and of the channel.
    std::array<int, 2> client_descriptors() const noexcept {
        return {memory_.get(), client_end_.get()};
    }
    /// Called once the client has them.
    void forget_client_descriptors();

    /// Performs a call, if there is one.  Throws Violation.
    void answer();
    FirmwareHost::ProcessStatus status() const { return host_.status_of(process_); }

private:
    void deliver() noexcept;
    void perform(std::uint32_t operation, std::span<const std::byte> bytes);
    void submit(std::span<const std::byte> bytes);
    std::uint32_t add_segment(HostedTask& task, std::size_t index, const WireTask& wire,
                              std::span<const std::byte> bytes, std::size_t& position);
    void add_job(HostedTask& task, std::size_t index, const Job& job);
    void tell_events();
    void cpu_done(const WireCpuDone& done);
    void say(std::int32_t code, const char* text);

    FirmwareHost& host_;
    Client& client_;
    MemoryCharge charge_; ///< charged for the area and for the process's data
    const KeptPlace place_;
    Descriptor memory_;
    std::unique_ptr<GuardedMapping> mapping_;
    TaskArea* area_;
    Descriptor channel_;
    Descriptor client_end_;
    std::uint32_t answered_ = 0;
    std::uint32_t delivered_ = 0;                            ///< the value of TaskArea::news
    std::unordered_map<std::uint64_t, std::uint64_t> costs_; ///< by key, of programs not run
    std::optional<Delivery::Source> news_;
    std::unique_ptr<EmbeddedContext> context_;
    HostedProcess process_;
};

} // namespace overtake::server
