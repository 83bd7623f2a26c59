// SPDX-License-Identifier: MIT
//
// Models of subgraphs that are made by hand, and processors that report their calls and wait for
// the test.
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

constexpr std::size_t graph_elements = 4 * 5 * 3; ///< elements of each tensor

/// Copies its input to its output; from two inputs it takes the first row of one and the other rows
/// of the other.
struct Subgraph {
    std::vector<std::uint32_t> in, out; ///< numbers of tensors in the case
};

/// Makes a unit of the class "cpu" for each subgraph, in this order.  Tensors that no subgraph
/// writes are the model's input, and tensors that none reads are its output.
std::unique_ptr<fbs::ModelT> graph_of(const std::vector<Subgraph>& subgraphs);

/// Returns values that the int8 tensors represent exactly.
std::vector<float> graph_values(int round);

/// The calls that are under way on the processors of a test.
class Board {
public:
    using Call = std::shared_ptr<UnitCall>;

    void add(Call call);
    /// Waits until `count` calls are under way and returns their units, sorted.  Returns fewer
    /// after nine seconds, which is a failure of the test.
    std::vector<std::size_t> await(std::size_t count);
    /// Computes all calls under way and calls done(); the unit `failing` gets `status`.
    void finish(std::size_t failing = ~std::size_t{0}, std::int32_t status = 0);
    /// Returns the units that were started since the last call, in their order.
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

/// Takes the units of its mask and puts them on the board.
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
    std::atomic<bool> throws = false; ///< prepare() throws instead of refusing
    std::atomic<int> prepared = 0, released = 0;
    std::function<void()> on_release = [] {};
};

} // namespace overtake::test
