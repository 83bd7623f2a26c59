// SPDX-License-Identifier: MIT
//
// Models of subgraphs that are made by hand, and processors that say what they were handed and wait
// for the test.
#pragma once

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model_generated.h"
#include "overtake/engine.hpp"
#include "overtake/processor.hpp"

namespace overtake::test {

constexpr std::size_t graph_elements = 4 * 5 * 3; ///< of each tensor

/// Copies its input to its output; of two inputs it takes the first row of one and the rest of the
/// other.
struct Subgraph {
    std::vector<std::uint32_t> in, out; ///< numbers of tensors, as a case has them
};

/// A unit of the class "cpu" for each, in this order.  What only one of them has is the model's
/// input or output.
std::unique_ptr<fbs::ModelT> graph_of(const std::vector<Subgraph>& subgraphs);

/// Values whose int8 is exact.
std::vector<float> graph_values(int round);

/// What is under way on the processors of a test.
class Board {
public:
    using Call = std::shared_ptr<UnitCall>;

    void add(Call call);
    /// Until so many are under way: their units, sorted.  Fewer after nine seconds, which is a
    /// failure of the test.
    std::vector<std::size_t> await(std::size_t count);
    /// Computes what is under way and calls done(); of `failing` with `status`.
    void finish(std::size_t failing = ~std::size_t{0}, std::int32_t status = 0);
    /// Units in the order in which they were started, since the last call.
    std::vector<std::size_t> take_started();
    /// From now on calls are finished as they come.
    void be_automatic();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_automatic_ = false;
    std::vector<Call> under_way_;
    std::vector<std::size_t> started_;
};

/// Takes units of its mask and puts them on the board.
class BoardProcessor final : public OwnProcessor {
public:
    BoardProcessor(Board& board, std::uint64_t units) : board_(board), units(units) {}

    std::int32_t prepare(const UnitDescription& unit, std::uint64_t& expected_ns) override;
    void start(std::shared_ptr<UnitCall> call) override { board_.add(std::move(call)); }
    void cancel(UnitCall& call) override { call.done(-ECANCELED); }
    void release(const UnitDescription& unit) override;
    bool probe() override { return works; }

private:
    Board& board_;

public:
    std::uint64_t units;
    std::atomic<bool> works = true;
    std::atomic<bool> throws = false; ///< in prepare(), instead of a refusal
    std::atomic<int> prepared = 0, released = 0;
    std::function<void()> on_release = [] {};
};

} // namespace overtake::test
