// SPDX-License-Identifier: MIT
//
// A server's side of one connection, with a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "server/served_events.hpp"
#include "server/served_queue.hpp"
#include "server/served_tasks.hpp"

namespace overtake::server {

/// Who is at the other end, as the system says.
struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    std::vector<gid_t> groups;
    bool may_use_high = false;
    bool is_trusted = false; ///< root, or the server's own user: sees exact counters, and others
};

/// What one user's clients may have together, so that others have something, too.
struct UserShare {
    std::shared_ptr<MemoryAccount> memory;
    std::shared_ptr<KeptPlaces> places;
};

class ServedClient;

/// What all clients of a server share; outlives them.
struct SharedDevice {
    FirmwareHost& host;
    std::shared_ptr<std::atomic<bool>> ends; ///< the server
    std::string allowed;                     ///< who may use priority 255, in words
    /// Of the others, as far as this one may know of them.
    std::function<std::string(const ServedClient& asks)> status;
};

struct ClientStatus {
    Peer peer;
    std::size_t queues;
    std::size_t buffers;
    std::uint64_t jobs;
    std::size_t memory_bytes;
    /// Of service mode: sums over its queues.
    FirmwareHost::ProcessStatus tasks;
};

class ServedClient {
public:
    /// `id`: no other of the server's ever had or gets it.
    ServedClient(SharedDevice& device, std::uint64_t id, Descriptor connection, Peer peer,
                 UserShare share);

    /// Until the client or stop() closes the connection, or the client says what no client says.
    void run() noexcept;
    /// From any thread.
    void stop() noexcept;
    bool is_over() const noexcept { return over_.load(); }
    const Peer& peer() const noexcept { return peer_; }
    ClientStatus status() const;

private:
    struct Answer {
        std::array<std::uint64_t, 2> values{};
        std::string payload{};
        std::vector<int> descriptors{};
        std::function<void()> sent{}; ///< once the descriptors are the client's
    };

    bool serve_once();
    bool answer_request();
    Answer perform(const Request& request, Packet& packet);
    Answer create_buffer(Packet& packet);
    Answer create_queue(const Request& request);
    Answer create_tasks(const Request& request);
    Answer create_events(const Request& request);
    /// Throws Error if the client may not have it.
    void check_queue(const QueueOptions& options) const;
    template <class Served>
    Answer keep(std::map<std::uint64_t, std::unique_ptr<Served>>& kept,
                std::unique_ptr<Served> made);
    ServedQueue& queue(std::uint64_t id);
    template <class Served>
    void drop(std::map<std::uint64_t, std::unique_ptr<Served>>& kept, std::uint64_t id);
    std::string info() const;
    std::string cores();
    bool reply(std::int32_t code, const Answer& answer);

    SharedDevice& device_;
    Descriptor connection_;
    const Peer peer_;
    const UserShare share_;
    Client client_;
    bool said_hello_ = false;
    std::vector<pollfd> sources_; ///< with room for all, so that serving allocates nothing
    std::map<std::uint64_t, std::unique_ptr<ServedQueue>> queues_;
    std::map<std::uint64_t, std::unique_ptr<ServedTasks>> tasks_;
    std::map<std::uint64_t, std::unique_ptr<ServedEvents>> events_;
    mutable std::mutex status_mutex_; ///< of tasks_, which others look at for status()
    std::uint64_t next_queue_ = 1;
    std::vector<drm_overtake_core_info> coarse_cores_;
    std::uint64_t coarse_ns_ = 0;
    std::atomic<std::size_t> queue_count_ = 0;
    std::atomic<std::size_t> buffer_count_ = 0;
    std::atomic<bool> over_ = false;
};

} // namespace overtake::server
