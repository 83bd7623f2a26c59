// SPDX-License-Identifier: MIT
#include "compiler/asked_plan.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "compiler/cores/plan.hpp"
#include "compiler/costs_file.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/profile.hpp"
#include "compiler/units/shared_program.hpp"
#include "overtake_accel.h"

namespace overtake::compiler {
namespace {

using CoreProfiles = std::vector<std::shared_ptr<const ovt_profile>>;

// Returns one profile for each core.  Cores with the same profile name share an object.
CoreProfiles profiles_of(const CompileOptions& options) {
    std::vector<std::string> names = options.core_profiles;
    names.resize(options.cores, options.profile);
    CoreProfiles profiles;
    for (const std::string& name : names) {
        const auto same = std::ranges::find(names, name) - names.begin();
        if (static_cast<std::size_t>(same) < profiles.size()) {
            profiles.push_back(profiles[static_cast<std::size_t>(same)]);
            continue;
        }
        const std::shared_ptr<const DeviceProfile> found =
            find_profile(name, options.core_profiles.empty() ? "--profile" : "--core-profiles");
        profiles.emplace_back(found, &found->numbers);
    }
    return profiles;
}

std::uint64_t plan_ns(const CorePlan& plan) {
    return std::accumulate(
        plan.segments.begin(), plan.segments.end(), std::uint64_t{0},
        [](std::uint64_t ns, const CoreSegment& segment) { return ns + segment.ns; });
}

// Returns the time of the program that cores run without the plan.
std::uint64_t program_ns(const Program& program, const ovt_profile& profile) {
    std::uint64_t ns = 0;
    for (const FunctionCall& fc : program.fcs)
        ns += ovt_cycles_to_ns(&profile, fc.cycles);
    return ns;
}

bool is_faster(std::uint64_t ns, std::uint64_t one_core_ns) {
    return static_cast<double>(ns) <= 0.98 * static_cast<double>(one_core_ns);
}

bool uses_several_cores(const CorePlan& plan) {
    return std::ranges::any_of(plan.segments,
                               [](const CoreSegment& segment) { return segment.parts.size() > 1; });
}

// Whether the plan gains time by the prices that it was made with.  A search by learned prices has
// chosen the number of cores as well.
bool gains_time(const CorePlan& plan, bool has_costs) {
    return has_costs ? uses_several_cores(plan) : is_faster(plan_ns(plan), plan.one_core_ns);
}

CorePlan plan_with_costs(const Graph& graph, const QuantisedGraph& quantised, Program& program,
                         CoreOptions asked, const LearnedCosts* costs) {
    if (!costs)
        return plan_cores(graph, quantised, program, asked);
    const LearnedPrices prices(*costs, *asked.cores[0]);
    asked.prices = &prices;
    return plan_cores(graph, quantised, program, asked);
}

void check_opcodes(const Graph& graph, const CorePlan& plan) {
    for (const CoreSegment& segment : plan.segments)
        for (const CorePart& part : segment.parts)
            for (const FunctionCall& fc : part.fcs)
                for (const Step& step : std::span(plan.steps).subspan(fc.first_step, fc.step_count))
                    if (ovt_profile_lacks(plan.cores[part.core].get(), step.insn.opcode))
                        throw CompileError(describe(graph.nodes[step.node]),
                                           "needs an instruction that core " +
                                               std::to_string(part.core + 1) + ", of profile " +
                                               plan.cores[part.core]->name +
                                               ", lacks; --core-profiles can name another");
}

void warn_of_no_plan(const CompileOptions& options, const CorePlan& plan) {
    if (!options.warn)
        return;
    const std::string than =
        options.costs.empty()
            ? fmt::format("the {:.1f} us of one core", static_cast<double>(plan.one_core_ns) / 1000)
            : fmt::format("one core by the costs of {}", options.costs);
    options.warn(
        fmt::format("{}: no plan for {} cores takes 2 % less than {}; requests run on one core",
                    options.model, options.cores, than));
}

// Refuses options for several cores where --cores is not given.
void refuse_core_options(const CompileOptions& options) {
    const BalanceOptions usual;
    const std::pair<bool, const char*> given[] = {
        {!options.core_profiles.empty(), "--core-profiles"},
        {!options.schemes.empty(), "--schemes"},
        {!options.overlaps, "--no-overlap"},
        {!options.costs.empty(), "--costs"},
        {static_cast<bool>(options.share_prices), "--balance"},
        {options.balance.step != usual.step, "--balance-step"},
        {options.balance.threshold != usual.threshold, "--balance-threshold"}};
    std::string names;
    for (const auto& [is_given, name] : given)
        if (is_given)
            names += (names.empty() ? "" : ", ") + std::string(name);
    if (!names.empty())
        throw CompileError(names, (names.find(',') == names.npos ? "is for several cores"
                                                                 : "are for several cores") +
                                      std::string("; say with --cores how many"));
}

void place(CorePlan& plan, std::vector<overtake_insn>& instructions) {
    SharedProgram shared(instructions);
    for (CoreSegment& segment : plan.segments)
        for (CorePart& part : segment.parts)
            for (FunctionCall& fc : part.fcs)
                fc.first_step = shared.place(
                    std::span<const Step>(plan.steps).subspan(fc.first_step, fc.step_count));
    instructions = shared.take();
}

} // namespace

std::shared_ptr<const LearnedCosts> check_core_options(const CompileOptions& options) {
    const bool balances = options.balance != BalanceOptions{} || options.share_prices;
    if (options.cores == 0) {
        refuse_core_options(options);
        return nullptr;
    }
    if (options.cores < 2 || options.cores > OVERTAKE_MAX_CORES)
        throw CompileError(
            "--cores " + std::to_string(options.cores),
            fmt::format("is not 2..{}; leave it out for one core", OVERTAKE_MAX_CORES));
    if (!options.core_profiles.empty() && options.core_profiles.size() != options.cores)
        throw CompileError("--core-profiles",
                           fmt::format("names {} for --cores {}; name one for each core, or leave "
                                       "it out for cores of --profile",
                                       options.core_profiles.size(), options.cores));
    if (balances && !options.schemes.empty() &&
        std::ranges::count(options.schemes, Scheme::balanced) == 0)
        throw CompileError("--balance, --balance-step, --balance-threshold",
                           "are for the scheme balanced, which --schemes leaves out");
    const CoreProfiles profiles = profiles_of(options);
    const bool alike = std::ranges::all_of(profiles, [&](auto& of) { return of == profiles[0]; });
    if (options.share_prices && !alike)
        throw CompileError("--balance measured",
                           "is of this host, whose cores are alike, but --core-profiles names "
                           "others; leave one of them out");
    if (options.costs.empty())
        return nullptr;
    if (!alike)
        throw CompileError("--costs", "are of cores that are alike, but --core-profiles names "
                                      "others; leave one of them out");
    return std::make_shared<const LearnedCosts>(read_costs(options.costs));
}

std::optional<CorePlan> asked_plan(const Graph& graph, const QuantisedGraph& quantised,
                                   Program& program, const CompileOptions& options,
                                   const LearnedCosts* costs,
                                   std::vector<overtake_insn>& instructions,
                                   const std::function<void(double)>& progress) {
    if (options.cores == 0 || program.fcs.empty())
        return std::nullopt;
    const CoreProfiles cores = profiles_of(options);
    const std::size_t constants = program.constants.bytes().size();
    CorePlan plan =
        plan_with_costs(graph, quantised, program,
                        {cores, options.schemes, options.overlaps, options.max_time_per_fc_us,
                         options.balance, nullptr, options.share_prices, progress},
                        costs);
    plan.one_core_ns = program_ns(program, find_profile(options.profile)->numbers);
    if (!gains_time(plan, costs)) {
        program.constants.shrink(constants);
        warn_of_no_plan(options, plan);
        return std::nullopt;
    }
    if (options.warn && plan_ns(plan) >= plan.one_core_ns)
        options.warn(fmt::format(
            "{}: {} has chosen a plan for {} cores that takes {:.1f} us by "
            "--profile, and one core {:.1f} us; leave --costs out for cores of "
            "that profile",
            options.model, options.costs, options.cores, static_cast<double>(plan_ns(plan)) / 1000,
            static_cast<double>(plan.one_core_ns) / 1000));
    check_opcodes(graph, plan);
    place(plan, instructions);
    return plan;
}

} // namespace overtake::compiler
