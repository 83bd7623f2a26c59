// SPDX-License-Identifier: MIT
//
// A client does not wait for ever for a device server that does not answer.
#include <cerrno>
#include <chrono>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "server/connection.hpp"

namespace overtake::test {
namespace {

using namespace std::chrono_literals;
using namespace server;

/// A socket at which a server would listen.
class Listener {
public:
    Listener() : directory_("/tmp/overtake-connection-XXXXXX") {
        if (!mkdtemp(directory_.data()))
            throw std::runtime_error("mkdtemp");
        path_ = directory_ + "/device";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, path_.size());
        socket_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
                0 ||
            listen(socket_.get(), 4) != 0)
            throw std::runtime_error("listen");
    }
    ~Listener() {
        unlink(path_.c_str());
        rmdir(directory_.c_str());
    }

    const std::string& path() const { return path_; }
    Descriptor take() const { return Descriptor(accept(socket_.get(), nullptr, nullptr)); }

private:
    std::string directory_, path_;
    Descriptor socket_;
};

template <class Call>
int code_of(Call call) {
    try {
        call();
        return 0;
    } catch (const Error& error) {
        return error.code();
    }
}

TEST(ServerConnection, IsRefusedWhereTheServerDoesNotGreet) {
    const Listener listener;
    EXPECT_EQ(code_of([&] { Connection(listener.path(), 50ms); }), ETIMEDOUT);
}

/// A late answer would be taken for the answer to another call.
TEST(ServerConnection, IsOverAfterACallThatWasNotAnswered) {
    const Listener listener;
    std::thread server([&] {
        const Descriptor client = listener.take();
        Request request;
        ASSERT_EQ(recv(client.get(), &request, sizeof(request), 0), ssize_t{sizeof(request)});
        Reply reply{};
        send(client.get(), &reply, sizeof(reply), MSG_NOSIGNAL);
        ASSERT_EQ(recv(client.get(), &request, sizeof(request), 0), ssize_t{sizeof(request)});
        // Its client closes without having had an answer.
        EXPECT_EQ(recv(client.get(), &request, sizeof(request), 0), 0);
    });
    {
        const Connection connection(listener.path(), 3s); // long enough for the test's greeting
        EXPECT_EQ(code_of([&] { connection.call(Operation::info); }), ETIMEDOUT);
        EXPECT_EQ(code_of([&] { connection.call(Operation::info); }), ENODEV);
    }
    server.join();
}

} // namespace
} // namespace overtake::test
