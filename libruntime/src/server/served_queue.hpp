// SPDX-License-Identifier: MIT
//
// The server's side of a client's queue.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "embedded/firmware_host.hpp"
#include "embedded/recordings.hpp"
#include "server/client.hpp"
#include "server/read_wire.hpp"
#include "server/shared_memory.hpp"
#include "server/wire.hpp"

namespace overtake::server {

/// Belongs to the client's thread, except for completed().
class ServedQueue final : private CompletionSink {
public:
    /// Throws Error, as Device::create_queue().
    ServedQueue(FirmwareHost& host, Client& client, const QueueOptions& options);
    /// Ends its jobs, and waits for their ends.
    ~ServedQueue() override;
    ServedQueue(const ServedQueue&) = delete;
    ServedQueue& operator=(const ServedQueue&) = delete;

    int channel() const noexcept { return channel_.get(); }
    /// Descriptors for the client: of the area and of the channel.
    std::array<int, 2> client_descriptors() const noexcept {
        return {memory_.get(), client_end_.get()};
    }
    /// Called once the client has them.
    void forget_client_descriptors();

    /// Takes the jobs of a call, if there is one.  Throws Violation.
    void answer();
    bool cancel(std::uint64_t tag);
    void forget(std::uint32_t recording);

private:
    void completed(const Completion& completion,
                   const std::shared_ptr<EmbeddedJob>& job) noexcept override;
    void deliver() noexcept;
    void take_call(std::uint32_t bytes);
    void take_jobs(std::span<const std::byte> bytes);
    std::shared_ptr<EmbeddedJob> make(const Job& job, std::uint32_t recording,
                                      const JobBounds& bounds);
    void take_recording(const Job& job, std::uint32_t instances, const JobBounds& bounds);
    void say(std::size_t accepted, int code, const char* text);

    struct Completions {
        std::array<Completion, completion_entries> list;
        /// Groups that want a record, until it is written.
        std::array<std::shared_ptr<EmbeddedJob>, completion_entries> groups;
    };

    FirmwareHost& host_;
    Client& client_;
    const MemoryCharge charge_;
    Descriptor memory_;
    std::unique_ptr<GuardedMapping> mapping_;
    QueueArea* area_;
    Descriptor channel_;
    Descriptor client_end_;
    std::uint32_t answered_ = 0;
    std::uint32_t taken_ = 0; ///< jobs taken
    /// The jobs that have ended: written under the host's lock, read by the client's delivery.
    const std::unique_ptr<Completions> come_;
    std::atomic<std::uint32_t> come_tail_ = 0;
    std::atomic<std::uint32_t> delivered_ = 0;
    std::atomic<bool> is_brief_ = false; ///< the last job was brief
    std::array<unsigned, OVERTAKE_MAX_JOBS> chosen_cores_{};
    std::vector<std::shared_ptr<EmbeddedJob>> made_; ///< the jobs of one call
    Recordings recordings_;
    std::optional<Delivery::Source> news_;
    std::unique_ptr<EmbeddedContext> context_;
};

} // namespace overtake::server
