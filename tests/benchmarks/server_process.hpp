// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

#include "overtake/server.hpp"

namespace overtake::test {

/// A device server in a process of its own, to be made before there are threads.
class ServerProcess {
public:
    ServerProcess() {
        std::array<int, 2> ready{};
        if (pipe(ready.data()) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        child_ = fork();
        if (child_ < 0)
            throw std::system_error(errno, std::generic_category(), "fork");
        if (child_ == 0)
            _exit(serve(directory_.path + "/device", ready[1]));
        close(ready[1]);
        char byte = 0;
        ssize_t count = 0;
        do
            count = read(ready[0], &byte, 1);
        while (count < 0 && errno == EINTR);
        close(ready[0]);
        if (count != 1) {
            waitpid(child_, nullptr, 0);
            throw std::runtime_error("the server has ended before it was ready");
        }
    }
    ~ServerProcess() {
        kill(child_, SIGTERM);
        waitpid(child_, nullptr, 0);
    }
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    std::string path() const { return directory_.path + "/device"; }

private:
    struct Directory {
        Directory() {
            if (!mkdtemp(path.data()))
                throw std::system_error(errno, std::generic_category(), path);
        }
        ~Directory() {
            std::error_code ignored;
            std::filesystem::remove_all(path, ignored);
        }
        Directory(const Directory&) = delete;
        Directory& operator=(const Directory&) = delete;
        std::string path = "/tmp/overtake-bench-XXXXXX";
    };

    /// Serves until SIGTERM. Writes to `ready` when clients may connect.
    static int serve(const std::string& path, int ready) {
        try {
            ServerOptions options;
            options.socket_path = path;
            Server server(options);
            if (write(ready, "r", 1) != 1)
                return EXIT_FAILURE;
            close(ready);
            server.run();
            return EXIT_SUCCESS;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "server: %s\n", error.what());
            return EXIT_FAILURE;
        }
    }

    Directory directory_;
    pid_t child_ = -1;
};

} // namespace overtake::test
