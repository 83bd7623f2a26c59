// SPDX-License-Identifier: MIT
//
// OwnRunner: runs one of the program's own processors.  One thread calls its functions, another
// watches it, so that a function which does not return fails the processor and not the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "coordination/runner.hpp"
#include "overtake/processor.hpp"

namespace overtake::coordination {

class OwnRunner final : public Runner {
public:
    /// Throws Error EAGAIN if no thread can be created.
    OwnRunner(std::shared_ptr<OwnProcessor> own, std::uint32_t processor, unsigned domain,
              RunnerHost& host);
    /// Called when it has no runs any more.  A function of the program's that does not return goes
    /// on in a thread that is detached.
    ~OwnRunner() override;

    void start(UnitRun& run) noexcept override;
    void note_cancel() noexcept override;
    void stop(std::uint32_t processor) noexcept override;
    void begin_trial(std::uint32_t processor) noexcept override;

private:
    class Shared;

    const std::shared_ptr<Shared> shared_;
    std::thread caller_;
    std::thread watcher_;
};

} // namespace overtake::coordination
