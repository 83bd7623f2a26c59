// SPDX-License-Identifier: MIT
//
// Replaces kernel_source.cpp where libbpf or clang was missing at build time.
#include <cerrno>

#include "observe/watch/kernel_source.hpp"
#include "overtake/error.hpp"

namespace overtake::watch {

std::unique_ptr<EventSource> open_kernel_events(const EngineChoice&) {
    throw Error(ENOTSUP, "this command was built without clang or libbpf, and cannot watch a "
                         "kernel device: build it anew with them (scripts/setup.sh), or watch a "
                         "device server");
}

std::unique_ptr<EventSource> add_engine_tasks(std::unique_ptr<EventSource> device,
                                              const EngineChoice&) {
    return device;
}

std::vector<ProcessorEvent> take_processor_events(EventSource&) {
    return {};
}

std::unique_ptr<EventSource> open_engine_events(const EngineChoice&) {
    throw Error(ENOTSUP,
                "this command was built without clang or libbpf, and cannot watch engines: "
                "build it anew with them (scripts/setup.sh)");
}

std::uint64_t lost_of_engines(const EventSource&) noexcept {
    return 0;
}

std::uint64_t dropped_of_engines(const EventSource&) noexcept {
    return 0;
}

std::string engines_left_out(const EventSource&) {
    return "";
}

} // namespace overtake::watch
