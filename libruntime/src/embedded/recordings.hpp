// SPDX-License-Identifier: MIT
//
// Recordings of a queue of an embedded device, or of a server's: jobs that are checked and copied
// once, and submitted again and again.
//
// An instance is a job with scratch of its own.  replay() returns an idle one as a shared_ptr whose
// control block lies in the instance.  So nothing is allocated.  The instance is idle again when
// the block is freed, which is the last step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "embedded/job.hpp"
#include "embedded/memory.hpp"
#include "overtake/device.hpp"
#include "recorded_job.hpp"

namespace overtake {

class Recording;

/// One thread at a time uses it; the jobs may end in any thread.
class Recordings {
public:
    /// `charge`: the part of an instance that is charged to the account.
    Recordings(std::shared_ptr<const AddressSpace> addresses,
               std::shared_ptr<MemoryAccount> account, JobCharge charge)
        : addresses_(std::move(addresses)), account_(std::move(account)), charge_(charge) {}

    /// See Queue::record().
    std::uint32_t record(const Job& job, unsigned instances, const JobBounds& bounds);
    /// Returns a job for FirmwareHost::submit().  Calls `collect` if no instance is idle: the host
    /// may keep some for a moment after their ends.  Throws Error, as Queue::replay().
    template <class Collect>
    std::shared_ptr<EmbeddedJob> replay(const Replay& replay, const JobBounds& bounds,
                                        Collect collect) {
        Recording& recording = find(replay, bounds);
        std::shared_ptr<EmbeddedJob> job = take(recording);
        if (!job) {
            collect();
            job = take(recording);
        }
        fill(job.get(), recording, replay, bounds);
        return job;
    }
    /// See Queue::forget().
    void forget(std::uint32_t recording);

private:
    Recording& find(const Replay& replay, const JobBounds& bounds) const;
    /// Takes an idle instance; null: all are in flight.
    static std::shared_ptr<EmbeddedJob> take(Recording& recording);
    /// `job`: null if all instances are in flight, which refuses the replay.
    void fill(EmbeddedJob* job, const Recording& recording, const Replay& replay,
              const JobBounds& bounds) const;

    const std::shared_ptr<const AddressSpace> addresses_;
    const std::shared_ptr<MemoryAccount> account_;
    const JobCharge charge_;
    std::map<std::uint32_t, std::shared_ptr<Recording>> recordings_;
    std::uint32_t next_ = 1;
};

} // namespace overtake
