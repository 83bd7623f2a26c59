// SPDX-License-Identifier: MIT
//
// Metrics in Prometheus's text exposition format, version 0.0.4.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace overtake::metrics {

enum class Type { counter, gauge };

/// A metric's name and meaning. Each Family is a constant: families are compared by address.
struct Family {
    const char* name;
    Type type;
    const char* help;
};

/// Names are C identifiers; values are any text.
using Labels = std::vector<std::pair<const char*, std::string>>;

class Exposition {
public:
    void add(const Family& family, const Labels& labels, double value);

    /// Returns HELP and TYPE of each family that has a sample, each followed by the family's
    /// samples in the order in which they were added. The format demands that the samples of a
    /// family are together.
    std::string text() const;

private:
    std::vector<const Family*> order_;
    std::map<const Family*, std::string> samples_;
};

const char* name_of(Type type);

} // namespace overtake::metrics
