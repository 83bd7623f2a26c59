// SPDX-License-Identifier: MIT
//
// Clients of a device server: one that behaves well, and some that do not use the Overtake library.
#pragma once

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <grp.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "embedded/memory.hpp"
#include "expect_error.hpp"
#include "programs.hpp"
#include "server/connection.hpp"
#include "server/shared_memory.hpp"

namespace overtake::test {

using namespace server;

/// A client that behaves well: it works if the device and the client's own objects do.
class Victim {
public:
    explicit Victim(const std::string& path)
        : device_(open_server(path)), queue_(device_->create_queue()),
          source_(device_->create_buffer(4096)), target_(device_->create_buffer(4096)),
          program_(*device_, {copy_insn(64)}) {
        program_.bind(OVERTAKE_REGION_IO, *source_, OVERTAKE_MAP_READ);
        program_.bind(OVERTAKE_REGION_IO + 1, *target_, OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
    }

    /// Checks every byte of a job's result.
    void expect_to_work() {
        const int value = ++rounds_ % 255 + 1;
        std::memset(source_->data(), value, 512);
        std::memset(target_->data(), 0, 512);
        const Job job = program_.job(static_cast<std::uint64_t>(rounds_));
        queue_->submit({&job, 1});
        const auto ended = reap_all(*queue_, 1);
        ASSERT_EQ(ended.size(), 1u);
        EXPECT_EQ(ended.front().status, 0);
        EXPECT_EQ(std::memcmp(source_->data(), target_->data(), 512), 0);
    }
    Buffer& source() { return *source_; }

private:
    std::shared_ptr<Device> device_;
    std::unique_ptr<Queue> queue_;
    std::unique_ptr<Buffer> source_;
    std::unique_ptr<Buffer> target_;
    Program program_;
    int rounds_ = 0;
};

inline std::size_t clients_of(const std::string& path) {
    return nlohmann::json::parse(server_status(path)).at("clients").size();
}

/// Waits until the server has `count` clients: a client that has gone is counted until its thread
/// has noticed.
inline void expect_clients(const std::string& path, std::size_t count) {
    const std::int64_t deadline = patience();
    while (clients_of(path) != count)
        ASSERT_LT(in_ms(0), deadline);
}

/// Waits until all clients together have `count` queues.
inline void expect_queues(const std::string& path, std::size_t count) {
    const std::int64_t deadline = patience();
    const auto queues = [&] {
        std::size_t sum = 0;
        const auto status = nlohmann::json::parse(server_status(path));
        for (const auto& client : status.at("clients"))
            sum += client.at("queues").get<std::size_t>();
        return sum;
    };
    while (queues() != count)
        ASSERT_LT(in_ms(0), deadline);
}

inline ServerOptions options_of(unsigned cores, unsigned mode = OVERTAKE_MODE_FUNCTIONAL) {
    ServerOptions options;
    options.device.cores = cores;
    options.device.mode = mode;
    return options;
}

/// A connection on which a test may send anything.
class RawClient {
public:
    explicit RawClient(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, path.size());
        socket_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
            throw std::runtime_error("cannot connect");
    }

    void say(std::span<const std::byte> bytes, std::span<const int> descriptors = {}) {
        send_packet(socket_.get(), bytes, {}, descriptors, 0);
    }
    void ask(Operation operation, std::uint64_t first = 0, std::uint64_t second = 0,
             int descriptor = -1) {
        const server::Request request{operation, 0, {first, second}};
        say(bytes_of(request), std::span(&descriptor, descriptor < 0 ? 0 : 1));
    }
    struct Heard {
        Reply reply{};
        std::string payload;
        std::array<Descriptor, most_descriptors> descriptors;
    };
    /// Returns nothing if the server has closed the connection, or has sent nothing for a minute.
    std::optional<Heard> hear() {
        std::vector<std::byte> bytes(sizeof(Reply) + reply_payload_bytes);
        pollfd source{socket_.get(), POLLIN, 0};
        if (poll(&source, 1, 60'000) != 1)
            return std::nullopt;
        auto packet = receive_packet(socket_.get(), bytes, 0);
        if (!packet || packet->bytes < sizeof(Reply))
            return std::nullopt;
        Heard heard;
        std::memcpy(&heard.reply, bytes.data(), sizeof(Reply));
        heard.payload.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof(Reply),
                             packet->bytes - sizeof(Reply));
        heard.descriptors = std::move(packet->descriptors);
        return heard;
    }
    Heard answer(Operation operation, std::uint64_t first = 0, std::uint64_t second = 0,
                 int descriptor = -1) {
        ask(operation, first, second, descriptor);
        auto heard = hear();
        if (!heard)
            throw std::runtime_error("the server has closed the connection");
        return std::move(*heard);
    }
    void greet() { EXPECT_EQ(answer(Operation::hello, protocol_version).reply.code, 0); }
    int socket_fd() const { return socket_.get(); }

private:
    Descriptor socket_;
};

/// A raw client with a queue, whose memory a test may fill with anything.
class RawQueue : public RawClient {
public:
    explicit RawQueue(const std::string& path) : RawClient(path) {
        greet();
        Heard heard = answer(Operation::create_queue, 254, 0);
        id_ = heard.reply.values[0];
        mapping_ = Mapping(heard.descriptors[0].get(), round_to_pages(sizeof(QueueArea)));
        memory_ = std::move(heard.descriptors[0]);
        channel_ = std::move(heard.descriptors[1]);
    }
    QueueArea& area() { return *reinterpret_cast<QueueArea*>(mapping_.data()); }
    std::uint64_t id() const { return id_; }
    int channel() const { return channel_.get(); }
    int memory() const { return memory_.get(); }
    void close_channel() { channel_ = Descriptor(); }
    void wake() { send_wake_up(channel()); }
    /// Makes a call of `bytes` bytes, which are already written.
    void call(std::uint32_t bytes) {
        area().job_bytes = bytes;
        area().calls++;
        wake();
    }
    void call(WireJob job) {
        std::memcpy(area().jobs.data(), &job, sizeof(job));
        call(sizeof(job));
    }
    /// Returns false if the connection is closed instead, or if nothing comes for a minute.
    bool is_answered() {
        while (area().answers != area().calls) {
            std::array<pollfd, 2> sources{{{channel(), POLLIN, 0}, {socket_fd(), POLLIN, 0}}};
            if (poll(sources.data(), sources.size(), 60'000) <= 0)
                return false;
            if (!take_wake_ups(channel()))
                return false;
            if (sources[1].revents != 0)
                return false;
        }
        return true;
    }

private:
    std::uint64_t id_ = 0;
    Mapping mapping_;
    Descriptor memory_;
    Descriptor channel_;
};

inline constexpr uid_t a_stranger = 65534;

/// Runs `action` in a process of another user.  Returns its result, or the code of its Error.
inline int as_stranger(const std::vector<gid_t>& groups, const std::function<int()>& action) {
    const pid_t child = fork_test();
    if (child == 0) {
        int status = 125;
        if (setgroups(groups.size(), groups.data()) == 0 && setgid(a_stranger) == 0 &&
            setuid(a_stranger) == 0) {
            try {
                status = action();
            } catch (const Error& error) {
                status = error.code();
            } catch (const std::exception&) {
                status = 124;
            }
        }
        _exit(status);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/// Opens the directory of the server's socket to all users; without this call, only this user may
/// enter it.
inline void open_to_all(const TestServer& server) {
    using std::filesystem::perms;
    std::filesystem::permissions(std::filesystem::path(server.path()).parent_path(),
                                 perms::group_exec | perms::others_exec,
                                 std::filesystem::perm_options::add);
}

#define SKIP_UNLESS_ROOT()                                                                         \
    if (geteuid() != 0)                                                                            \
    GTEST_SKIP() << "SKIPPED: needs root, to be two users"

} // namespace overtake::test
