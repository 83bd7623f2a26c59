// SPDX-License-Identifier: MIT
//
// The socket at which a device server is found.
#pragma once

#include <filesystem>
#include <string>
#include <sys/un.h>

#include "server/descriptor.hpp"

namespace overtake::server {

/// A socket at a path.  A lock beside it says whether the server that made it is still there.
class Listener {
public:
    /// `given`: one that listens already; -1: one is made.  Throws Error.
    Listener(const std::string& path, int given);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    int get() const noexcept { return socket_.get(); }
    /// Without waiting.  None, with errno, if there is none.  See let_send_descriptors(): it may
    /// not.
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
