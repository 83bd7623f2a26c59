// SPDX-License-Identifier: MIT
#include "overtake/server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "monotonic_clock.hpp"
#include "server/served_client.hpp"

namespace overtake::server {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t server_fc_clock_ns = 2'000'000'000;
/// As a driver's: a minute.
constexpr std::uint64_t server_job_max_ns = 60'000'000'000;
constexpr std::uint64_t idle_ns_per_s = 1'000'000'000;
constexpr int ms_per_s = 1000;
constexpr int ms_until_descriptors = 100;
/// Of all clients' buffers and scratch: the system's default is 65,530 in a process.
constexpr std::size_t most_mappings = 49'152;
constexpr rlim_t own_descriptors = 64;
constexpr unsigned places_for_trusted = 4; ///< beside --clients: so that somebody can look

/// As many descriptors as the clients may have queues, if the system lets us.
void raise_descriptor_limit(unsigned clients) {
    const rlim_t wanted =
        own_descriptors + rlim_t{clients + places_for_trusted} * (OVERTAKE_MAX_CONTEXTS + 2);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
}

[[noreturn]] void fail_with_errno(const std::string& what, int code = errno) {
    throw Error(code, fmt::format("{}: {}", what, std::strerror(code)));
}

std::size_t half_of_memory() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2;
}

EmbeddedOptions device_options(const ServerOptions& options) {
    EmbeddedOptions device = options.device;
    if (device.fc_clock_ns == 0)
        device.fc_clock_ns = server_fc_clock_ns;
    return device;
}

SharedOptions shared_options(const ServerOptions& options) {
    return {
        .clients = std::max(options.clients, 1u) + places_for_trusted,
        // Its time passes as fast as somebody likes.
        .job_max_ns = options.device.manual_clock ? OVT_TIME_NEVER : server_job_max_ns,
        .service = ServiceOptions{.policy = options.policy, .settings = options.service},
    };
}

std::vector<gid_t> groups_of(int connection) {
    socklen_t bytes = 0;
    getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, nullptr, &bytes);
    std::vector<gid_t> groups(bytes / sizeof(gid_t));
    if (!groups.empty() &&
        getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) != 0)
        groups.clear();
    return groups;
}

std::string tasks_json(const FirmwareHost::ProcessStatus& tasks) {
    const ovt_service_counts& counts = tasks.counts;
    return fmt::format(R"({{"waiting": {}, "ready": {}, "dispatched": {}, "overdue": {}, )"
                       R"("slots": {}, "uncollected": {}, "ended": {}, "waited_ns": {}, )"
                       R"("overdue_ever": {}}})",
                       counts.waiting, counts.ready, counts.dispatched, counts.overdue,
                       counts.slots, counts.uncollected, tasks.ended, tasks.waited_ns,
                       tasks.overdue);
}

std::string allowed_text(const ServerOptions& options) {
    std::string text = fmt::format("the device server allows it to root and to user {}", getuid());
    if (!options.high_users.empty())
        text += fmt::format(", to users {}", fmt::join(options.high_users, ", "));
    if (!options.high_groups.empty())
        text += fmt::format(", to groups {}", fmt::join(options.high_groups, ", "));
    return text + " (overtake serve --allow-high USER, --allow-high-group GROUP)";
}

} // namespace

/// A socket at a path.  A lock beside it says whether the server that made it is still there.
class Listener {
public:
    Listener(const std::string& path, int given) : path_(path) {
        if (given >= 0) {
            socket_ = Descriptor(given);
            check_given();
            return;
        }
        const sockaddr_un address = address_of(path);
        make_room_at(path);
        lock_ = Descriptor(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!lock_)
            fail_with_errno(fmt::format("{}.lock", path));
        if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
            throw Error(EADDRINUSE,
                        fmt::format("{}: a device server is there already: stop it, or choose "
                                    "another --socket",
                                    path));
        unlink(path.c_str()); // of one that is gone
        socket_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket_ ||
            bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
                0 ||
            chmod(path.c_str(), 0666) != 0 || // what a client may do is asked of the client
            listen(socket_.get(), SOMAXCONN) != 0)
            fail_with_errno(path);
        is_made_here_ = true;
    }
    ~Listener() {
        if (!is_made_here_)
            return;
        unlink(path_.c_str()); // the lock's file stays: somebody may be waiting to try it
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    int get() const noexcept { return socket_.get(); }

private:
    void check_given() const {
        int type = 0;
        int listens = 0;
        socklen_t bytes = sizeof(int);
        if (getsockopt(socket_.get(), SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
            type != SOCK_SEQPACKET ||
            getsockopt(socket_.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 ||
            listens == 0)
            throw Error(EINVAL, "the socket that was handed over is no listening one of packets: "
                                "in a socket unit, ListenSequentialPacket=");
        // A client that has gone again is nothing to wait for.
        if (fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0)
            fail_with_errno("the socket that was handed over");
    }
    /// A directory, and nothing in it at the path but what another server may have left.
    static void make_room_at(const fs::path& path) {
        std::error_code error;
        if (path.has_parent_path())
            fs::create_directories(path.parent_path(), error);
        if (error)
            throw Error(error.value(), fmt::format("{}: cannot make the directory: {}",
                                                   path.string(), error.message()));
        if (fs::exists(path, error) && !fs::is_socket(path, error))
            throw Error(EEXIST, fmt::format("{}: is there, and is no socket: name another place",
                                            path.string()));
    }
    static sockaddr_un address_of(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.empty() || path.size() >= sizeof(address.sun_path))
            throw Error(EINVAL,
                        fmt::format("socket '{}': a path has 1 to {} characters: name one with "
                                    "--socket or OVERTAKE_SERVER",
                                    path, sizeof(address.sun_path) - 1));
        path.copy(address.sun_path, path.size());
        return address;
    }

    const std::string path_;
    Descriptor lock_;
    Descriptor socket_;
    bool is_made_here_ = false;
};

class Service {
public:
    explicit Service(const ServerOptions& options)
        : options_(options), host_(device_options(options), shared_options(options)),
          listener_(options.socket_path, options.listening_socket),
          stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          memory_(std::make_shared<MemoryAccount>(options.memory_bytes != 0 ? options.memory_bytes
                                                                            : half_of_memory(),
                                                  nullptr, most_mappings)),
          shared_{.host = host_,
                  .ends = std::make_shared<std::atomic<bool>>(false),
                  .allowed = allowed_text(options),
                  .status = [this](const ServedClient& asks) { return status(asks); }} {
        if (!stop_)
            fail_with_errno("eventfd");
        guard_mappings();
        raise_descriptor_limit(options.clients);
    }

    ~Service() {
        shared_.ends->store(true);
        for (Served& served : clients_)
            served.client->stop();
        for (Served& served : clients_)
            served.thread.join();
    }

    void run() {
        std::uint64_t idle_since = monotonic_ns();
        for (;;) {
            drop_those_over();
            if (!clients_.empty())
                idle_since = monotonic_ns();
            else if (options_.idle_exit_s != 0 &&
                     monotonic_ns() - idle_since >= options_.idle_exit_s * idle_ns_per_s)
                return;
            std::array<pollfd, 2> sources{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
            // Clients that are over are looked for once a second: they hold little.
            if (poll(sources.data(), sources.size(), ms_per_s) < 0 && errno != EINTR)
                fail_with_errno("poll");
            if (sources[1].revents != 0)
                return;
            if (sources[0].revents != 0)
                accept_one();
        }
    }

    void stop() noexcept {
        const std::uint64_t once = 1;
        [[maybe_unused]] const ssize_t written = write(stop_.get(), &once, sizeof(once));
    }

private:
    struct Served {
        std::unique_ptr<ServedClient> client;
        std::thread thread;
    };

    void accept_one() {
        Descriptor connection(
            accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection) {
            // It has gone again, or there is no descriptor left for it: then it waits a little.
            pollfd stopped{stop_.get(), POLLIN, 0};
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                poll(&stopped, 1, ms_until_descriptors);
            return;
        }
        try {
            admit(std::move(connection));
        } catch (const std::exception&) { // no memory, or no thread: the client sees the end
        }
    }

    void admit(Descriptor connection) {
        const Peer peer = peer_of(connection.get());
        if (const std::string refusal = refusal_of(peer); !refusal.empty()) {
            const Reply head{
                .code = EBUSY, .bytes = static_cast<std::uint32_t>(refusal.size()), .values = {}};
            send_packet(connection.get(), bytes_of(head), std::as_bytes(std::span(refusal)), {},
                        MSG_DONTWAIT);
            return;
        }
        const std::lock_guard lock(mutex_);
        Served& served = clients_.emplace_back();
        try {
            served.client = std::make_unique<ServedClient>(
                shared_, next_client_++, std::move(connection), peer, share_of(peer));
            served.thread = std::thread([&client = *served.client] { client.run(); });
        } catch (...) {
            clients_.pop_back();
            throw;
        }
    }

    /// Half of the memory and a quarter of the mappings, for a user whom the server cannot trust.
    UserShare share_of(const Peer& peer) {
        UserShare& share = shares_[peer.uid];
        if (!share.memory) {
            const std::size_t part = peer.is_trusted ? 1 : 2;
            UserShare made;
            made.memory = std::make_shared<MemoryAccount>(memory_->most() / part, memory_,
                                                          peer.is_trusted ? most_mappings
                                                                          : most_mappings / 4);
            made.places = std::make_shared<KeptPlaces>(
                peer.is_trusted ? SIZE_MAX
                                : ovt_service_places_of_a_user(options_.service.task_limit));
            share = std::move(made); // both or none
        }
        return share;
    }

    Peer peer_of(int connection) const {
        ucred credentials{};
        socklen_t bytes = sizeof(credentials);
        if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
            fail_with_errno("SO_PEERCRED");
        Peer peer{.pid = credentials.pid, .uid = credentials.uid, .groups = groups_of(connection)};
        peer.groups.push_back(credentials.gid);
        peer.is_trusted = peer.uid == 0 || peer.uid == owner_;
        peer.may_use_high = peer.is_trusted || contains(options_.high_users, peer.uid) ||
                            std::ranges::any_of(peer.groups, [&](gid_t group) {
                                return contains(options_.high_groups, group);
                            });
        return peer;
    }

    template <class Value>
    static bool contains(const std::vector<Value>& list, Value value) {
        return std::ranges::find(list, value) != list.end();
    }

    std::string refusal_of(const Peer& peer) {
        const std::lock_guard lock(mutex_);
        const auto of_user = std::ranges::count_if(
            clients_, [&](const Served& served) { return served.client->peer().uid == peer.uid; });
        // The last places are for users who have none, and some more for whom the server trusts.
        const std::size_t room = peer.is_trusted
                                     ? options_.clients + places_for_trusted
                                     : options_.clients - (of_user != 0 ? options_.clients / 8 : 0);
        if (clients_.size() >= room)
            return fmt::format("the device server has {} clients, and takes no more: end one, or "
                               "start it with more (--clients)",
                               clients_.size());
        if (!peer.is_trusted && of_user >= options_.clients_of_user)
            return fmt::format("the device server has {} clients of user {}, and takes no more: "
                               "end one",
                               of_user, peer.uid);
        return {};
    }

    void drop_those_over() {
        std::list<Served> over;
        {
            const std::lock_guard lock(mutex_);
            for (auto served = clients_.begin(); served != clients_.end();) {
                const auto next = std::next(served);
                if (served->client->is_over())
                    over.splice(over.end(), clients_, served);
                served = next;
            }
        }
        for (Served& served : over)
            served.thread.join();
    }

    std::string status(const ServedClient& asks) {
        const drm_overtake_device_info info = host_.info();
        std::string clients;
        const std::lock_guard lock(mutex_);
        for (const Served& served : clients_) {
            const bool may_know =
                asks.peer().is_trusted || asks.peer().uid == served.client->peer().uid;
            if (served.client->is_over() || served.client.get() == &asks || !may_know)
                continue;
            const ClientStatus of = served.client->status();
            clients += fmt::format(
                R"({}{{"pid": {}, "uid": {}, "queues": {}, "buffers": {}, "jobs": {}, )"
                R"("memory_bytes": {}, "priority_255": {}, "tasks": {}}})",
                clients.empty() ? "" : ", ", of.peer.pid, of.peer.uid, of.queues, of.buffers,
                of.jobs, of.memory_bytes, of.peer.may_use_high, tasks_json(of.tasks));
        }
        return fmt::format(
            R"({{"version": 1, "cores": {}, "mode": {}, "fair": {}, "clients": [{}]}})",
            info.core_count, info.mode, options_.device.fair, clients);
    }

    const ServerOptions options_;
    const uid_t owner_ = getuid(); ///< whoever it becomes later
    FirmwareHost host_;
    Listener listener_;
    Descriptor stop_;
    const std::shared_ptr<MemoryAccount> memory_; ///< of all clients
    std::map<uid_t, UserShare> shares_;           ///< of everybody who was ever here; run()'s
    SharedDevice shared_;
    std::uint64_t next_client_ = 1; ///< run()'s
    std::mutex mutex_;              ///< of the list; clients are only added and dropped by run()
    std::list<Served> clients_;
};

} // namespace overtake::server

namespace overtake {

ServiceSettings default_service_settings() {
    return {
        .slots = OVT_SERVICE_SLOTS,
        .task_limit = OVT_SERVICE_TASK_LIMIT,
        .threshold_percent = OVT_SERVICE_THRESHOLD_PERCENT,
        .share = 1,
        .insert_max_time_ns = OVT_SERVICE_INSERT_MAX_NS,
        .wait_dispatch_time_ns = OVT_SERVICE_WAIT_DISPATCH_NS,
        .overdue_min_time_ns = OVT_SERVICE_OVERDUE_MIN_NS,
        .overdue_factor = OVT_SERVICE_OVERDUE_FACTOR,
    };
}

Server::Server(const ServerOptions& options)
    : service_(std::make_unique<server::Service>(options)) {}
Server::~Server() = default;

void Server::run() {
    service_->run();
}

void Server::stop() noexcept {
    service_->stop();
}

std::string default_server_path() {
    if (const char* named = std::getenv("OVERTAKE_SERVER"); named && *named)
        return named;
    if (geteuid() == 0)
        return "/run/overtake/device";
    const char* directory = std::getenv("XDG_RUNTIME_DIR");
    return directory && *directory ? std::string(directory) + "/overtake/device" : "";
}

} // namespace overtake
