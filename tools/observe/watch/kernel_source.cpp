// SPDX-License-Identifier: MIT
#include "observe/watch/kernel_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/types.h>
#include <unistd.h>

#include "file_descriptor.hpp"
#include "observe/bpf/copy_event.h"
#include "observe/watch/ended_processes.hpp"
#include "observe/watch/engine_libraries.hpp"
#include "observe/watch/engine_tasks.hpp"
#include "observe/watch/processor_probes.hpp"
#include "observe/watch/tracepoint_format.hpp"
#include "overtake/error.hpp"

// The programs, compiled with the command; they are small, and part of its file.
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
constexpr std::int64_t look_interval_ns = 1000 * ns_per_ms;
constexpr std::size_t most_pending = 1u << 18;

std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void require_tracepoints() {
    if (access("/sys/kernel/tracing/events", R_OK | X_OK) != 0)
        throw Error(EPERM, fmt::format("/sys/kernel/tracing/events: {}: watching the driver needs "
                                       "tracefs and the right to use BPF: {}",
                                       std::strerror(errno),
                                       geteuid() == 0 ? "mount tracefs there" : "run as root"));
    if (access(events_directory, R_OK | X_OK) != 0)
        throw Error(ENOENT, fmt::format("{}: {}: is overtake.ko loaded?", events_directory,
                                        std::strerror(errno)));
}

/// A source that also reports events of engines.
class TellsOfEngines {
public:
    virtual ~TellsOfEngines() = default;
    virtual std::uint64_t lost_of_engines() const noexcept = 0;
    virtual std::uint64_t dropped_of_engines() const noexcept = 0;
    virtual std::string engines_left_out() const = 0;
    virtual std::vector<ProcessorEvent> take_processor_events() = 0;
};

bool is_wanted(const EngineChoice& engines, Probe probe) {
    if (engines.wanted)
        return true;
    return probe == Probe::processor ? engines.processors || engines.runs
                                     : probe > first_processor_probe && engines.runs;
}

bool is_any_wanted(const EngineChoice& engines) {
    return engines.wanted || engines.processors || engines.runs;
}

/// Moves as many events as there is room for. Returns their number.
std::size_t move_first(std::deque<Event>& from, std::span<Event> out) {
    const std::size_t count = std::min(out.size(), from.size());
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(from.begin(), end, out.begin());
    from.erase(from.begin(), end);
    return count;
}

struct Closer {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
    void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

/// Reports the events of the driver's tracepoints, of the engines' probes, or of both.
class KernelEvents final : public EventSource, public TellsOfEngines {
public:
    /// `libraries`: the libraries whose probes are read; null: none.
    KernelEvents(bool tracepoints, const EngineChoice& engines, const EngineLibraries* libraries)
        : choice_(engines) {
        bool probes = libraries != nullptr;
        if (tracepoints)
            require_tracepoints();
        libbpf_set_print(nullptr);
        if (tracepoints)
            read_formats();
        // If the kernel lacks what USDT probes need, the driver's events alone are better than
        // nothing.
        if (const int error = load(probes); error != 0 && !(probes && load(probes = false) == 0))
            fail("load the BPF program", -error);
        lost_fd_ = bpf_object__find_map_fd_by_name(object_.get(), "lost");
        ring_.reset(ring_buffer__new(bpf_object__find_map_fd_by_name(object_.get(), "records"),
                                     take_record, this, nullptr));
        if (lost_fd_ < 0 || !ring_)
            fail("set up the BPF program", errno);
        {
            const std::vector<Descriptor> kept = descriptors_for_tracepoints();
            if (probes)
                attach_probes(*libraries);
        }
        if (tracepoints)
            attach();
    }

    EngineTasks& engine_tasks() noexcept { return engine_tasks_; }

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

    /// Counts the events that found no room, and those for which the kernel did not run the program
    /// because the CPU was busy with another one.
    std::uint64_t lost() const noexcept override {
        return lost_of("copy_event", LOST_OF_DRIVER) + lost_of_engines();
    }
    std::uint64_t lost_of_engines() const noexcept override {
        return lost_of("copy_probe", LOST_OF_ENGINES) + engine_tasks_.refused() +
               engine_tasks_.dropped();
    }
    std::uint64_t dropped_of_engines() const noexcept override { return engine_tasks_.dropped(); }
    std::vector<ProcessorEvent> take_processor_events() override {
        return std::exchange(processor_events_, {});
    }
    std::string engines_left_out() const override {
        return is_in_first_namespace_ ? left_out_.text()
                                      : "the tasks of engines are not shown: that needs the first "
                                        "PID namespace, outside of containers";
    }

private:
    [[noreturn]] static void fail(const char* what, int code) {
        if (code == EPERM || code == EACCES)
            throw Error(EPERM, fmt::format("cannot {}: {}: watching the driver needs CAP_BPF and "
                                           "CAP_PERFMON: run as root",
                                           what, std::strerror(code)));
        if (code == EMFILE || code == ENFILE)
            throw Error(code,
                        fmt::format("cannot {}: {}: raise the limit of open files (ulimit -n)",
                                    what, std::strerror(code)));
        throw Error(code, fmt::format("cannot {}: {}: does this kernel have CONFIG_BPF_SYSCALL and "
                                      "CONFIG_BPF_EVENTS?",
                                      what, std::strerror(code)));
    }

    bpf_program* program_called(const char* name) const noexcept {
        return bpf_object__find_program_by_name(object_.get(), name);
    }

    std::uint64_t lost_of(const char* name, std::uint32_t key) const noexcept {
        std::uint64_t lost = 0;
        bpf_map_lookup_elem(lost_fd_, &key, &lost);
        const int program = bpf_program__fd(program_called(name));
        bpf_prog_info info{};
        std::uint32_t bytes = sizeof(info);
        if (program >= 0 && bpf_obj_get_info_by_fd(program, &info, &bytes) == 0)
            lost += info.recursion_misses;
        return lost;
    }

    /// Returns 0, or a negative errno.
    int load(bool probes) {
        object_.reset(bpf_object__open_mem(
            overtake_copy_event_begin,
            static_cast<std::size_t>(overtake_copy_event_end - overtake_copy_event_begin),
            nullptr));
        if (!object_)
            return -errno;
        bpf_program__set_autoload(program_called("copy_probe"), probes);
        return bpf_object__load(object_.get());
    }

    /// Reads the formats of the tracepoints that this driver has: an older driver has fewer.
    void read_formats() {
        for (std::size_t type = 0; type < event_type_count; type++) {
            const std::string name(event_type_name(static_cast<EventType>(type)));
            std::ifstream text(fmt::format("{}/{}/format", events_directory, name));
            if (text)
                formats_[type].emplace(text, COPIED_RECORD_BYTES);
        }
    }

    /// Attaches the events of beginnings last, so that no beginning is seen without its end.
    void attach() {
        for (std::size_t i = event_type_count; i-- > 0;) {
            if (!formats_[i])
                continue;
            LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = i);
            bpf_link* link = bpf_program__attach_tracepoint_opts(
                program_called("copy_event"), "overtake",
                std::string(event_type_name(static_cast<EventType>(i))).c_str(), &options);
            if (!link)
                fail("attach the BPF program", errno);
            links_.emplace_back(link);
        }
    }

    /// Returns descriptors that are kept free for the driver's events while libraries are attached.
    static std::vector<Descriptor> descriptors_for_tracepoints() {
        constexpr std::size_t of_each = 2; // one for the event, one for the link
        std::vector<Descriptor> kept;
        for (std::size_t i = 0; i < of_each * (event_type_count + 1); i++)
            kept.emplace_back(open("/dev/null", O_PATH | O_CLOEXEC));
        return kept;
    }

    void attach_probes(const EngineLibraries& libraries) {
        left_out_ = libraries.left_out;
        if (!is_in_first_pid_namespace()) {
            is_in_first_namespace_ = false;
            return;
        }
        bool has_descriptors = true;
        for (const Descriptor& library : libraries.files) {
            const int error = has_descriptors ? attach_probes_of(library) : EMFILE;
            has_descriptors = error != EMFILE && error != ENFILE;
            if (error != 0)
                left_out_.add(has_descriptors ? LeftOut::no_probes : LeftOut::no_descriptors);
        }
    }

    /// Attaches all probes of a library. Returns 0, or the error for which none could be attached.
    int attach_probes_of(const Descriptor& library) {
        std::vector<std::unique_ptr<bpf_link, Closer>> links;
        int error = 0;
        for (std::size_t i = probe_count; i-- > 0;) {
            if (!is_wanted(choice_, static_cast<Probe>(i)))
                continue;
            LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = COPIED_PROBE_TYPE + i);
            if (bpf_link* link = bpf_program__attach_usdt(
                    program_called("copy_probe"), -1,
                    fmt::format("/proc/self/fd/{}", library.get()).c_str(), "overtake",
                    std::string(probe_name(static_cast<Probe>(i))).c_str(), &options))
                links.emplace_back(link);
            else
                error = errno;
            if (error == EMFILE || error == ENFILE)
                return error;
        }
        // An older library has fewer probes: it has no engines with several processors.
        const bool has_none = links.empty();
        std::ranges::move(links, std::back_inserter(links_));
        return has_none && (choice_.wanted || error != ENOENT) ? error : 0;
    }

    static int take_record(void* context, void* data, std::size_t bytes) {
        auto& self = *static_cast<KernelEvents*>(context);
        const auto& copy = *static_cast<const copied_event*>(data);
        if (bytes >= sizeof(copy) && copy.type < event_type_count && self.formats_[copy.type])
            self.take_event(event_of(static_cast<EventType>(copy.type), *self.formats_[copy.type],
                                     std::as_bytes(std::span(copy.record))));
        else if (bytes >= sizeof(copied_probe) && copy.type >= COPIED_PROBE_TYPE &&
                 copy.type < COPIED_PROBE_TYPE + probe_count)
            self.take_probe(*static_cast<const copied_probe*>(data));
        // A process that makes events without end fills the ring, but not the memory of this
        // process.
        return std::max(self.pending_.size(), self.processor_events_.size()) < most_pending
                   ? 0
                   : -EAGAIN;
    }

    void take_event(Event event) {
        const std::vector<Event> before = engine_tasks_.look_at(event);
        pending_.insert(pending_.end(), before.begin(), before.end());
        pending_.push_back(event);
    }

    void take_probe(const copied_probe& copy) {
        ProbeHit hit{static_cast<Probe>(copy.type - COPIED_PROBE_TYPE),
                     static_cast<std::uint32_t>(copy.pid),
                     {}};
        std::ranges::copy(copy.arguments, hit.arguments.begin());
        // No event may be in the future: a consumer that sorts by time would wait for it.
        hit.arguments[1] = std::min(hit.arguments[1], static_cast<std::uint64_t>(copy.time_ns));
        if (hit.probe >= first_processor_probe) {
            if (auto event = processor_event_of(hit))
                processor_events_.push_back(*std::move(event));
            return;
        }
        const std::vector<Event> events = engine_tasks_.events_of(hit);
        pending_.insert(pending_.end(), events.begin(), events.end());
    }

    /// Ends the tasks of ended processes, whose last events have been reported.
    void forget_processes() {
        const std::int64_t now = now_ns();
        if (now < next_look_ns_)
            return;
        next_look_ns_ = now + look_interval_ns;
        for (const std::uint32_t pid : ended_.look(engine_tasks_.processes())) {
            const auto ends = engine_tasks_.forget(pid, static_cast<std::uint64_t>(now));
            pending_.insert(pending_.end(), ends.begin(), ends.end());
        }
    }

    std::size_t take(std::span<Event> out) {
        if (pending_.empty())
            ring_buffer__consume(ring_.get());
        forget_processes();
        return move_first(pending_, out);
    }

    const EngineChoice choice_;
    std::array<std::optional<TracepointFormat>, event_type_count> formats_;
    std::unique_ptr<bpf_object, Closer> object_;
    std::unique_ptr<ring_buffer, Closer> ring_;
    std::vector<std::unique_ptr<bpf_link, Closer>> links_; ///< links are destroyed first
    int lost_fd_ = -1;
    EngineTasks engine_tasks_;
    std::int64_t next_look_ns_ = 0;
    EndedProcesses ended_;
    LibrariesLeftOut left_out_;
    bool is_in_first_namespace_ = true;
    std::deque<Event> pending_;
    std::vector<ProcessorEvent> processor_events_; ///< not taken yet
};

/// Reports a device server's events, and from probes those of its clients' engines.
class EventsAndProbes final : public EventSource, public TellsOfEngines {
public:
    EventsAndProbes(std::unique_ptr<EventSource> device, std::unique_ptr<KernelEvents> probes)
        : device_(std::move(device)), probes_(std::move(probes)) {}

    std::size_t read(std::span<Event> out, std::int64_t deadline_ns) override {
        if (pending_.empty() && !out.empty()) {
            // Jobs in this batch have been announced by their probes by now.
            const std::size_t count = device_->read(batch_, deadline_ns);
            for (int rounds = 0; rounds < most_rounds; rounds++) {
                const std::size_t told = probes_->read(of_probes_, 0);
                pending_.insert(pending_.end(), of_probes_.begin(),
                                of_probes_.begin() + static_cast<std::ptrdiff_t>(told));
                if (told == 0)
                    break;
            }
            for (Event& event : std::span(batch_).first(count)) {
                const std::vector<Event> before = probes_->engine_tasks().look_at(event);
                pending_.insert(pending_.end(), before.begin(), before.end());
                pending_.push_back(event);
            }
        }
        return move_first(pending_, out);
    }

    std::uint64_t lost() const noexcept override { return device_->lost() + probes_->lost(); }
    std::uint64_t lost_of_engines() const noexcept override { return probes_->lost(); }
    std::uint64_t dropped_of_engines() const noexcept override {
        return probes_->dropped_of_engines();
    }
    std::string engines_left_out() const override { return probes_->engines_left_out(); }
    std::vector<ProcessorEvent> take_processor_events() override {
        return probes_->take_processor_events();
    }

private:
    static constexpr int most_rounds = 64; ///< a process may pass probes without end

    std::unique_ptr<EventSource> device_;
    std::unique_ptr<KernelEvents> probes_;
    std::vector<Event> batch_ = std::vector<Event>(4096);
    std::vector<Event> of_probes_ = std::vector<Event>(4096);
    std::deque<Event> pending_;
};

} // namespace

std::unique_ptr<EventSource> open_kernel_events(const EngineChoice& engines) {
    if (!is_any_wanted(engines))
        return std::make_unique<KernelEvents>(true, engines, nullptr);
    const EngineLibraries libraries = find_engine_libraries(engines.libraries);
    return std::make_unique<KernelEvents>(true, engines, &libraries);
}

std::unique_ptr<EventSource> add_engine_tasks(std::unique_ptr<EventSource> device,
                                              const EngineChoice& engines) {
    const EngineLibraries libraries = find_engine_libraries(engines.libraries);
    try {
        auto probes = std::make_unique<KernelEvents>(false, engines, &libraries);
        return std::make_unique<EventsAndProbes>(std::move(device), std::move(probes));
    } catch (const Error&) {
        return device;
    }
}

std::unique_ptr<EventSource> open_engine_events(const EngineChoice& engines) {
    const EngineLibraries libraries = find_engine_libraries(engines.libraries);
    return std::make_unique<KernelEvents>(false, engines, &libraries);
}

std::vector<ProcessorEvent> take_processor_events(EventSource& source) {
    auto* tells = dynamic_cast<TellsOfEngines*>(&source);
    return tells ? tells->take_processor_events() : std::vector<ProcessorEvent>{};
}

std::uint64_t lost_of_engines(const EventSource& source) noexcept {
    const auto* tells = dynamic_cast<const TellsOfEngines*>(&source);
    return tells ? tells->lost_of_engines() : 0;
}

std::uint64_t dropped_of_engines(const EventSource& source) noexcept {
    const auto* tells = dynamic_cast<const TellsOfEngines*>(&source);
    return tells ? tells->dropped_of_engines() : 0;
}

std::string engines_left_out(const EventSource& source) {
    const auto* tells = dynamic_cast<const TellsOfEngines*>(&source);
    return tells ? tells->engines_left_out() : "";
}

} // namespace overtake::watch
