// SPDX-License-Identifier: MIT
//
// The look of tasks, and the legend that explains it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "observe/timeline/canvas.hpp"

namespace overtake::timeline {

struct TaskStyle {
    std::string_view fill;    ///< colour
    std::string_view overlay; ///< pattern above it; empty: none
    std::string_view ink;     ///< colour of text on it
    unsigned number;          ///< 0: no other task has its colour
};

/// The look of every task, by the order of the names: the same in pictures of any part of a run.
class TaskStyles {
public:
    explicit TaskStyles(const std::vector<std::string>& names);

    /// `task` is one of the names.
    const TaskStyle& of(std::string_view task) const { return styles_.find(task)->second; }
    /// Draws a box in the task's look, with corners rounded by `radius`.
    void fill(Canvas& canvas, std::string_view task, double x, double y, double wide, double high,
              std::string_view more, double radius = 0) const;

private:
    std::map<std::string, TaskStyle, std::less<>> styles_;
};

/// A legend: entries in as many lines as they need.
class Legend {
public:
    static constexpr double line_height = 22;

    /// `draw` draws a symbol of 18 x 14 with its upper left corner at (x, y).
    void add(std::string_view words, std::function<void(Canvas&, double x, double y)> draw);
    /// Adds the tasks in the order of their names; beyond a limit, only their number.
    void add_tasks(const TaskStyles& styles, std::vector<std::string> tasks);
    void add_high_ring();
    void add_preemption();
    /// `bar` names the part of the strip to which each count belongs.
    void add_preemption_strip(std::uint64_t most, std::string_view bar);

    double height(double width) const;
    void draw(Canvas& canvas, double x, double y, double width) const;

private:
    struct Entry {
        std::string words;
        std::function<void(Canvas&, double, double)> draw;
    };
    /// Calls `visit` with each entry and its place. Returns the number of lines.
    unsigned lay_out(double width,
                     const std::function<void(const Entry&, double x, unsigned line)>& visit) const;

    std::vector<Entry> entries_;
};

/// Returns whether `left` comes before `right` as people count: "task 2" before "task 10".
bool natural_less(std::string_view left, std::string_view right);

} // namespace overtake::timeline
