// SPDX-License-Identifier: MIT
#include "watch/kernel_source.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/types.h>
#include <unistd.h>

#include "bpf/copy_event.h"
#include "overtake/error.hpp"
#include "watch/tracepoint_format.hpp"

// The program, compiled at build; it is small, and part of this one.
asm(".pushsection .rodata\n"
    ".balign 8\n"
    "overtake_copy_event_begin: .incbin \"" OVERTAKE_BPF_OBJECT "\"\n"
    "overtake_copy_event_end:\n"
    ".popsection\n");
extern "C" {
extern const char overtake_copy_event_begin[] __attribute__((visibility("hidden")));
extern const char overtake_copy_event_end[] __attribute__((visibility("hidden")));
}

namespace overtake::watch {

namespace {

constexpr const char* events_directory = "/sys/kernel/tracing/events/overtake";
constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t nap_ns = 5 * ns_per_ms;

std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void require_tracepoints() {
    if (access("/sys/kernel/tracing/events", R_OK | X_OK) != 0)
        throw Error(EPERM, fmt::format("/sys/kernel/tracing/events: {}: watching the driver needs "
                                       "tracefs and the right to use BPF: run as root",
                                       std::strerror(errno)));
    if (access(events_directory, R_OK | X_OK) != 0)
        throw Error(ENOENT, fmt::format("{}: {}: is overtake.ko loaded?", events_directory,
                                        std::strerror(errno)));
}

class KernelEvents final : public EventSource {
public:
    KernelEvents() {
        require_tracepoints();
        libbpf_set_print(nullptr);
        read_formats();
        object_.reset(bpf_object__open_mem(
            overtake_copy_event_begin,
            static_cast<std::size_t>(overtake_copy_event_end - overtake_copy_event_begin),
            nullptr));
        if (!object_)
            fail("open the BPF program", errno);
        if (const int error = bpf_object__load(object_.get()); error != 0)
            fail("load the BPF program", -error);
        program_ = bpf_object__find_program_by_name(object_.get(), "copy_event");
        lost_fd_ = bpf_object__find_map_fd_by_name(object_.get(), "lost");
        ring_.reset(ring_buffer__new(bpf_object__find_map_fd_by_name(object_.get(), "records"),
                                     take_record, this, nullptr));
        if (!program_ || lost_fd_ < 0 || !ring_)
            fail("set up the BPF program", errno);
        attach();
    }

    std::size_t read(std::span<Event> out, std::int64_t deadline_ns) override {
        if (deadline_ns < 0)
            throw Error(EINVAL, "events: negative deadline");
        for (;;) {
            if (const std::size_t count = take(out); count != 0 || out.empty())
                return count;
            const std::int64_t left = deadline_ns - now_ns();
            if (left <= 0)
                return 0;
            const timespec nap{0, static_cast<long>(std::min(left, nap_ns))};
            nanosleep(&nap, nullptr);
        }
    }

    /// What found no room, and what the kernel did not run the program for, since the CPU was busy
    /// with another one.
    std::uint64_t lost() const noexcept override {
        std::uint64_t lost = 0;
        const std::uint32_t key = 0;
        bpf_map_lookup_elem(lost_fd_, &key, &lost);
        bpf_prog_info info{};
        std::uint32_t bytes = sizeof(info);
        if (bpf_obj_get_info_by_fd(bpf_program__fd(program_), &info, &bytes) == 0)
            lost += info.recursion_misses;
        return lost;
    }

private:
    [[noreturn]] static void fail(const char* what, int code) {
        if (code == EPERM || code == EACCES)
            throw Error(EPERM, fmt::format("cannot {}: {}: watching the driver needs CAP_BPF and "
                                           "CAP_PERFMON: run as root",
                                           what, std::strerror(code)));
        throw Error(code, fmt::format("cannot {}: {}: does this kernel have CONFIG_BPF_SYSCALL and "
                                      "CONFIG_BPF_EVENTS?",
                                      what, std::strerror(code)));
    }

    /// Of those that this driver has: an older one has fewer.
    void read_formats() {
        for (std::size_t type = 0; type < event_type_count; type++) {
            const std::string name(event_type_name(static_cast<EventType>(type)));
            std::ifstream text(fmt::format("{}/{}/format", events_directory, name));
            if (text)
                formats_[type].emplace(text, COPIED_RECORD_BYTES);
        }
    }

    /// What begins something comes last: then it is not seen without what ends it.
    void attach() {
        for (std::size_t i = event_type_count; i-- > 0;) {
            if (!formats_[i])
                continue;
            LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = i);
            bpf_link* link = bpf_program__attach_tracepoint_opts(
                program_, "overtake",
                std::string(event_type_name(static_cast<EventType>(i))).c_str(), &options);
            if (!link)
                fail("attach the BPF program", errno);
            links_.emplace_back(link);
        }
    }

    static int take_record(void* context, void* data, std::size_t bytes) {
        auto& self = *static_cast<KernelEvents*>(context);
        const auto& copy = *static_cast<const copied_event*>(data);
        if (bytes < sizeof(copy) || copy.type >= event_type_count || !self.formats_[copy.type])
            return 0;
        self.pending_.push_back(event_of(static_cast<EventType>(copy.type),
                                         *self.formats_[copy.type],
                                         std::as_bytes(std::span(copy.record))));
        return 0;
    }

    std::size_t take(std::span<Event> out) {
        if (pending_.empty())
            ring_buffer__consume(ring_.get());
        const std::size_t count = std::min(out.size(), pending_.size());
        const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
        std::copy(pending_.begin(), end, out.begin());
        pending_.erase(pending_.begin(), end);
        return count;
    }

    struct Closer {
        void operator()(bpf_object* object) const { bpf_object__close(object); }
        void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
        void operator()(bpf_link* link) const { bpf_link__destroy(link); }
    };

    std::array<std::optional<TracepointFormat>, event_type_count> formats_;
    std::unique_ptr<bpf_object, Closer> object_;
    std::unique_ptr<ring_buffer, Closer> ring_;
    std::vector<std::unique_ptr<bpf_link, Closer>> links_; ///< go first
    bpf_program* program_ = nullptr;
    int lost_fd_ = -1;
    std::deque<Event> pending_;
};

} // namespace

std::unique_ptr<EventSource> open_kernel_events() {
    return std::make_unique<KernelEvents>();
}

} // namespace overtake::watch
