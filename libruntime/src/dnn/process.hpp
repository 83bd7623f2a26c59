// SPDX-License-Identifier: MIT
//
// Process: the device, the engine, the memory and the handles of the C interface in a process.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "dnn/environment.hpp"
#include "dnn/handles.hpp"
#include "dnn/memory.hpp"
#include "dnn/models.hpp"
#include "dnn/profile.hpp"
#include "dnn/task.hpp"
#include "overtake/engine.hpp"
#include "overtake/expected_times.hpp"

namespace overtake::dnn {

class Process {
public:
    /// Throws Error if there is no device or the engine cannot be made.
    explicit Process(const Environment& environment);
    /// Takes a device and an engine that the caller has made.  For tests.
    Process(std::shared_ptr<Device> device, std::unique_ptr<Engine> engine);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Returns the Process object of this operating-system process; the first call makes it.
    /// Throws Failure: HB_DNN_API_USE_ERROR if it cannot be made, HB_DNN_OUT_OF_MEMORY if atexit()
    /// fails, HB_DNN_MULTI_PROGRESS_USE_ERROR in a child of fork() whose parent had made one.
    static Process& current();
    /// Sets current() of this thread; null: the usual one.  For tests, which have several.
    static void use_in_this_thread(Process* process) noexcept;
    /// Replaces `lost`, whose device is gone, by a new Process with the device opened anew, unless
    /// another call has done so.  Returns the present Process; null while `lost` has packs or
    /// tasks, and in a thread of use_in_this_thread().  Throws Failure HB_DNN_API_USE_ERROR if a
    /// new one cannot be made.
    static Process* reopen(Process& lost);
    /// Frees `data` if it is memory of a Process that reopen() has replaced; returns false if it is
    /// not.
    static bool free_of_lost(const void* data);
    /// Returns the Process that use_in_this_thread() has set, or null.
    static Process* of_this_thread() noexcept;

    /// Returns the engine.  Throws Failure HB_DNN_API_USE_ERROR after stop().
    std::shared_ptr<Engine> engine();
    /// Loads a model on the engine, with the file of OVERTAKE_TIMES that names the model, if there
    /// is one.  Throws Failure as engine(), and Error as Engine::load().
    std::shared_ptr<LoadedModel> load(const std::shared_ptr<const Model>& model);
    unsigned cores() const noexcept { return cores_; }
    /// Throws Failure if this process may not use the priority.  The first use of priority 255 logs
    /// a warning if all core limits are 0, since 255 then preempts nothing.
    void check_priority(unsigned priority);

    /// Writes the profile, if one is wanted, and gives up the engine, which ends once no task
    /// refers to it.  Called at exit(), by reopen() and by the destructor.
    void stop();

    Memory memory;
    HandleTable<Pack> packs{HandleKind::pack};
    HandleTable<Network> networks{HandleKind::model};
    HandleTable<DnnTask> tasks{HandleKind::task};
    std::unique_ptr<Profile> profile; ///< null: none is wanted

private:
    std::shared_ptr<Device> device_;
    const unsigned cores_;
    std::string no_high_; ///< why priority 255 is refused; empty = it is not
    std::vector<ExpectedTimes> times_;
    std::shared_ptr<Engine> engine_;
    std::string profile_path_;
    std::once_flag first_high_;
    std::mutex mutex_;
};

} // namespace overtake::dnn
