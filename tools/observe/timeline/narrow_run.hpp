// SPDX-License-Identifier: MIT
//
// Boxes of a picture that are too narrow to be seen one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace overtake::timeline {

/// Neighbouring FCs that are too narrow to be seen one by one. A column of one pixel goes to the
/// task that fills most of it, and neighbouring columns of one task become one box.
class NarrowRun {
public:
    struct Box {
        std::string_view task;
        double begin;
        double end;
        double busy; ///< pixels
        std::size_t fcs;
    };

    /// Adds an FC at pixels [begin, end), in order of x. Returns the box that ends before this FC,
    /// if any.
    std::optional<Box> add(std::string_view task, double begin, double end) {
        std::optional<Box> done;
        if (std::floor(begin) != column_)
            done = close_column();
        column_ = std::floor(begin);
        busy_[task] += end - begin;
        fcs_++;
        begin_ = std::min(begin_, begin);
        end_ = std::max(end_, end);
        return done;
    }
    /// Returns the remaining boxes, in order of x.
    std::vector<Box> flush() {
        std::vector<Box> done;
        if (auto box = close_column())
            done.push_back(*box);
        if (pending_)
            done.push_back(*pending_);
        pending_.reset();
        return done;
    }

private:
    std::optional<Box> close_column() {
        if (fcs_ == 0)
            return {};
        double sum = 0;
        auto most = busy_.begin();
        for (auto at = busy_.begin(); at != busy_.end(); ++at) {
            sum += at->second;
            if (at->second > most->second)
                most = at;
        }
        const Box box{most->first, begin_, end_, sum, fcs_};
        busy_.clear();
        fcs_ = 0;
        begin_ = 1e9;
        end_ = 0;
        if (pending_ && pending_->task == box.task && box.begin - pending_->end < 1) {
            pending_->end = box.end;
            pending_->busy += box.busy;
            pending_->fcs += box.fcs;
            return {};
        }
        return std::exchange(pending_, box);
    }

    double column_ = -1;
    double begin_ = 1e9;
    double end_ = 0;
    std::size_t fcs_ = 0;
    std::map<std::string_view, double> busy_;
    std::optional<Box> pending_;
};

} // namespace overtake::timeline
