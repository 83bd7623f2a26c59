// SPDX-License-Identifier: MIT
#include "server/descriptor.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include "overtake/error.hpp"

namespace overtake::server {

namespace {

constexpr int most_wake_ups = 64;
#ifdef SO_PASSRIGHTS
constexpr int pass_rights = SO_PASSRIGHTS;
#else
constexpr int pass_rights = 83; ///< since Linux 6.16
#endif

union Control {
    cmsghdr align;
    std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> bytes;
};

/// Takes the descriptors of a control message; all of them belong to this process now.
void take_descriptors(const cmsghdr& message, Packet& packet) {
    const std::size_t count = (message.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; i++) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(&message) + i * sizeof(int), sizeof(fd));
        Descriptor taken(fd);
        if (i < packet.descriptors.size())
            packet.descriptors[i] = std::move(taken);
        else
            packet.whole = false;
    }
}

} // namespace

bool send_packet(int socket, std::span<const std::byte> first, std::span<const std::byte> second,
                 std::span<const int> descriptors, int flags) {
    std::array<iovec, 2> parts{{{const_cast<std::byte*>(first.data()), first.size()},
                                {const_cast<std::byte*>(second.data()), second.size()}}};
    Control control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (!descriptors.empty()) {
        message.msg_control = control.bytes.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr& header = *CMSG_FIRSTHDR(&message);
        header.cmsg_level = SOL_SOCKET;
        header.cmsg_type = SCM_RIGHTS;
        header.cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(&header), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

std::optional<Packet> receive_packet(int socket, std::span<std::byte> into, int flags) {
    iovec part{into.data(), into.size()};
    Control control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    ssize_t received;
    do
        received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return std::nullopt;
    Packet packet;
    packet.bytes = static_cast<std::size_t>(received);
    packet.whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
            take_descriptors(*header, packet);
    return packet;
}

void let_send_descriptors(int socket, bool may) noexcept {
    const int value = may;
    setsockopt(socket, SOL_SOCKET, pass_rights, &value, sizeof(value));
}

void send_wake_up(int socket) noexcept {
    const char wake_up = 1;
    while (send(socket, &wake_up, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

bool wait_for_wake_up(int socket) noexcept {
    char wake_up;
    const ssize_t received = recv(socket, &wake_up, 1, 0);
    return received > 0 || (received < 0 && errno == EINTR);
}

bool take_wake_ups(int socket) noexcept {
    // A peer that sends wake-ups without end does not keep this thread here.
    for (int taken = 0; taken < most_wake_ups; taken++) {
        char wake_up;
        const ssize_t received = recv(socket, &wake_up, 1, MSG_DONTWAIT);
        if (received > 0 || (received < 0 && errno == EINTR))
            continue;
        return received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }
    return true;
}

std::pair<Descriptor, Descriptor> make_channel() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw Error(errno, std::string("create queue: socketpair: ") + std::strerror(errno));
    for (const int end : ends)
        let_send_descriptors(end, false);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

} // namespace overtake::server
