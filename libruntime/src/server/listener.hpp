// SPDX-License-Identifier: MIT
//
// The socket through which clients find a device server.
#pragma once

#include <filesystem>
#include <string>
#include <sys/un.h>

#include "server/descriptor.hpp"

namespace overtake::server {

/// A socket at a path.  A lock beside it shows whether the server that made it still runs.
class Listener {
public:
    /// `given`: a socket that listens already; -1: makes one.  Throws Error.
    Listener(const std::string& path, int given);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    int get() const noexcept { return socket_.get(); }
    /// Returns a connection without waiting; none, with errno, if there is none.  Its client may
    /// not send descriptors yet: see let_send_descriptors().
    Descriptor accept() const;

private:
    void make();
    void lock();
    void check_given() const;
    static void make_room_at(const std::filesystem::path& path);
    static sockaddr_un address_of(const std::string& path);

    const std::string path_;
    Descriptor lock_;
    Descriptor socket_;
    bool is_made_here_ = false;
};

} // namespace overtake::server
