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

/// The documented ones (docs/reference/scenarios.md, docs/use/server.md).
OVERTAKE_API ServiceSettings default_service_settings();

/// What one FC may take of the host's time where the options do not say otherwise: as a driver's.
inline constexpr std::uint64_t server_fc_clock_ns = 2'000'000'000;

struct ServerOptions {
    /// Of the device.  fc_clock_ns: 0 = server_fc_clock_ns, since here an FC holds up others.
    EmbeddedOptions device;
    /// Made, with its directory; what a server that is gone has left is replaced.
    std::string socket_path;
    /// A socket that listens already (systemd); then socket_path is only what it is called.
    int listening_socket = -1;
    /// Of service mode, for the tasks of all clients together.
    std::string policy = "priority";
    ServiceSettings service = default_service_settings();
    std::vector<uid_t> high_users;  ///< who may use priority 255, beside root and the server's user
    std::vector<gid_t> high_groups; ///< the same of groups, supplementary ones included
    unsigned clients = 64;          ///< at a time
    unsigned clients_of_user = 48;  ///< the same, of one user other than root and the server's
    /// Of all clients together; 0 = half of the machine's, or of what its control group may have.
    std::size_t memory_bytes = 0;
    unsigned idle_exit_s = 0;  ///< run() returns after so long without a client; 0 = never
    bool measure_lock = false; ///< the status says how long the device's lock was held
};

/// Errors: throws Error, of which the text names the place and the remedy.
class OVERTAKE_API Server {
public:
    /// Listens.  EADDRINUSE if a server has the socket already.
    explicit Server(const ServerOptions& options);
    /// Ends every client's work and closes its connection.  Does not wait for long for a client
    /// that has sent what cannot be closed.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Serves until stop().
    void run();
    /// From any thread, or from a signal handler.
    void stop() noexcept;

private:
    std::unique_ptr<server::Service> service_;
};

/// The status of a server and of its clients, as JSON.  Other users' clients are in it only for
/// root and for the server's own user.  Throws Error as open_server().
OVERTAKE_API std::string server_status(const std::string& path);

struct ServerReport {
    std::string status; ///< as server_status()
    std::vector<drm_overtake_core_info> cores;
};

/// The same with the counters of its cores: exact for root and the server's own user.  Throws Error
/// as open_server(), and ETIMEDOUT if the server takes longer than `patience` for an answer.
OVERTAKE_API ServerReport server_report(const std::string& path,
                                        std::chrono::milliseconds patience);

/// Where a server is by default: OVERTAKE_SERVER, or /run/overtake/device for root,
/// or overtake/device in XDG_RUNTIME_DIR; empty if that is not set.
OVERTAKE_API std::string default_server_path();

} // namespace overtake
