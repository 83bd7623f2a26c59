// SPDX-License-Identifier: MIT
// overtake-fuzz-uapi: random calls into the driver, valid, mutated and plain noise, by several
// client processes of several threads each. See tests/kmod-fuzz/run for how to run it.
//
// The supervisor, this file, starts a killed client anew, ends the run when all calls have been
// made, and judges it: no client may die by itself, every error must be documented, every reference
// job must be right, and the driver must not refuse most calls.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "reference_client.hpp"
#include "report.hpp"
#include "worker.hpp"

namespace overtake::fuzz {

namespace {

constexpr int stuck_seconds = 240; // without a single call: the run hangs

Options parse(int argc, char** argv) {
    Options options;
    static std::string device = options.device, log, inject;
    CLI::App app("Random calls into the driver: valid, mutated, noise.", "overtake-fuzz-uapi");
    app.add_option("--seed", options.seed, "what all random choices follow from (1)");
    app.add_option("--calls", options.calls, "how many calls to make in all (20000)");
    app.add_option("--threads", options.threads, "threads of a client process (2)")
        ->check(CLI::Range(1u, max_threads));
    app.add_option("--clients", options.clients, "client processes (3)")
        ->check(CLI::Range(1u, max_clients));
    app.add_option("--reference-interval", options.reference_interval,
                   "calls between two rounds of reference jobs (10000)")
        ->check(CLI::PositiveNumber);
    app.add_option("--device", device, "device node (/dev/accel/accel0)");
    app.add_option("--inject", inject, "debugfs file through which to plan faults of the device");
    app.add_option("--log", log, "file to write each call to before it is made");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    options.device = device.c_str();
    options.log = log.empty() ? nullptr : log.c_str();
    options.inject = inject.empty() ? nullptr : inject.c_str();
    return options;
}

// Prints where a client dies by itself; the client dies when this function returns.
void died(int, siginfo_t* info, void*) {
    void* frames[16];
    dprintf(STDERR_FILENO, "client %d: signal %d at %p\n", getpid(), info->si_signo, info->si_addr);
    backtrace_symbols_fd(frames, backtrace(frames, 16), STDERR_FILENO);
}

[[noreturn]] void client_main(const Options& options, Shared& shared, uint32_t client,
                              int reference_fd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_sigaction = died;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    Process process = {options, shared, *make_world(options.threads), client, -1, reference_fd};
    if (options.log)
        process.log_fd = open(options.log, O_WRONLY | O_APPEND | O_CLOEXEC);
    std::vector<std::thread> threads;
    for (uint32_t thread = 1; thread < options.threads; thread++)
        threads.emplace_back([&process, thread] { Worker(process, thread).live(); });
    Worker(process, 0).live();
    for (std::thread& thread : threads)
        thread.join();
    _exit(0);
}

pid_t start(auto&& body) {
    const pid_t pid = fork();
    if (pid < 0) {
        std::perror("fork");
        std::exit(1);
    }
    if (!pid)
        body();
    return pid;
}

class Supervisor {
public:
    Supervisor(const Options& options, Shared& shared)
        : options_(options), shared_(shared),
          reference_fd_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

    bool run() {
        block_child_signal();
        reference_ = start([this] {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            reference_client(options_, shared_, reference_fd_);
            std::exit(0);
        });
        for (uint32_t client = 0; client < options_.clients; client++)
            start_client(client);
        while (running_ && !failed_)
            wait_for_something();
        end_reference();
        return !failed_;
    }

    uint32_t killed() const { return killed_; }

private:
    void block_child_signal() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigprocmask(SIG_BLOCK, &set, nullptr);
    }

    void start_client(uint32_t client) {
        shared_.pids[client] =
            start([this, client] { client_main(options_, shared_, client, reference_fd_); });
        running_++;
    }

    void fail(const char* who, const char* why, int number) {
        std::fprintf(stderr, "%s %s %d (seed %llu)\n", who, why, number,
                     static_cast<unsigned long long>(options_.seed));
        failed_ = true;
    }

    void ended(pid_t pid, int status) {
        if (pid == reference_) {
            reference_ = 0;
            return fail("the reference client", "ended with status", status);
        }
        for (uint32_t client = 0; client < options_.clients; client++) {
            if (shared_.pids[client] != pid)
                continue;
            shared_.pids[client] = 0;
            running_--;
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
                killed_++;
                if (shared_.calls < options_.calls)
                    start_client(client);
            } else if (status) {
                fail("a client", "died of itself, status", status);
            }
        }
    }

    void wait_for_something() {
        const timespec timeout = {.tv_sec = 1, .tv_nsec = 0};
        sigset_t set;
        int status;
        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigtimedwait(&set, nullptr, &timeout);
        while (const pid_t pid = waitpid(-1, &status, WNOHANG)) {
            if (pid < 0)
                break;
            ended(pid, status);
        }
        look_for_progress();
    }

    void look_for_progress() {
        const uint64_t calls = shared_.calls;
        const time_t now = time(nullptr);
        if (calls != seen_calls_) {
            seen_calls_ = calls;
            seen_at_ = now;
        } else if (now - seen_at_ > stuck_seconds) {
            print_stacks(shared_, options_.clients);
            fail("no call was made", "for so many seconds:", stuck_seconds);
        }
    }

    void end_reference() {
        const uint64_t one = 1;
        shared_.stop = 1;
        for (uint32_t client = 0; client < options_.clients; client++)
            if (shared_.pids[client] > 0)
                kill(shared_.pids[client], SIGKILL);
        if (!reference_)
            return;
        // The reference jobs that were asked for run first.
        const uint64_t asked = shared_.calls / options_.reference_interval;
        for (int i = 0; !failed_ && shared_.references_right < asked && i < stuck_seconds * 100;
             i++)
            usleep(10000);
        if (write(reference_fd_, &one, sizeof(one)) != sizeof(one))
            std::perror("reference client");
        int status = 0;
        waitpid(reference_, &status, 0);
        if (status)
            fail("the reference client", "ended with status", status);
    }

    const Options& options_;
    Shared& shared_;
    int reference_fd_;
    pid_t reference_ = 0;
    uint32_t running_ = 0;
    uint32_t killed_ = 0;
    bool failed_ = false;
    uint64_t seen_calls_ = 0;
    time_t seen_at_ = time(nullptr);
};

int fuzz(const Options& options) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("shared memory");
        return 1;
    }
    auto& shared = *new (memory) Shared{};
    if (options.log)
        close(open(options.log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    std::printf("# seed %llu: %llu calls, %u clients of %u threads%s\n",
                static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(options.calls), options.clients, options.threads,
                options.is_replayable() ? ", replayable" : "");
    std::fflush(stdout);
    const time_t began = time(nullptr);
    Supervisor supervisor(options, shared);
    const bool ended_well = supervisor.run();
    const bool right = report(options, shared, time(nullptr) - began, supervisor.killed());
    std::printf("# seed %llu %s\n", static_cast<unsigned long long>(options.seed),
                ended_well && right ? "passed" : "FAILED");
    return ended_well && right ? 0 : 1;
}

} // namespace

} // namespace overtake::fuzz

int main(int argc, char** argv) {
    return overtake::fuzz::fuzz(overtake::fuzz::parse(argc, argv));
}
