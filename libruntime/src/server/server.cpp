// SPDX-License-Identifier: MIT
#include "overtake/server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fork_origin.hpp"
#include "monotonic_clock.hpp"
#include "overtake/settings.hpp"
#include "server/available_memory.hpp"
#include "server/event_flag.hpp"
#include "server/fail_with_errno.hpp"
#include "server/listener.hpp"
#include "server/served_client.hpp"

namespace overtake::server {

namespace {

/// The same as a driver's: a minute, or the queue timeout if that is longer.
constexpr std::uint64_t server_job_max_ns = 60'000'000'000;
static_assert(server_fc_clock_ns == OVT_FC_CLOCK_MS * 1'000'000ull);
constexpr std::uint64_t idle_ns_per_s = 1'000'000'000;
constexpr int ms_per_s = 1000;
constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr int ms_until_descriptors = 100;
/// Mappings for all clients' buffers and scratch: the system's default is 65,530 for a process.
constexpr std::size_t most_mappings = 49'152;
constexpr rlim_t own_descriptors = 64;
constexpr unsigned places_for_trusted = 4; ///< beside --clients: for the owner and root
/// The most closed connections of a user whose jobs still end or whose memory is still being freed.
constexpr std::size_t most_ending_of_user = 256;
/// The most connections of a user that are refused and not yet closed.
constexpr std::size_t most_refused = 1024;
/// The time for closing all descriptors of clients when the server ends.
constexpr int ms_to_close = 500;
/// The time for clients to end when the server ends.  Only the close of a descriptor that a client
/// has sent takes longer.
constexpr int ms_to_end = 2'000;

/// Raises the limit of descriptors, if the system allows it.  All clients need one for each queue
/// that they may have; ending connections of a user and others that wait to be closed need some as
/// well.
void raise_descriptor_limit(unsigned clients) {
    const rlim_t connections = rlim_t{clients} + places_for_trusted + most_ending_of_user;
    const rlim_t wanted =
        own_descriptors + most_refused + connections * (OVERTAKE_MAX_CONTEXTS + 2);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
}

EmbeddedOptions device_options(const ServerOptions& options) {
    EmbeddedOptions device = options.device;
    if (device.fc_clock_ns == 0)
        device.fc_clock_ns = server_fc_clock_ns;
    // On a busy machine the wall time of an FC may be five times its limit of CPU time.
    if (device.queue_timeout_ns == 0)
        device.queue_timeout_ns =
            std::max(OVT_QUEUE_TIMEOUT_MS * ns_per_ms, 5 * device.fc_clock_ns);
    return device;
}

SharedOptions shared_options(const ServerOptions& options) {
    return {
        .clients = std::max(options.clients, 1u) + places_for_trusted,
        // The client that steps the clock determines how fast device time passes.
        .job_max_ns = options.device.manual_clock
                          ? OVT_TIME_NEVER
                          : std::max(server_job_max_ns, device_options(options).queue_timeout_ns),
        .service = ServiceOptions{.policy = options.policy, .settings = options.service},
        .measure_lock = options.measure_lock,
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

/// Returns [core, HIGH, NORMAL] of each core on which the client had an FC.
std::string busy_json(const BusyTimes& busy) {
    std::string text;
    for (std::size_t core = 0; core < busy.size(); core++)
        if (const auto& of = busy[core]; of[OVT_RING_HIGH] + of[OVT_RING_NORMAL] != 0)
            text += fmt::format("{}[{}, {}, {}]", text.empty() ? "" : ", ", core + 1,
                                of[OVT_RING_HIGH], of[OVT_RING_NORMAL]);
    return "[" + text + "]";
}

std::string client_json(const ClientStatus& of) {
    return fmt::format(R"({{"pid": {}, "uid": {}, "queues": {}, "buffers": {}, "jobs": {}, )"
                       R"("memory_bytes": {}, "busy_ns": {}, "priority_255": {}, "tasks": {}}})",
                       of.peer.pid, of.peer.uid, of.queues, of.buffers, of.jobs, of.memory_bytes,
                       busy_json(of.busy), of.peer.may_use_high, tasks_json(of.tasks));
}

std::string lock_json(const DeviceMutex::Longest& hold) {
    std::string text = fmt::format(R"(, "lock": {{"most_steps": {})", hold.steps);
    if (hold.is_measured)
        text += fmt::format(R"(, "longest_cpu_ns": {}, "where": "{}")", hold.cpu_ns, hold.where);
    return text + "}";
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

StatusPage SharedDevice::status(const ServedClient& asks, std::uint64_t after) {
    const std::lock_guard lock(list_mutex);
    return list ? list->status(asks, after) : StatusPage{.text = "{}"};
}

void SharedDevice::deliver_all() {
    const std::lock_guard lock(list_mutex);
    if (list)
        list->deliver_all();
}

class Service final : private ClientList {
public:
    const ForkOrigin origin;

    explicit Service(const ServerOptions& options)
        : options_(options),
          memory_(std::make_shared<MemoryAccount>(
              options.memory_bytes != 0 ? options.memory_bytes : memory_of_this_machine() / 2,
              nullptr, most_mappings)),
          shared_(std::make_shared<SharedDevice>(device_options(options), shared_options(options),
                                                 allowed_text(options))),
          listener_(options.socket_path, options.listening_socket) {
        if (!stop_ || !shared_->ended)
            fail_with_errno("eventfd");
        guard_mappings();
        raise_descriptor_limit(options.clients);
        shared_->list = this;
    }

    /// Leaves behind a client whose thread is in a system call on a descriptor that it was sent:
    /// the client has its own references to what it uses, and ends when the call or the process
    /// ends.
    ~Service() {
        {
            const std::lock_guard lock(shared_->list_mutex);
            shared_->list = nullptr;
        }
        shared_->ends->store(true);
        for (Served& served : clients_)
            served.client->stop();
        const std::uint64_t deadline = monotonic_ns() + ms_to_end * ns_per_ms;
        drop_ended();
        while (!clients_.empty() && monotonic_ns() < deadline) {
            pollfd ended{shared_->ended.fd(), POLLIN, 0};
            poll(&ended, 1, ms_to_end);
            drop_ended();
        }
        for (Served& served : clients_)
            served.thread.detach();
        if (refused_.connection)
            refused_.closer->take(refused_.connection, SIZE_MAX);
        const std::uint64_t close_deadline = monotonic_ns() + ms_to_close * ns_per_ms;
        for (auto& [user, share] : shares_)
            share.closer->finish_by(close_deadline);
    }

    void run() {
        std::uint64_t idle_since = monotonic_ns();
        for (;;) {
            drop_ended();
            if (!clients_.empty())
                idle_since = monotonic_ns();
            else if (options_.idle_exit_s != 0 &&
                     monotonic_ns() - idle_since >= options_.idle_exit_s * idle_ns_per_s)
                return;
            std::array<pollfd, 3> sources{{{listener_.get(), POLLIN, 0},
                                           {stop_.fd(), POLLIN, 0},
                                           {shared_->ended.fd(), POLLIN, 0}}};
            if (poll(sources.data(), sources.size(), ms_per_s) < 0 && errno != EINTR)
                fail_with_errno("poll");
            if (sources[1].revents != 0)
                return;
            if (sources[0].revents != 0 && is_refused_one_closed())
                accept_one();
        }
    }

    void stop() noexcept { stop_.raise(); }

private:
    struct Served {
        std::shared_ptr<ServedClient> client; ///< shared with its thread
        std::thread thread;
    };

    void accept_one() {
        Descriptor connection = listener_.accept();
        if (!connection) {
            // The connection is closed again, or there is no descriptor left for it: then waits a
            // little.
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                wait_a_little();
            return;
        }
        std::shared_ptr<Closer> closer = closer_;
        try {
            admit(connection, closer);
        } catch (const std::exception&) { // no memory or thread: the client sees the end
            drop(connection, closer);
        }
    }

    /// This thread does not close the connection, which may hold descriptors that a client has
    /// sent.
    void drop(Descriptor& connection, const std::shared_ptr<Closer>& closer) {
        if (!connection)
            return;
        shutdown(connection.get(), SHUT_RDWR); // it can be sent nothing more
        if (!closer->take(connection, most_refused))
            refused_ = {std::move(connection), closer};
    }

    void wait_a_little() const {
        pollfd stopped{stop_.fd(), POLLIN, 0};
        poll(&stopped, 1, ms_until_descriptors);
    }

    /// Returns false if new connections have to wait: this thread does not close the refused one
    /// itself, since that may take as long as its client likes.
    bool is_refused_one_closed() {
        if (!refused_.connection || refused_.closer->take(refused_.connection, most_refused))
            return true;
        wait_a_little();
        return false;
    }

    /// `closer`: becomes the user's, once the user is known.
    void admit(Descriptor& connection, std::shared_ptr<Closer>& closer) {
        const Peer peer = peer_of(connection.get());
        UserShare& share = share_of(peer);
        closer = share.closer;
        drop_ended();
        if (const std::string refusal = refusal_of(peer); !refusal.empty())
            return refuse(connection, share, EBUSY, refusal);
        let_send_descriptors(connection.get(), true);
        std::shared_ptr<ServedClient> client;
        try {
            client = std::make_shared<ServedClient>(shared_, next_client_, peer, share);
        } catch (const Error& error) { // there is no room in its user's memory
            return refuse(connection, share, error.code(), error.what());
        }
        next_client_++;
        const std::lock_guard lock(mutex_);
        Served& served = clients_.emplace_back();
        client->take(std::move(connection));
        try {
            served.client = client;
            served.thread = std::thread([client] { client->run(); });
        } catch (...) {
            clients_.pop_back();
            connection = client->give_back();
            throw;
        }
    }

    void refuse(Descriptor& connection, const UserShare& share, int code, const std::string& why) {
        const Reply head{
            .code = code, .bytes = static_cast<std::uint32_t>(why.size()), .values = {}};
        send_packet(connection.get(), bytes_of(head), std::as_bytes(std::span(why)), {},
                    MSG_DONTWAIT);
        drop(connection, share.closer);
    }

    /// Returns the share of a user.  An untrusted user gets half of the memory and a quarter of the
    /// mappings.
    UserShare& share_of(const Peer& peer) {
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
            made.closer = std::make_shared<Closer>();
            share = std::move(made); // all members or none
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
        std::size_t connected = 0;
        std::size_t of_user = 0;
        std::size_t ending_of_user = 0; // closed, and not over yet: they use no place
        const std::lock_guard lock(mutex_);
        for (const Served& served : clients_) {
            const bool is_ending = served.client->has_hung_up();
            const bool is_of_user = served.client->peer().uid == peer.uid;
            connected += !is_ending;
            of_user += !is_ending && is_of_user;
            ending_of_user += is_ending && is_of_user;
        }
        // The last places are for users who have none, and some more are for trusted users.
        const std::size_t room = peer.is_trusted
                                     ? options_.clients + places_for_trusted
                                     : options_.clients - (of_user != 0 ? options_.clients / 8 : 0);
        if (connected >= room)
            return fmt::format("the device server has {} clients, and takes no more: end one, or "
                               "start it with more (--clients)",
                               connected);
        if (!peer.is_trusted && of_user >= options_.clients_of_user)
            return fmt::format("the device server has {} clients of user {}, and takes no more: "
                               "end one",
                               of_user, peer.uid);
        if (ending_of_user >= most_ending_of_user)
            return fmt::format("{} clients of user {} are still ending: try again when they have",
                               ending_of_user, peer.uid);
        return {};
    }

    void drop_ended() {
        shared_->ended.clear();
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

    void deliver_all() override {
        const std::lock_guard lock(mutex_);
        for (const Served& served : clients_)
            if (!served.client->is_over())
                served.client->deliver();
    }

    StatusPage status(const ServedClient& asks, std::uint64_t after) override {
        const drm_overtake_device_info info = shared_->host.info();
        StatusPage page{
            .text = fmt::format(
                R"({{"version": 1, "cores": {}, "mode": {}, "fair": {}{}, "clients": [)",
                info.core_count, info.mode, options_.device.fair,
                asks.peer().is_trusted ? lock_json(shared_->host.longest_hold()) : "")};
        page.clients_begin = page.text.size();
        constexpr std::string_view separator = ", ", end = "]}";
        std::uint64_t last = 0;
        const std::lock_guard lock(mutex_);
        for (const Served& served : clients_) { // in the order of their numbers
            const bool may_know =
                asks.peer().is_trusted || asks.peer().uid == served.client->peer().uid;
            if (served.client.get() == &asks || !may_know || served.client->id() <= after ||
                served.client->is_over() || served.client->has_hung_up())
                continue;
            const std::string text = client_json(served.client->status());
            if (last != 0 && page.text.size() + separator.size() + text.size() + end.size() >
                                 reply_payload_bytes) {
                page.last = last;
                break;
            }
            page.text.append(last == 0 ? "" : separator).append(text);
            last = served.client->id();
        }
        page.text += end;
        return page;
    }

    const ServerOptions options_;
    const uid_t owner_ = getuid(); ///< the process's user at the start
    EventFlag stop_;
    const std::shared_ptr<MemoryAccount> memory_; ///< the memory of all clients
    std::map<uid_t, UserShare> shares_;           ///< of all users that ever connected; run()'s
    const std::shared_ptr<SharedDevice> shared_;
    Listener listener_;             ///< made last: no file stays if anything else fails
    std::uint64_t next_client_ = 1; ///< used by run()
    /// Closes connections whose user is not known.
    const std::shared_ptr<Closer> closer_ = std::make_shared<Closer>();
    struct Refused {
        Descriptor connection;
        std::shared_ptr<Closer> closer;
    } refused_;        ///< for whose connection its closer has no room; used by run()
    std::mutex mutex_; ///< protects the list; only run() adds and drops
    std::list<Served> clients_;
};

} // namespace overtake::server

namespace overtake {

ServiceSettings default_service_settings() {
    return service_settings_of(usual_settings(true));
}

Server::Server(const ServerOptions& options)
    : service_(std::make_unique<server::Service>(options)) {}
Server::~Server() {
    if (!service_->origin.is_here()) // its threads are in the parent
        (void)service_.release();
}

void Server::run() {
    service_->origin.require("server");
    service_->run();
}

void Server::stop() noexcept {
    if (service_->origin.is_here()) // the parent shares the flag
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
