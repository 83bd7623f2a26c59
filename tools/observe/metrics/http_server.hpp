// SPDX-License-Identifier: MIT
//
// Serves one text over HTTP, for scrapers.
#pragma once

#include <functional>
#include <string>

namespace overtake::metrics {

struct Address {
    std::string host; ///< an IP address
    int port = 0;     ///< 0: any free port
};

/// Parses "9101", "127.0.0.1:9101" or "[::1]:9101". The default address is 127.0.0.1; host names
/// are not looked up. Throws Error (EINVAL) for other texts, with the possible forms.
Address parse_address(const std::string& text);

/// Returns the URL of the page: "http://127.0.0.1:9101/metrics".
std::string url_of(const Address& address);

/// Answers GET /metrics with the result of `text`. Calls `is_ready` with the address on which it
/// listens. Returns 0 after SIGINT or SIGTERM. A connection ends after one answer, or after two
/// seconds; eight are served at a time. Throws Error if the function cannot listen on the address.
int serve_text(const Address& address, const std::function<std::string()>& text,
               const std::function<void(const Address&)>& is_ready);

} // namespace overtake::metrics
