// SPDX-License-Identifier: MIT
#include "server/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "missing_permission.hpp"

namespace overtake::server {

namespace {

/// Sets the timeout of connecting, sending and receiving; 0 is none.
void set_patience(int socket, std::chrono::milliseconds patience) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const timeval time{.tv_sec = static_cast<time_t>(seconds.count()),
                       .tv_usec = std::chrono::microseconds(patience - seconds).count()};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

} // namespace

Connection::Connection(std::string path, std::chrono::milliseconds patience)
    : path_(std::move(path)), patience_(patience), received_(sizeof(Reply) + reply_payload_bytes) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.empty() || path_.size() >= sizeof(address.sun_path))
        throw Error(EINVAL, fmt::format("device server '{}': a socket's path has 1 to {} "
                                        "characters: name one with OVERTAKE_SERVER",
                                        path_, sizeof(address.sun_path) - 1));
    path_.copy(address.sun_path, path_.size());
    socket_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket_)
        set_patience(socket_.get(),
                     std::min<std::chrono::milliseconds>(patience, greeting_patience));
    if (!socket_ ||
        connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        const int code = errno;
        if (const std::string lacks = code == EACCES ? missing_permission(path_) : "";
            !lacks.empty())
            throw Error(code, lacks);
        if (code == EACCES)
            throw Error(code, fmt::format("{}: the system does not let this process connect: {}: "
                                          "look at its security policy",
                                          path_, std::strerror(code)));
        throw Error(code, fmt::format("{}: no device server: {}: start one (overtake serve), or "
                                      "name its socket with OVERTAKE_SERVER",
                                      path_, std::strerror(code)));
    }
    call(Operation::hello, protocol_version);
    set_patience(socket_.get(), patience_);
}

void Connection::fail_gone() const {
    throw Error(ENODEV, fmt::format("{}: the device server is gone: start it again (overtake "
                                    "serve), and open the device anew",
                                    path_));
}

Connection::Answer Connection::call(Operation operation, std::uint64_t first, std::uint64_t second,
                                    int descriptor) const {
    const Request request{.operation = operation, .reserved = 0, .arguments = {first, second}};
    const std::array<int, 1> descriptors{descriptor};
    const std::lock_guard lock(mutex_);
    if (is_lost_)
        throw Error(ENODEV,
                    fmt::format("{}: the device server did not answer in time: let it go on "
                                "or start it again, and open the device anew",
                                path_));
    const bool may_take_long = operation == Operation::clock_advance;
    if (may_take_long)
        set_patience(socket_.get(), {});
    send_packet(socket_.get(), bytes_of(request), {},
                std::span(descriptors).first(descriptor < 0 ? 0 : 1), 0);
    // A server that refuses a client sends the reason and closes without having read anything: then
    // the error is received before the reason.
    std::optional<Packet> packet = receive_packet(socket_.get(), received_, 0);
    if (!packet && errno == ECONNRESET)
        packet = receive_packet(socket_.get(), received_, 0);
    if (!packet && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        is_lost_ = true;
        shutdown(socket_.get(), SHUT_RDWR);
        throw Error(ETIMEDOUT,
                    fmt::format("{}: the device server does not answer: is it stopped?", path_));
    }
    if (may_take_long)
        set_patience(socket_.get(), patience_);
    if (!packet || packet->bytes < sizeof(Reply))
        fail_gone();
    if (!packet->whole)
        throw Error(EMFILE, fmt::format("{}: this process has no file descriptors left for what "
                                        "the device server gives it: raise its limit (ulimit -n)",
                                        path_));
    Reply reply;
    std::memcpy(&reply, received_.data(), sizeof(reply));
    const std::span payload = std::span(received_).subspan(
        sizeof(reply), std::min<std::size_t>(reply.bytes, packet->bytes - sizeof(reply)));
    if (reply.code != 0)
        throw Error(reply.code,
                    std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
    return {.values = reply.values,
            .payload = {payload.begin(), payload.end()},
            .descriptors = std::move(packet->descriptors)};
}

} // namespace overtake::server
