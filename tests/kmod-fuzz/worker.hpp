// SPDX-License-Identifier: MIT
// One stream of calls: a thread of a client process.
//
// Call n of a stream depends on the numbers from (seed, client, thread, n) and on the World, and
// not on the answers of other calls. So a single stream can be replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <liburing.h>
#include <sys/types.h>

#include <drm.h>
#include <overtake_accel.h>

#include "random.hpp"
#include "shared.hpp"
#include "world.hpp"

namespace overtake::fuzz {

// Data that all threads of a process share.
struct Process {
    const Options& options;
    Shared& shared;
    World& world;
    uint32_t client;
    int log_fd;       // -1: none
    int reference_fd; // a write asks the reference client for a job
};

class Worker {
public:
    Worker(Process& process, uint32_t thread);

    // Makes calls until the run has made all its calls.
    void live();

private:
    struct Ring {
        io_uring uring;
        bool open = false;
        uint32_t flags = 0;
    };

    // An ioctl about to be made. @deadline: offset in @arguments of a time that is relative so far.
    struct Ioctl {
        Kind kind;
        unsigned long request;
        void* arguments;
        std::size_t size;
        int deadline = -1;
    };

    // worker.cpp
    void step();
    void call(Kind kind);
    void count_call();
    void outcome(Kind kind, int error);
    __attribute__((format(printf, 3, 4))) void log(Kind kind, const char* format, ...);
    long make(int fd, Ioctl ioctl);

    // Acts without mutations, to prepare the call that is under test.
    template <typename Act>
    void plainly(Act act) {
        const bool mutate = mutate_;
        mutate_ = false;
        act();
        mutate_ = mutate;
    }
    bool mutates() const { return mutate_; }
    void mutate_bytes(uint8_t* bytes, std::size_t size);
    void mutate_ioctl(int* fd, Ioctl* ioctl);

    template <typename T>
    T* arguments() { // zeroed, at the end of a page that nothing follows
        auto* place = reinterpret_cast<T*>(arguments_end(thread_) - sizeof(T));
        *place = T{};
        return place;
    }

    // calls_files.cpp
    void open_file(File& file);
    void close_file(File& file);
    void dup_file(File& file);
    void query(File& file);
    void poll_file(File& file);
    void read_fdinfo(File& file);
    void garbage(File& file);

    // calls_buffers.cpp
    void bo_create(File& file, uint32_t slot);
    void bo_map(File& file, uint32_t slot, uint32_t flags);
    void bo_unmap(File& file, uint32_t slot);
    void bo_show(File& file, uint32_t slot);
    void bo_hide(File& file, uint32_t slot);
    void bo_wait(File& file);
    void gem_close(File& file, uint32_t slot);
    uint32_t find_buffer(File& file, bool exists, bool mapped);
    void make_ready(File& file, uint32_t slot, uint32_t flags);
    void scribble(File& file);

    // calls_jobs.cpp
    void context_create(File& file);
    void context_destroy(File& file);
    void write_program(File& file, uint32_t program, uint32_t data);
    uint64_t parts_extension(drm_overtake_submit* submit, uint64_t record);
    uint64_t task_parts_extension(const drm_overtake_submit& job, drm_overtake_task_submit* task);
    void fill_submit(File& file, drm_overtake_submit* submit, bool lasting);
    drm_overtake_submit submit(File& file, bool lasting);
    void cancel(File& file);
    void wait(File& file);
    void collected(int32_t status);

    // calls_tasks.cpp
    uint32_t task_context(File& file);
    drm_overtake_task_submit fill_task(File& file, bool begins_on_cpu);
    void submit_task(File& file, const drm_overtake_task_submit& task);
    void task_submit(File& file);
    void task_events(File& file);
    void task_cpu_done(File& file);
    void task_cancel(File& file);

    // calls_records.cpp
    void record(File& file, uint32_t slot);
    drm_overtake_replay fill_replay(File& file);
    void replay(File& file);
    void ring_replay(File& file);
    void forget_recording(File& file);

    // calls_ring.cpp
    static constexpr uint64_t task_mark = 1ull << 62;   // in user_data: a call for a task
    static constexpr uint64_t replay_mark = 1ull << 61; // in user_data: a replay
    void ring_open();
    void ring_close();
    void ring_issue(Kind kind, File& file, uint32_t op, const void* payload, std::size_t size,
                    uint64_t user_data);
    void ring_submit(File& file);
    void ring_cancel(File& file);
    void ring_async_cancel();
    void ring_reap();
    void completed(Kind kind, int error);

    // calls_dma_buf.cpp
    void prime_export(File& file);
    void prime_import(File& file);
    void dma_buf(File& file);
    void syncobj(Kind kind, File& file);
    void syncobj_create(File& file);
    void syncobj_wait(Kind kind, File& file);
    void syncobj_array(Kind kind, File& file);
    uint64_t sync_extension(File& file);
    uint64_t model_extension(uint64_t next);
    void foreign_dma_buf(uint32_t slot);

    // calls_processes.cpp
    void fork_child();
    void kill_one_process();
    void signal_sibling();
    void inject_fault();

    Process& process_;
    uint32_t thread_;
    Random random_; // of the call being made
    bool mutate_ = false;
    bool in_child_ = false;
    uint64_t number_ = 0;
    Ring ring_;
};

} // namespace overtake::fuzz
