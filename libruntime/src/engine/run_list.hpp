// SPDX-License-Identifier: MIT
//
// RunList: a queue of runs that allocates nothing, so that a task which has been taken can always
// go on to its end.
#pragma once

#include <memory>
#include <utility>

namespace overtake::engine {

class Run;

/// A place of a run in one list at a time.
struct RunLink {
    std::shared_ptr<Run> next;
    bool is_linked = false;
};

/// First in, first out, by one of the links of a run.  Who uses the list owns that link of its
/// runs.
template <RunLink Run::*link>
class RunList {
public:
    RunList() = default;
    RunList(RunList&& other) noexcept
        : first_(std::move(other.first_)), last_(std::exchange(other.last_, nullptr)) {}
    RunList& operator=(RunList&& other) noexcept {
        clear();
        first_ = std::move(other.first_);
        last_ = std::exchange(other.last_, nullptr);
        return *this;
    }
    ~RunList() { clear(); }

    bool empty() const noexcept { return !first_; }

    /// Does nothing if the run is in a list of this link already.
    void push(std::shared_ptr<Run> run) noexcept {
        Run* const added = run.get();
        if ((added->*link).is_linked)
            return;
        (added->*link).is_linked = true;
        if (last_)
            (last_->*link).next = std::move(run);
        else
            first_ = std::move(run);
        last_ = added;
    }

    /// Not of an empty list.
    std::shared_ptr<Run> pop() noexcept {
        std::shared_ptr<Run> run = std::move(first_);
        first_ = std::move(((*run).*link).next);
        ((*run).*link).is_linked = false;
        if (!first_)
            last_ = nullptr;
        return run;
    }

private:
    void clear() noexcept {
        while (!empty())
            pop();
    }

    std::shared_ptr<Run> first_;
    Run* last_ = nullptr;
};

} // namespace overtake::engine
