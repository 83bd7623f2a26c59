// SPDX-License-Identifier: MIT
//
// cpp-httplib listens, parses and answers. Its timeouts hold for one read or one write, so a client
// that sends a byte a second would occupy a thread without end. BoundedStream fails reads and
// writes after the connection's time, and reads beyond the bytes that a request may have.
#include "observe/metrics/http_server.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "overtake/error.hpp"

namespace overtake::metrics {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto connection_time = std::chrono::seconds(2);
constexpr std::size_t threads = 8;
constexpr std::size_t most_request_bytes = 16 * 1024;
constexpr const char* content_type = "text/plain; version=0.0.4; charset=utf-8";

class BoundedStream final : public httplib::Stream {
public:
    explicit BoundedStream(socket_t socket) : socket_(socket) {}

    bool is_readable() const override { return left_ > 0 && is_ready(POLLIN); }
    bool is_writable() const override { return is_ready(POLLOUT); }
    ssize_t read(char* data, std::size_t size) override {
        if (!is_readable())
            return -1;
        const ssize_t bytes = recv(socket_, data, std::min(size, left_), 0);
        left_ -= static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
        return bytes;
    }
    ssize_t write(const char* data, std::size_t size) override {
        return is_writable() ? send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
    }
    // The answer does not depend on these addresses.
    void get_remote_ip_and_port(std::string&, int&) const override {}
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return socket_; }

private:
    /// Waits until the socket is ready. Returns false when the connection's time is up.
    bool is_ready(short events) const {
        for (;;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
            pollfd wanted{.fd = socket_, .events = events, .revents = 0};
            if (left.count() <= 0)
                return false;
            const int ready = poll(&wanted, 1, static_cast<int>(left.count()));
            if (ready > 0)
                return true;
            if (ready == 0 || errno != EINTR)
                return false;
        }
    }

    socket_t socket_;
    Clock::time_point end_ = Clock::now() + connection_time;
    std::size_t left_ = most_request_bytes;
};

class HttpServer final : public httplib::Server {
    bool process_and_close_socket(socket_t socket) override {
        BoundedStream stream(socket);
        const bool served = process(stream);
        shutdown(socket, SHUT_RDWR);
        close(socket);
        return served;
    }

    /// Serves one request. Versions of cpp-httplib differ in the arguments of process_request().
    template <class Stream>
    bool process(Stream& stream) {
        bool is_closed = false;
        if constexpr (requires { this->process_request(stream, true, is_closed, nullptr); })
            return process_request(stream, true, is_closed, nullptr);
        else
            return process_request(stream, "", 0, "", 0, true, is_closed, nullptr);
    }
};

/// Blocks SIGINT and SIGTERM while it lives: the thread that calls wait() gets them.
class AwaitedSignals {
public:
    AwaitedSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~AwaitedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AwaitedSignals(const AwaitedSignals&) = delete;
    AwaitedSignals& operator=(const AwaitedSignals&) = delete;
    void wait() const {
        int signal = 0;
        sigwait(&set_, &signal);
    }

private:
    sigset_t set_{};
    sigset_t before_{};
};

bool is_ip_address(const std::string& host) {
    in6_addr ignored{};
    return inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

int bind(HttpServer& server, const Address& address) {
    errno = 0;
    const int port = address.port != 0
                         ? (server.bind_to_port(address.host, address.port) ? address.port : -1)
                         : server.bind_to_any_port(address.host);
    if (port < 0)
        throw Error(errno, fmt::format("{}:{}: cannot listen: {}: choose another address or port "
                                       "(--listen)",
                                       address.host, address.port, std::strerror(errno)));
    return port;
}

} // namespace

Address parse_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
    const std::string digits = colon == std::string::npos ? text : text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string::npos)
        host.clear(); // half of an address without brackets
    unsigned port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (!is_ip_address(host) || error != std::errc() || end != digits.data() + digits.size() ||
        port > 65535)
        throw Error(EINVAL,
                    fmt::format("'{}' is not PORT, ADDRESS:PORT or [ADDRESS]:PORT, with the "
                                "number of a port and an IP address",
                                text));
    return {.host = host, .port = static_cast<int>(port)};
}

std::string url_of(const Address& address) {
    const bool is_v6 = address.host.find(':') != std::string::npos;
    return fmt::format("http://{}{}{}:{}/metrics", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "",
                       address.port);
}

int serve_text(const Address& address, const std::function<std::string()>& text,
               const std::function<void(const Address&)>& is_ready) {
    const AwaitedSignals signals; // before the threads start, which then do not get the signals
    HttpServer server;
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); }; // the server frees it
    server.set_socket_options([](socket_t socket) { // the default would share the port
        const int yes = 1;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
        response.set_content(text(), content_type);
    });
    Address bound = address;
    bound.port = bind(server, address);
    std::thread listener([&] { server.listen_after_bind(); });
    is_ready(bound);
    signals.wait();
    server.stop();
    listener.join();
    return 0;
}

} // namespace overtake::metrics
