// SPDX-License-Identifier: MIT
//
// Serves one text over HTTP, for scrapers.
#pragma once

#include <functional>
#include <string>

namespace overtake::metrics {

struct Address {
    std::string host; ///< an IP address
    int port = 0;     ///< 0: any that is free
};

/// "9101", "127.0.0.1:9101" or "[::1]:9101"; without an address that of this machine alone, without
/// a name to be looked up. Throws Error (EINVAL) that says what is possible.
Address parse_address(const std::string& text);

/// Of a page: "http://127.0.0.1:9101/metrics".
std::string url_of(const Address& address);

/// Answers GET /metrics with what `text` returns, and calls `is_ready` with the address it listens
/// at. Returns 0 once SIGINT or SIGTERM has come. A connection is over after its one answer, or
/// after two seconds; a few are served at a time. Throws Error if the address cannot be had.
int serve_text(const Address& address, const std::function<std::string()>& text,
               const std::function<void(const Address&)>& is_ready);

} // namespace overtake::metrics
