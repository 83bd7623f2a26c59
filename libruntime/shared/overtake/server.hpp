// SPDX-License-Identifier: MIT
//
// Server: one embedded device for several processes, behind a UNIX socket.  For `overtake serve`
// and for tests.  Not installed, like model_contents.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "overtake/device.hpp"
#include "overtake/export.hpp"
#include "overtake/service.hpp"

namespace overtake {

namespace server {
class Service;
}

/// Returns the documented defaults (docs/reference/scenarios.md, docs/use/server.md).
OVERTAKE_API ServiceSettings default_service_settings();

/// The CPU time that one FC may take by default: the same as a driver's.
inline constexpr std::uint64_t server_fc_clock_ns = 2'000'000'000;

struct ServerOptions {
    /// The device.  fc_clock_ns: 0 = server_fc_clock_ns, since an FC of one client may hold up
    /// others.
    EmbeddedOptions device;
    /// The socket, which the server makes with its directory.  The socket of a server that has
    /// ended is replaced.
    std::string socket_path;
    /// A socket that listens already (systemd), called socket_path; -1: none, the server makes
    /// socket_path.
    int listening_socket = -1;
    /// The policy of service mode, for the tasks of all clients together.
    std::string policy = "priority";
    ServiceSettings service = default_service_settings();
    std::vector<uid_t> high_users;  ///< may use priority 255, beside root and the server's user
    std::vector<gid_t> high_groups; ///< likewise groups, supplementary ones included
    unsigned clients = 64;          ///< most clients at a time
    unsigned clients_of_user = 48;  ///< likewise of one user other than root and the server's
    /// Memory of all clients together; 0 = half of the machine's, or of its control groups' limit
    /// if that is lower.
    std::size_t memory_bytes = 0;
    unsigned idle_exit_s = 0;  ///< run() returns after this time without a client; 0 = never
    bool measure_lock = false; ///< the status reports how long the device's lock was held
};

/// Errors: throws Error, whose text names the place and the remedy.
class OVERTAKE_API Server {
public:
    /// Listens at the socket.  EADDRINUSE if a server has the socket already.
    explicit Server(const ServerOptions& options);
    /// Ends every client's work and closes its connection.  It does not wait for long for a client
    /// that has sent a file that cannot be closed.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Serves until stop().
    void run();
    /// Makes run() return.  Any thread and a signal handler may call it.
    void stop() noexcept;

private:
    std::unique_ptr<server::Service> service_;
};

/// Returns the status of a server and of its clients, as JSON.  It has other users' clients only
/// for root and for the server's own user.  Throws Error as open_server().
OVERTAKE_API std::string server_status(const std::string& path);

struct ServerReport {
    std::string status; ///< as server_status()
    std::vector<drm_overtake_core_info> cores;
};

/// Returns the status and the counters of the server's cores, which are exact for root and the
/// server's own user, and coarse for others.  Throws Error as open_server(), and ETIMEDOUT if the
/// server takes longer than `patience` for an answer.
OVERTAKE_API ServerReport server_report(const std::string& path,
                                        std::chrono::milliseconds patience);

/// Returns the default path of a server's socket: OVERTAKE_SERVER, or /run/overtake/device for
/// root, or overtake/device in XDG_RUNTIME_DIR; empty if that is not set.
OVERTAKE_API std::string default_server_path();

} // namespace overtake
