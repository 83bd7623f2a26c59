// SPDX-License-Identifier: MIT
#include "graph_support.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "model_spec.hpp"

namespace overtake::test {

namespace {

constexpr std::uint32_t model_input = 0, model_output = 1, first_between = 3;

/// Returns the number in the file, made from copy_and_softmax(), of each tensor of a case.
std::map<std::uint32_t, std::uint32_t> numbers_of(const std::vector<Subgraph>& subgraphs) {
    std::map<std::uint32_t, std::pair<bool, bool>> uses; // read, written
    for (const Subgraph& each : subgraphs) {
        for (const std::uint32_t in : each.in)
            uses[in].first = true;
        for (const std::uint32_t out : each.out)
            uses[out].second = true;
    }
    std::map<std::uint32_t, std::uint32_t> numbers;
    std::uint32_t next = first_between;
    for (const auto& [number, use] : uses)
        numbers[number] = !use.second ? model_input : !use.first ? model_output : next++;
    return numbers;
}

/// Adds two instructions that take the first row of one region and the other rows of the next one.
void add_joining_program(fbs::ModelT& model) {
    overtake_insn copies[2];
    std::memcpy(copies, model.program.data(), sizeof(copies));
    for (overtake_insn& copy : copies)
        copy.out.region = OVERTAKE_REGION_IO + 2;
    copies[1].in[0].region = OVERTAKE_REGION_IO + 1;
    const std::size_t at = model.program.size();
    model.program.resize(at + sizeof(copies));
    std::memcpy(model.program.data() + at, copies, sizeof(copies));
}

} // namespace

std::unique_ptr<fbs::ModelT> graph_of(const std::vector<Subgraph>& subgraphs) {
    auto model = unpacked(copy_and_softmax());
    model->segments.pop_back();
    model->outputs = {model_output};
    model->unit_classes.push_back(std::make_unique<fbs::UnitClassT>());
    model->unit_classes.back()->name = "cpu";
    add_joining_program(*model);
    const auto numbers = numbers_of(subgraphs);
    for (const auto& [of_case, number] : numbers)
        if (number >= first_between)
            model->unit_tensors.push_back(std::make_unique<fbs::TensorT>(*model->tensors[1]));
    for (const Subgraph& each : subgraphs) {
        auto unit = std::make_unique<fbs::UnitT>();
        for (std::size_t other = 0; other < subgraphs.size(); other++)
            for (const std::uint32_t in : each.in)
                if (other < 64 && // more units are refused, as no file has more
                    std::ranges::find(subgraphs[other].out, in) != subgraphs[other].out.end())
                    unit->after |= std::uint64_t{1} << other;
        auto segment = std::make_unique<fbs::SegmentT>(*model->segments[0]);
        const bool joins = each.in.size() == 2;
        if (joins)
            segment->bpu->fcs = {fbs::Fc(2, 1, 100), fbs::Fc(3, 1, 300)};
        segment->bpu->bindings.clear();
        for (const std::uint32_t in : each.in)
            segment->bpu->bindings.emplace_back(
                OVERTAKE_REGION_IO + static_cast<std::uint32_t>(segment->bpu->bindings.size()),
                numbers.at(in), false);
        segment->bpu->bindings.emplace_back(
            OVERTAKE_REGION_IO + static_cast<std::uint32_t>(segment->bpu->bindings.size()),
            numbers.at(each.out.at(0)), true);
        unit->work.push_back(std::make_unique<fbs::UnitWorkT>());
        unit->work.back()->segments.push_back(std::move(segment));
        model->units.push_back(std::move(unit));
    }
    return model;
}

std::vector<float> graph_values(int round) {
    std::vector<float> values(graph_elements);
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(round) * 11) % 60);
    return values;
}

void Board::add(Call call) {
    std::unique_lock lock(mutex_);
    started_.push_back(call->unit());
    if (is_automatic_) {
        lock.unlock();
        call->done(call->compute());
        return;
    }
    under_way_.push_back(std::move(call));
    changed_.notify_all();
}

std::vector<std::size_t> Board::await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(9), [&] { return under_way_.size() >= count; });
    std::vector<std::size_t> units;
    for (const Call& call : under_way_)
        units.push_back(call->unit());
    std::ranges::sort(units);
    return units;
}

void Board::finish(std::size_t failing, std::int32_t status) {
    std::vector<Call> calls;
    {
        const std::lock_guard lock(mutex_);
        calls.swap(under_way_);
    }
    for (const Call& call : calls)
        call->done(call->unit() == failing ? status : call->compute());
}

std::vector<std::size_t> Board::take_started() {
    const std::lock_guard lock(mutex_);
    return std::exchange(started_, {});
}

void Board::be_automatic() {
    {
        const std::lock_guard lock(mutex_);
        is_automatic_ = true;
    }
    finish();
}

std::int32_t BoardProcessor::prepare(const UnitDescription& unit, std::uint64_t& expected_ns) {
    if (!(units >> unit.unit & 1)) {
        if (throws)
            throw std::runtime_error("no room");
        return -ENOTSUP;
    }
    prepared++;
    expected_ns = 1; // plans prefer it then
    return 0;
}

void BoardProcessor::release(const UnitDescription& /*unit*/) {
    released++;
    on_release();
}

} // namespace overtake::test
