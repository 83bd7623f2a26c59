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

/// How long a server that works may take to answer a call, and a new client.
constexpr std::chrono::seconds call_patience{30}, greeting_patience{10};

/// Thread safe: one call after the other.
class Connection {
public:
    /// Throws Error: ENOENT or ECONNREFUSED where no server is, EACCES, naming the permission that
    /// lacks, EPROTO for another version.
    /// `patience` is how long it waits for the server each time, and no more than greeting_patience
    /// when it connects; 0: for as long as it takes.  A manual clock may take its time.
    explicit Connection(std::string path, std::chrono::milliseconds patience = {});

    struct Answer {
        std::array<std::uint64_t, 2> values{};
        std::vector<std::byte> payload;
        std::array<Descriptor, most_descriptors> descriptors;
    };
    /// Throws Error: the server's, ENODEV if it is gone, or ETIMEDOUT.  Then the connection is over,
    /// and later calls throw ENODEV: what came late would be the answer to another question.
    Answer call(Operation operation, std::uint64_t first = 0, std::uint64_t second = 0,
                int descriptor = -1) const;

    const std::string& path() const noexcept { return path_; }
    /// What is thrown from now on, once the server is gone.
    [[noreturn]] void fail_gone() const;

private:
    std::string path_;
    std::chrono::milliseconds patience_;
    Descriptor socket_;
    mutable std::mutex mutex_;
    mutable bool is_lost_ = false;
    mutable std::vector<std::byte> received_;
};

/// Does what is to be done with what the server has made, `id`.  If that throws, has the server
/// take it back with `operation`.
template <class Make>
void make_or_give_back(const Connection& connection, Operation operation, std::uint64_t id,
                       Make make) {
    try {
        make();
    } catch (...) {
        try {
            connection.call(operation, id);
        } catch (const std::exception&) { // it goes with the connection
        }
        throw;
    }
}

} // namespace overtake::server
