// SPDX-License-Identifier: MIT
//
// The server's side of one connection, with a thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "server/closer.hpp"
#include "server/event_flag.hpp"
#include "server/served_events.hpp"
#include "server/served_queue.hpp"
#include "server/served_tasks.hpp"

namespace overtake::server {

/// The process at the other end, as the system reports it.
struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    std::vector<gid_t> groups;
    bool may_use_high = false;
    bool is_trusted = false; ///< root, or the server's own user: sees exact counters, and others
};

/// The share of one user's clients together, so that other users have a share, too.
struct UserShare {
    std::shared_ptr<MemoryAccount> memory;
    std::shared_ptr<KeptPlaces> places;
    std::shared_ptr<Closer> closer; ///< closes descriptors that the server does not keep
};

class ServedClient;

/// A page of the status, which is valid JSON by itself.  `clients_begin`: where the texts of
/// clients begin, which end before the last two characters.  `last`: the last client of this page
/// if there are more clients, else 0.
struct StatusPage {
    std::string text;
    std::size_t clients_begin = 0;
    std::uint64_t last = 0;
};

/// The list of connected clients, which each of them may ask for.
class ClientList {
public:
    virtual StatusPage status(const ServedClient& asks, std::uint64_t after) = 0;
    virtual void deliver_all() = 0;

protected:
    ~ClientList() = default;
};

/// The data that all clients of a server share.  It lives as long as one of their threads does.
struct SharedDevice {
    SharedDevice(const EmbeddedOptions& options, const SharedOptions& shared, std::string who)
        : host(options, shared), computes(options.mode != OVERTAKE_MODE_TIMED),
          allowed(std::move(who)) {}

    FirmwareHost host;
    const bool computes; ///< the cores write results and scratch
    const std::shared_ptr<std::atomic<bool>> ends = std::make_shared<std::atomic<bool>>(false);
    const std::string allowed; ///< the users who may use priority 255, in words
    EventFlag ended;           ///< each client raises it when it is over

    /// Returns other clients, as far as this one may know of them, and as many as a reply has room
    /// for.  `after`: the last client of the previous page; 0: begins with the first client.
    StatusPage status(const ServedClient& asks, std::uint64_t after);
    /// Delivers everything that has come to any client.  For a manual clock, under which nothing
    /// else waits.
    void deliver_all();

    /// The server's list of clients, for both functions; null once the server has ended.
    std::mutex list_mutex;
    ClientList* list = nullptr;
};

struct ClientStatus {
    Peer peer;
    std::size_t queues;
    std::size_t buffers;
    std::uint64_t jobs;
    std::size_t memory_bytes;
    BusyTimes busy;
    /// Service mode: sums over its queues.
    FirmwareHost::ProcessStatus tasks;
};

class ServedClient {
public:
    /// `id`: no other client of the server ever has the same.  Throws Error ENOSPC if its user has
    /// no memory for a connection.
    ServedClient(std::shared_ptr<SharedDevice> device, std::uint64_t id, Peer peer,
                 UserShare share);

    /// Takes its connection, once, before run().
    void take(Descriptor connection) { connection_ = std::move(connection); }
    /// Returns the connection of a client whose thread did not start.
    Descriptor give_back() { return std::move(connection_); }

    /// Serves until the client or stop() closes the connection, or the client breaks the protocol.
    void run() noexcept;
    /// Ends the connection.  Any thread may call it.
    void stop() noexcept;
    bool is_over() const noexcept { return over_.load(); }
    /// Whether the client has closed its end; is_over() may still be false.
    bool has_hung_up() const noexcept;
    void deliver() { client_.delivery.flush(); }
    const Peer& peer() const noexcept { return peer_; }
    std::uint64_t id() const noexcept { return client_.counts.id; }
    ClientStatus status() const;

private:
    struct Answer {
        std::array<std::uint64_t, 2> values{};
        std::string payload{};
        std::vector<int> descriptors{};
        std::function<void()> sent{}; ///< called once the client has the descriptors
    };

    bool serve_once();
    bool answer_request();
    Answer perform(const Request& request, Packet& packet);
    Answer status_page(std::uint64_t after) const;
    Answer create_buffer(Packet& packet);
    Answer create_queue(const Request& request);
    Answer create_tasks(const Request& request);
    Answer create_events(const Request& request);
    /// Throws Error if the client may not have the queue.
    void check_queue(const QueueOptions& options) const;
    template <class Served>
    Answer keep(std::map<std::uint64_t, std::unique_ptr<Served>>& kept,
                std::unique_ptr<Served> made);
    ServedQueue& queue(std::uint64_t id);
    template <class Served>
    void drop(std::map<std::uint64_t, std::unique_ptr<Served>>& kept, std::uint64_t id);
    std::string info() const;
    std::string cores() const;
    bool reply(std::int32_t code, const Answer& answer);

    const std::shared_ptr<SharedDevice> device_;
    mutable std::mutex connection_mutex_; ///< held while it is closed
    Descriptor connection_;
    const Peer peer_;
    const UserShare share_;
    Client client_;
    std::optional<MemoryCharge> charge_; ///< for the connection
    bool said_hello_ = false;
    std::vector<pollfd> sources_; ///< has room for all, so that serving allocates nothing
    std::map<std::uint64_t, std::unique_ptr<ServedQueue>> queues_;
    std::map<std::uint64_t, std::unique_ptr<ServedTasks>> tasks_;
    std::map<std::uint64_t, std::unique_ptr<ServedEvents>> events_;
    mutable std::mutex status_mutex_; ///< protects tasks_, which status() of others reads
    std::uint64_t next_queue_ = 1;
    std::atomic<std::size_t> queue_count_ = 0;
    std::atomic<std::size_t> buffer_count_ = 0;
    std::atomic<bool> over_ = false;
};

} // namespace overtake::server
