// SPDX-License-Identifier: MIT
#include "server/served_client.hpp"

#include <cerrno>
#include <cstring>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "refusal.hpp"

namespace overtake::server {

namespace {

constexpr int ms_until_hello = 10'000;
/// Each source costs a copy of every event, under the device's lock.
constexpr std::size_t most_event_sources = 4;

/// The memory of one buffer in the tables of buffers and mappings.
constexpr std::size_t buffer_bytes = 768;
/// The other memory of a connection, mostly stacks of its three threads.
constexpr std::size_t connection_bytes = std::size_t{128} << 10;

/// A client's memory, which is mapped here as well.
class SharedAllocation final : public Allocation {
public:
    SharedAllocation(const Client& client, int fd, std::size_t bytes)
        : charge_(client.memory, bytes + buffer_bytes) {
        mapping_ = std::make_unique<GuardedMapping>(fd, bytes, client.server_ends);
        data_ = mapping_->data();
        size_ = bytes;
    }

private:
    const MappingCharge charge_; ///< lasts until the mapping is gone
    std::unique_ptr<GuardedMapping> mapping_;
};

/// Returns a client's memory to the system, in place of keeping pieces of it for the next client.
void return_free_memory() {
#ifndef __SANITIZE_ADDRESS__ // with it, the C library's heap stays unused; if two threads trim that
                             // heap first and at once, they read uninitialised data
    malloc_trim(0);
#endif
}

template <class Value>
std::string text_of(const Value* values, std::size_t count) {
    return {reinterpret_cast<const char*>(values), count * sizeof(Value)};
}

void add(FirmwareHost::ProcessStatus& sum, const FirmwareHost::ProcessStatus& of) {
    sum.counts.waiting += of.counts.waiting;
    sum.counts.ready += of.counts.ready;
    sum.counts.dispatched += of.counts.dispatched;
    sum.counts.overdue += of.counts.overdue;
    sum.counts.slots += of.counts.slots;
    sum.counts.uncollected += of.counts.uncollected;
    sum.ended += of.ended;
    sum.waited_ns += of.waited_ns;
    sum.overdue += of.overdue;
}

std::uint32_t field(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

} // namespace

ServedClient::ServedClient(std::shared_ptr<SharedDevice> device, std::uint64_t id, Peer peer,
                           UserShare share)
    : device_(std::move(device)), peer_(std::move(peer)), share_(std::move(share)), sources_(1) {
    client_.memory = std::make_shared<MemoryAccount>(OVERTAKE_MAX_CLIENT_BYTES, share_.memory);
    client_.scratch = ScratchMemory::make(client_.memory, device_->computes);
    // Trusted clients are few, and have to be able to look when memory is used up.
    if (!peer_.is_trusted)
        charge_.emplace(client_.memory, connection_bytes);
    client_.counts.id = id;
    client_.counts.pid = static_cast<std::uint32_t>(peer_.pid);
    client_.server_ends = device_->ends;
}

void ServedClient::stop() noexcept {
    const std::lock_guard lock(connection_mutex_);
    if (connection_)
        shutdown(connection_.get(), SHUT_RDWR);
}

bool ServedClient::has_hung_up() const noexcept {
    const std::lock_guard lock(connection_mutex_);
    if (!connection_)
        return true;
    pollfd source{connection_.get(), 0, 0};
    return poll(&source, 1, 0) == 1 && (source.revents & POLLHUP) != 0;
}

void ServedClient::run() noexcept {
    try {
        while (serve_once()) {
        }
    } catch (const Violation&) { // the server does not answer it any more
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
    }
    stop(); // the client sees this at once, before the memory that it shares is removed
    events_.clear();
    queues_.clear();
    std::map<std::uint64_t, std::unique_ptr<ServedTasks>> tasks;
    {
        const std::lock_guard lock(status_mutex_);
        tasks.swap(tasks_);
    }
    tasks.clear();
    // This thread does everything that may take long, so that nothing waits for it.
    client_.delivery.stop();
    client_.disposal.stop();
    client_.addresses.reset(); // its buffers
    while (client_.scratch->give_back()) {
    }
    Descriptor connection;
    {
        const std::lock_guard lock(connection_mutex_);
        connection = std::move(connection_);
    }
    connection = Descriptor();
    return_free_memory();
    over_.store(true);
    device_->ended.raise();
}

/// Returns false once the connection is closed.
bool ServedClient::serve_once() {
    sources_.assign(1, {connection_.get(), POLLIN, 0});
    for (const auto& [id, queue] : queues_)
        sources_.push_back({queue->channel(), POLLIN, 0});
    for (const auto& [id, tasks] : tasks_)
        sources_.push_back({tasks->channel(), POLLIN, 0});
    const int ready = poll(sources_.data(), sources_.size(), said_hello_ ? -1 : ms_until_hello);
    if (ready < 0)
        return errno == EINTR;
    if (ready == 0)
        return false; // a silent client would keep the place of another one
    std::size_t source = 1;
    // Returns false if the channel is closed, since its client could not take what it was sent.
    const auto answer = [&](auto& served) {
        if (sources_[source++].revents == 0)
            return true;
        if (!take_wake_ups(served.channel()))
            return false;
        served.answer();
        return true;
    };
    std::optional<std::uint64_t> closed_queue, closed_tasks; // at most one of each at a time
    for (const auto& [id, queue] : queues_)
        if (!answer(*queue))
            closed_queue = id;
    for (const auto& [id, tasks] : tasks_)
        if (!answer(*tasks))
            closed_tasks = id;
    const bool goes_on = sources_[0].revents == 0 || answer_request();
    if (closed_queue && queues_.contains(*closed_queue))
        drop(queues_, *closed_queue);
    if (closed_tasks && tasks_.contains(*closed_tasks))
        drop(tasks_, *closed_tasks);
    return goes_on;
}

bool ServedClient::answer_request() {
    Request request;
    std::optional<Packet> packet = receive_packet(
        connection_.get(), std::as_writable_bytes(std::span(&request, 1)), MSG_DONTWAIT);
    if (!packet)
        return errno == EAGAIN;
    if (packet->bytes == 0)
        return false;
    // Descriptors that are not kept are closed elsewhere.
    struct CloseElsewhere {
        Closer& closer;
        Packet& packet;
        ~CloseElsewhere() {
            for (Descriptor& descriptor : packet.descriptors)
                closer.close(std::move(descriptor));
        }
    } close_elsewhere{*share_.closer, *packet};
    if (packet->bytes != sizeof(request) || !packet->whole || request.reserved != 0)
        throw Violation("no request");
    try {
        return reply(0, perform(request, *packet));
    } catch (const Error& error) {
        return reply(error.code(), {.payload = error.what()});
    } catch (const std::bad_alloc&) {
        return reply(ENOMEM, {.payload = "device server: no memory"});
    }
}

/// Sends a reply.  Never waits for a client that does not read.
bool ServedClient::reply(std::int32_t code, const Answer& answer) {
    const Reply head{.code = code,
                     .bytes = static_cast<std::uint32_t>(answer.payload.size()),
                     .values = answer.values};
    const bool sent =
        send_packet(connection_.get(), bytes_of(head), std::as_bytes(std::span(answer.payload)),
                    answer.descriptors, MSG_DONTWAIT);
    if (answer.sent)
        answer.sent();
    return sent;
}

ServedClient::Answer ServedClient::perform(const Request& request, Packet& packet) {
    const auto [first, second] = request.arguments;
    if (!said_hello_ && request.operation != Operation::hello)
        throw Violation("no hello");
    switch (request.operation) {
    case Operation::hello:
        if (first != protocol_version)
            throw Error(EPROTO, fmt::format("the device server speaks version {} of its protocol, "
                                            "this program version {}: install the same version",
                                            protocol_version, first));
        said_hello_ = true;
        return {.values = {protocol_version, device_->host.core_count()}, .payload = info()};
    case Operation::info:
        return {.payload = info()};
    case Operation::cores:
        return {.payload = cores()};
    case Operation::core_profiles: {
        const auto profiles = device_->host.core_profiles();
        return {.payload = text_of(profiles.data(), profiles.size())};
    }
    case Operation::create_buffer:
        return create_buffer(packet);
    case Operation::destroy_buffer:
        if (!client_.addresses->unmap(first))
            throw Error(ENOENT, fmt::format("no buffer is at device address {:#x}", first));
        buffer_count_--;
        return {};
    case Operation::create_queue:
        return create_queue(request);
    case Operation::destroy_queue:
        drop(queues_, first);
        return {};
    case Operation::create_tasks:
        return create_tasks(request);
    case Operation::destroy_tasks:
        drop(tasks_, first);
        return {};
    case Operation::create_events:
        return create_events(request);
    case Operation::destroy_events:
        if (events_.erase(first) == 0)
            throw Error(ENOENT, fmt::format("there is no source of events {}", first));
        return {};
    case Operation::cancel:
        return {.values = {queue(first).cancel(second)}};
    case Operation::forget:
        queue(first).forget(field(second));
        return {};
    case Operation::clock_now:
        return {.values = {device_->host.manual_now()}};
    case Operation::clock_advance:
        if (!device_->host.has_manual_clock())
            throw Error(EINVAL, "the device's clock is not stepped by hand");
        device_->host.advance_to(first);
        device_->deliver_all();
        return {};
    case Operation::status:
        return status_page(first);
    }
    throw Violation("an operation that is none");
}

ServedClient::Answer ServedClient::status_page(std::uint64_t after) const {
    StatusPage page = device_->status(*this, after);
    return {.values = {page.last, page.clients_begin}, .payload = std::move(page.text)};
}

ServedClient::Answer ServedClient::create_buffer(Packet& packet) {
    const Descriptor& memory = packet.descriptors[0];
    if (!memory)
        throw Violation("a buffer without memory");
    const std::size_t bytes = sealed_bytes(memory.get());
    if (const auto refusal = buffer_refusal(bytes))
        throw *refusal;
    auto allocation = make_with_room(
        client_, [&] { return std::make_shared<SharedAllocation>(client_, memory.get(), bytes); });
    const std::uint64_t address = client_.addresses->map(std::move(allocation));
    const Descriptor mapped = std::move(packet.descriptors[0]); // closed here: that is quick
    buffer_count_++;
    return {.values = {address, bytes}};
}

ServedClient::Answer ServedClient::create_queue(const Request& request) {
    QueueOptions options;
    options.max_priority = field(request.arguments[0]);
    options.core_limit = field(request.arguments[1]);
    check_queue(options);
    return keep(queues_, make_with_room(client_, [&] {
                    return std::make_unique<ServedQueue>(device_->host, client_, options);
                }));
}

ServedClient::Answer ServedClient::create_tasks(const Request& request) {
    QueueOptions options;
    options.max_priority = field(request.arguments[0]);
    options.core_limit = static_cast<std::uint32_t>(request.arguments[1]);
    const auto workers = static_cast<std::uint32_t>(request.arguments[1] >> 32);
    if (const auto refusal = workers_refusal(workers))
        throw *refusal;
    if (!device_->host.has_like_cores())
        throw unlike_cores_refusal();
    check_queue(options);
    Answer answer = keep(tasks_, make_with_room(client_, [&] {
                             return std::make_unique<ServedTasks>(device_->host, client_, options,
                                                                  workers, share_.places);
                         }));
    answer.payload = text_of(&device_->host.service_settings(), 1);
    return answer;
}

/// These are events of all clients, so only root and the server's own user get them.
ServedClient::Answer ServedClient::create_events(const Request& request) {
    if (!peer_.is_trusted)
        throw Error(EPERM, fmt::format("events: those of all clients are not for user {}: ask as "
                                       "root, or as the user who runs the device server",
                                       peer_.uid));
    EventOptions options;
    options.capacity = field(request.arguments[0]);
    const std::uint32_t capacity = ring_capacity(options);
    if (events_.size() == most_event_sources)
        throw Error(ENOSPC, fmt::format("events: a client of the device server has at most {} "
                                        "sources: close one",
                                        most_event_sources));
    auto made = std::make_unique<ServedEvents>(device_->host, client_, capacity);
    const auto descriptors = made->client_descriptors();
    const std::uint64_t id = next_queue_++;
    const auto& kept = events_.emplace(id, std::move(made)).first->second;
    return {.values = {id, capacity},
            .descriptors = {descriptors.begin(), descriptors.end()},
            .sent = [made = kept.get()] { made->forget_client_descriptors(); }};
}

void ServedClient::check_queue(const QueueOptions& options) const {
    if (const auto refusal = queue_refusal(options))
        throw *refusal;
    if (options.max_priority == priority_high && !peer_.may_use_high)
        throw Error(EPERM, fmt::format("create queue: priority {} is not for user {}: {}",
                                       priority_high, peer_.uid, device_->allowed));
}

template <class Served>
ServedClient::Answer ServedClient::keep(std::map<std::uint64_t, std::unique_ptr<Served>>& kept,
                                        std::unique_ptr<Served> made) {
    sources_.reserve(queues_.size() + tasks_.size() + 2); // with the connection and the new queue
    const auto descriptors = made->client_descriptors();
    const std::uint64_t id = next_queue_++;
    Answer answer{.values = {id},
                  .descriptors = {descriptors.begin(), descriptors.end()},
                  .sent = [made = made.get()] { made->forget_client_descriptors(); }};
    const std::lock_guard lock(status_mutex_);
    kept.emplace(id, std::move(made));
    queue_count_++;
    return answer;
}

template <class Served>
void ServedClient::drop(std::map<std::uint64_t, std::unique_ptr<Served>>& kept, std::uint64_t id) {
    std::unique_ptr<Served> last; // destroyed without the lock
    const std::lock_guard lock(status_mutex_);
    const auto found = kept.find(id);
    if (found == kept.end())
        throw Error(ENOENT, fmt::format("there is no queue {}", id));
    last = std::move(found->second);
    kept.erase(found);
    queue_count_--;
}

ServedQueue& ServedClient::queue(std::uint64_t id) {
    const auto found = queues_.find(id);
    if (found == queues_.end())
        throw Error(ENOENT, fmt::format("there is no queue {}", id));
    return *found->second;
}

std::string ServedClient::info() const {
    const drm_overtake_device_info info = device_->host.info();
    return text_of(&info, 1);
}

/// An untrusted client must not learn how long the FCs of others take.
std::string ServedClient::cores() const {
    const auto cores = peer_.is_trusted ? device_->host.cores() : device_->host.coarse_cores();
    return text_of(cores.data(), cores.size());
}

ClientStatus ServedClient::status() const {
    FirmwareHost::ProcessStatus tasks{};
    {
        const std::lock_guard lock(status_mutex_);
        for (const auto& [id, of_queue] : tasks_)
            add(tasks, of_queue->status());
    }
    return {.peer = peer_,
            .queues = queue_count_.load(),
            .buffers = buffer_count_.load(),
            .jobs = device_->host.jobs_of(client_.counts),
            .memory_bytes = client_.memory->bytes(),
            .busy = device_->host.busy_of(client_.counts),
            .tasks = tasks};
}

} // namespace overtake::server
