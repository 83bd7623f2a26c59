// SPDX-License-Identifier: MIT
#include "load/records.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace overtake::load {
namespace {

constexpr char header[] = "queued_ns,start_ns,end_ns,executed_ns,preemptions,status,due_ns,done_ns";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    int code = errno ? errno : EIO;
    throw Error(code, fmt::format("{}: {}: {}", path, what, std::strerror(code)));
}

Request parse(const std::string& line, const std::string& path, std::size_t number) {
    Request request{};
    char rest = 0;
    if (std::sscanf(line.c_str(), "%lu,%lu,%lu,%lu,%u,%d,%lu,%lu%c", &request.queued_ns,
                    &request.start_ns, &request.end_ns, &request.executed_ns, &request.preemptions,
                    &request.status, &request.due_ns, &request.done_ns, &rest) != 8)
        throw Error(EINVAL, fmt::format("{}:{}: not a record: {}", path, number, line));
    return request;
}

} // namespace

void write_records(std::ostream& file, const std::vector<Request>& requests) {
    file << header << '\n';
    for (const Request& request : requests)
        file << fmt::format("{},{},{},{},{},{},{},{}\n", request.queued_ns, request.start_ns,
                            request.end_ns, request.executed_ns, request.preemptions,
                            request.status, request.due_ns, request.done_ns);
}

std::vector<Request> read_records(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    if (!file)
        fail(path, "cannot be opened");
    std::string line;
    std::size_t number = 1;
    if (!std::getline(file, line) || line != header)
        throw Error(EINVAL, fmt::format("{}:1: not a file of records", path));
    std::vector<Request> requests;
    while (std::getline(file, line))
        requests.push_back(parse(line, path, ++number));
    return requests;
}

} // namespace overtake::load
