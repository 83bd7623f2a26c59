// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "overtake/server.hpp"

namespace overtake::test {

/// A device server in a process of its own, to be made before there are threads.
class ServerProcess {
public:
    ServerProcess() {
        std::string directory = "/tmp/overtake-bench-XXXXXX";
        std::array<int, 2> ready{};
        if (!mkdtemp(directory.data()) || pipe(ready.data()) != 0)
            throw std::runtime_error("no place for a server");
        directory_ = directory;
        child_ = fork();
        if (child_ == 0) {
            ServerOptions options;
            options.socket_path = path();
            Server server(options);
            (void)!write(ready[1], "r", 1);
            server.run();
            _exit(0);
        }
        char byte = 0;
        (void)!read(ready[0], &byte, 1);
    }
    ~ServerProcess() {
        kill(child_, SIGTERM);
        waitpid(child_, nullptr, 0);
        std::filesystem::remove_all(directory_);
    }
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    std::string path() const { return directory_ + "/device"; }

private:
    std::string directory_;
    pid_t child_ = -1;
};

} // namespace overtake::test
