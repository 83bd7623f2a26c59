// SPDX-License-Identifier: MIT
//
// A client's connection to a device server.
#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "overtake/error.hpp"
#include "server/descriptor.hpp"
#include "server/wire.hpp"

namespace overtake::server {

/// The longest times that a working server may take to answer a call, and to answer a new client.
constexpr std::chrono::seconds call_patience{30}, greeting_patience{10};

/// Thread safe: one call follows the other.
class Connection {
public:
    /// Throws Error: ENOENT or ECONNREFUSED where no server is, EACCES, naming the missing
    /// permission, EPROTO for another version.
    /// `patience` is how long each call waits for the server; when it connects it waits no longer
    /// than greeting_patience.  0: waits without limit.  Advancing a manual clock always waits
    /// without limit.
    explicit Connection(std::string path, std::chrono::milliseconds patience = {});

    struct Answer {
        std::array<std::uint64_t, 2> values{};
        std::vector<std::byte> payload;
        std::array<Descriptor, most_descriptors> descriptors;
    };
    /// Throws Error: the server's, ENODEV if the server has ended, or ETIMEDOUT.  After ETIMEDOUT
    /// the connection is over, and later calls throw ENODEV: a late answer would be taken for the
    /// answer to another call.
    Answer call(Operation operation, std::uint64_t first = 0, std::uint64_t second = 0,
                int descriptor = -1) const;

    const std::string& path() const noexcept { return path_; }
    /// Throws the error of all calls after the server has ended.
    [[noreturn]] void fail_gone() const;

private:
    std::string path_;
    std::chrono::milliseconds patience_;
    Descriptor socket_;
    mutable std::mutex mutex_;
    mutable bool is_lost_ = false;
    mutable std::vector<std::byte> received_;
};

/// Calls `make` for an object that the server has made, `id`.  If that throws, has the server
/// remove the object with `operation`.
template <class Make>
void make_or_give_back(const Connection& connection, Operation operation, std::uint64_t id,
                       Make make) {
    try {
        make();
    } catch (...) {
        try {
            connection.call(operation, id);
        } catch (const std::exception&) { // the object is removed with the connection
        }
        throw;
    }
}

} // namespace overtake::server
