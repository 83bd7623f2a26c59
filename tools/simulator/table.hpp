// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace overtake::simulator {

/// Rows of cells under a head; the first column is left-aligned.
class Table {
public:
    explicit Table(std::vector<std::string> head) { add(std::move(head)); }

    void add(std::vector<std::string> row) {
        widths_.resize(std::max(widths_.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); i++)
            widths_[i] = std::max(widths_[i], width(row[i]));
        rows_.push_back(std::move(row));
    }

    std::string text() const {
        std::string out;
        for (const auto& row : rows_) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); i++)
                line += i == 0 ? row[i] + padding(row[i], i) : "  " + padding(row[i], i) + row[i];
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + "\n";
        }
        return out;
    }

private:
    /// Counts characters, not bytes.
    static std::size_t width(const std::string& text) {
        return static_cast<std::size_t>(
            std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
    }
    std::string padding(const std::string& text, std::size_t column) const {
        return std::string(widths_[column] - width(text), ' ');
    }

    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> widths_;
};

} // namespace overtake::simulator
