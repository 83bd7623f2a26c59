// SPDX-License-Identifier: MIT
#include "server/listener.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "overtake/error.hpp"
#include "server/fail_with_errno.hpp"

namespace overtake::server {

namespace fs = std::filesystem;

Listener::Listener(const std::string& path, int given) : path_(path) {
    if (given >= 0) {
        socket_ = Descriptor(given);
        check_given();
    } else {
        make();
    }
    let_send_descriptors(socket_.get(), false);
}

Listener::~Listener() {
    if (!is_made_here_)
        return;
    unlink(path_.c_str()); // keeps the lock's file: another server may be waiting for it
}

void Listener::make() {
    const sockaddr_un address = address_of(path_);
    make_room_at(path_);
    lock();
    unlink(path_.c_str()); // left by a server that has ended
    socket_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_ ||
        bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        chmod(path_.c_str(), 0666) != 0 || // the server checks the rights of each client
        listen(socket_.get(), SOMAXCONN) != 0)
        fail_with_errno(path_);
    is_made_here_ = true;
}

/// Takes the lock.  Where others may write in the directory, a link could name any file of this
/// user.
void Listener::lock() {
    const std::string name = path_ + ".lock";
    lock_ = Descriptor(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_ && errno == ELOOP)
        throw Error(ELOOP, fmt::format("{}: is a symbolic link: remove it, or choose another "
                                       "--socket",
                                       name));
    if (!lock_)
        fail_with_errno(name);
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
        throw Error(EADDRINUSE, fmt::format("{}: a device server is there already: stop it, or "
                                            "choose another --socket",
                                            path_));
}

Descriptor Listener::accept() const {
    return Descriptor(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Listener::check_given() const {
    int type = 0;
    int listens = 0;
    socklen_t bytes = sizeof(int);
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
        type != SOCK_SEQPACKET ||
        getsockopt(socket_.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0)
        throw Error(EINVAL, "the socket that was handed over is no listening one of packets: "
                            "in a socket unit, ListenSequentialPacket=");
    // With O_NONBLOCK, accept() does not wait if a client has closed its connection again.
    if (fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0)
        fail_with_errno("the socket that was handed over");
}

/// Makes the directory, and checks that at the path there is at most a socket of another server.
void Listener::make_room_at(const fs::path& path) {
    std::error_code error;
    if (path.has_parent_path())
        fs::create_directories(path.parent_path(), error);
    if (error)
        throw Error(error.value(), fmt::format("{}: cannot make the directory: {}", path.string(),
                                               error.message()));
    if (fs::exists(path, error) && !fs::is_socket(path, error))
        throw Error(EEXIST, fmt::format("{}: is there, and is no socket: name another place",
                                        path.string()));
}

sockaddr_un Listener::address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path))
        throw Error(EINVAL, fmt::format("socket '{}': a path has 1 to {} characters: name one with "
                                        "--socket or OVERTAKE_SERVER",
                                        path, sizeof(address.sun_path) - 1));
    path.copy(address.sun_path, path.size());
    return address;
}

} // namespace overtake::server
