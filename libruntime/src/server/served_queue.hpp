// SPDX-License-Identifier: MIT
//
// A client's queue, on the server's side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "embedded/firmware_host.hpp"
#include "server/read_wire.hpp"
#include "server/shared_memory.hpp"
#include "server/wire.hpp"

namespace overtake::server {

/// What the queues and buffers of a client have in common.
struct Client {
    EmbeddedClient counts;
    std::shared_ptr<MemoryAccount> memory;
    /// The server ends: what the client holds together with it stays as it is.
    std::shared_ptr<const std::atomic<bool>> server_ends;
    std::shared_ptr<AddressSpace> addresses = std::make_shared<AddressSpace>();
};

/// Belongs to the client's thread, but for completed().
class ServedQueue final : private CompletionSink {
public:
    /// Throws Error, as Device::create_queue().
    ServedQueue(FirmwareHost& host, Client& client, const QueueOptions& options);
    /// Ends its jobs, and waits for that.
    ~ServedQueue() override;
    ServedQueue(const ServedQueue&) = delete;
    ServedQueue& operator=(const ServedQueue&) = delete;

    int channel() const noexcept { return channel_.get(); }
    /// For the client: the area's and the channel's descriptor.
    std::array<int, 2> client_descriptors() const noexcept {
        return {memory_.get(), client_end_.get()};
    }
    /// Once the client has them.
    void forget_client_descriptors();

    /// Takes the jobs of a call, if there is one.  Throws Violation.
    void answer();
    bool cancel(std::uint64_t tag);

private:
    void completed(const Completion& completion) noexcept override;
    void take_jobs(std::span<const std::byte> bytes);
    Job read_job(std::span<const std::byte> bytes, std::size_t& position, WireJob& wire);
    void say(std::size_t accepted, int code, const char* text);

    FirmwareHost& host_;
    Client& client_;
    Descriptor memory_;
    std::unique_ptr<GuardedMapping> mapping_;
    QueueArea* area_;
    Descriptor channel_;
    Descriptor client_end_;
    std::uint32_t answered_ = 0;
    std::uint32_t completion_tail_ = 0; ///< under the host's lock
    std::vector<std::byte> call_;
    std::vector<overtake_fc> fcs_;
    std::vector<overtake_binding> bindings_;
    std::array<unsigned, OVERTAKE_MAX_JOBS> chosen_cores_{};
    std::unique_ptr<EmbeddedContext> context_;
};

} // namespace overtake::server
