// SPDX-License-Identifier: MIT
//
// Plans of layouts: compared with all possible choices, planned with measured times, and checked
// for the number of steps that planning takes.
#include "cpu/layout_plan.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace overtake::cpu {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Returns the time of a plan by its own lists of forms and conversions.  Fails if a node lacks a
/// layout that it reads.
double time_of(const LayoutProblem& problem, const LayoutPlan& plan) {
    std::vector<LayoutSet> there;
    for (const auto& value : problem.values)
        there.push_back(value.given);
    double ns = 0;
    auto next = plan.conversions.begin();
    const auto convert_before = [&](std::size_t node) {
        for (; next != plan.conversions.end() && next->before <= node; ++next) {
            EXPECT_TRUE(there[next->value] >> next->from & 1);
            EXPECT_FALSE(there[next->value] >> next->to & 1);
            there[next->value] |= static_cast<LayoutSet>(1u << next->to);
            ns += problem.conversion(next->value, next->from, next->to);
        }
    };
    for (std::size_t node = 0; node < problem.nodes.size(); node++) {
        convert_before(node);
        const auto& entry = problem.nodes[node];
        const NodeForm& form = entry.forms.at(plan.forms[node]);
        for (std::size_t i = 0; i < entry.inputs.size(); i++)
            EXPECT_TRUE(there[entry.inputs[i]] >> form.inputs[i] & 1) << "node " << node;
        there[entry.output] = static_cast<LayoutSet>(1u << form.output);
        ns += form.ns;
    }
    convert_before(problem.nodes.size());
    EXPECT_EQ(next, plan.conversions.end());
    for (std::size_t value = 0; value < there.size(); value++)
        EXPECT_EQ(there[value] & problem.values[value].wanted, problem.values[value].wanted);
    return ns;
}

/// Returns the time of the nodes in these forms, with conversions.  A value is converted before the
/// node that needs the new layout, from the layout from which that is cheapest; after all nodes,
/// values are converted to the wanted layouts.
double time_with(const LayoutProblem& problem, const std::vector<std::size_t>& forms) {
    std::vector<LayoutSet> there;
    for (const auto& value : problem.values)
        there.push_back(value.given);
    double ns = 0;
    const auto ask = [&](std::uint32_t value, LayoutNumber to) {
        double least = there[value] >> to & 1 ? 0 : never;
        for (LayoutNumber from = 0; from < 8 && least > 0; from++)
            if (there[value] >> from & 1)
                least = std::min(least, problem.conversion(value, from, to));
        there[value] |= static_cast<LayoutSet>(1u << to);
        ns += least;
    };
    for (std::size_t node = 0; node < forms.size(); node++) {
        const auto& entry = problem.nodes[node];
        const NodeForm& form = entry.forms[forms[node]];
        for (std::size_t i = 0; i < entry.inputs.size(); i++)
            ask(entry.inputs[i], form.inputs[i]);
        there[entry.output] = static_cast<LayoutSet>(1u << form.output);
        ns += form.ns;
    }
    for (const auto& node : problem.nodes)
        for (LayoutNumber to = 0; to < 8; to++)
            if (problem.values[node.output].wanted >> to & 1)
                ask(node.output, to);
    return ns;
}

/// Returns the least time over all forms.
double least_time(const LayoutProblem& problem) {
    double least = never;
    std::vector<std::size_t> forms;
    const std::function<void()> choose = [&] {
        if (forms.size() == problem.nodes.size()) {
            least = std::min(least, time_with(problem, forms));
            return;
        }
        for (std::size_t form = 0; form < problem.nodes[forms.size()].forms.size(); form++) {
            forms.push_back(form);
            choose();
            forms.pop_back();
        }
    };
    choose();
    return least;
}

/// Returns a graph of `count` nodes, of one or two inputs each, among three layouts.
LayoutProblem random_problem(std::mt19937& random, std::size_t count) {
    const auto below = [&](std::size_t limit) { return random() % limit; };
    LayoutProblem problem;
    std::vector<double> sizes;
    const auto add_value = [&](LayoutSet given) {
        problem.values.push_back({given, 0});
        sizes.push_back(static_cast<double>(1 + below(40)));
    };
    for (std::size_t i = 0; i < 2; i++)
        add_value(static_cast<LayoutSet>(1 + below(7)));
    for (std::size_t i = 0; i < count; i++) {
        LayoutProblem::Node node;
        for (std::size_t k = 0; k < 1 + below(2); k++)
            node.inputs.push_back(static_cast<std::uint32_t>(below(problem.values.size())));
        node.output = static_cast<std::uint32_t>(problem.values.size());
        add_value(0);
        for (std::size_t k = 0; k < 1 + below(3); k++) {
            NodeForm form;
            for (std::size_t input = 0; input < node.inputs.size(); input++)
                form.inputs.push_back(static_cast<LayoutNumber>(below(3)));
            form.output = static_cast<LayoutNumber>(below(3));
            form.ns = static_cast<double>(below(50));
            node.forms.push_back(form);
        }
        problem.nodes.push_back(node);
    }
    for (auto& value : problem.values)
        if (below(4) == 0)
            value.wanted = static_cast<LayoutSet>(1u << below(3));
    problem.values.back().wanted = 1;
    for (std::size_t i = 0; i < 2; i++)
        problem.values[i].wanted = 0; // perhaps no node reads them
    problem.conversion = [sizes](std::uint32_t value, LayoutNumber from, LayoutNumber to) {
        return sizes[value] * (1 + (5 * from + 3 * to + value) % 7);
    };
    return problem;
}

TEST(LayoutPlan, IsTheBestOfAllPlansOfUpToSixNodes) {
    std::mt19937 random(38);
    std::size_t with_conversions = 0, several = 0;
    for (int round = 0; round < 400; round++) {
        const LayoutProblem problem = random_problem(random, 1 + random() % 6);
        const LayoutPlan plan = plan_layouts(problem);
        EXPECT_TRUE(plan.is_best);
        EXPECT_DOUBLE_EQ(time_of(problem, plan), plan.ns);
        EXPECT_DOUBLE_EQ(plan.ns, least_time(problem)) << "round " << round;
        with_conversions += !plan.conversions.empty();
        several += plan.conversions.size() > 1;
    }
    EXPECT_GT(with_conversions, 200u);
    EXPECT_GT(several, 100u);
}

TEST(LayoutPlan, WithFewStatesItIsAPlanNoWorseThanThoseOfOneLayout) {
    std::mt19937 random(39);
    int worse = 0;
    for (int round = 0; round < 100; round++) {
        LayoutProblem problem = random_problem(random, 30);
        for (auto& node : problem.nodes)
            for (LayoutNumber layout = 0; layout < 3; layout++)
                node.forms.push_back(
                    {std::vector<LayoutNumber>(node.inputs.size(), layout), layout, 60});
        const LayoutPlan best = plan_layouts(problem, 1 << 9), narrow = plan_layouts(problem, 2);
        EXPECT_FALSE(narrow.is_best && narrow.ns > best.ns);
        EXPECT_DOUBLE_EQ(time_of(problem, narrow), narrow.ns);
        EXPECT_GE(narrow.ns, best.ns * (best.is_best ? 1 : 0));
        for (LayoutNumber layout = 0; layout < 3; layout++)
            if (!narrow.is_best) {
                EXPECT_LE(narrow.ns, plan_layouts(preferring(problem, layout), 2).ns);
            }
        worse += narrow.ns > best.ns;
    }
    EXPECT_GT(worse, 0);
}

TEST(LayoutPlan, AValueIsConvertedOnceForAllThatReadIt) {
    LayoutProblem problem;
    problem.values = {{1, 0}, {0, 2}, {0, 2}, {0, 2}};
    for (std::uint32_t i = 1; i < 4; i++)
        problem.nodes.push_back({{0}, i, {{{1}, 1, 5}}});
    problem.conversion = [](std::uint32_t, LayoutNumber, LayoutNumber) { return 7.0; };
    const LayoutPlan plan = plan_layouts(problem);
    EXPECT_EQ(plan.conversions.size(), 1u);
    EXPECT_EQ(plan.ns, 3 * 5 + 7);
}

TEST(LayoutPlan, ATimeThatIsInfiniteIsAvoided) {
    LayoutProblem problem;
    problem.values = {{1, 0}, {0, 0}, {0, 1}};
    problem.nodes = {{{0}, 1, {{{0}, 1, 1}, {{0}, 0, 100}}}, {{1}, 2, {{{0}, 0, 1}}}};
    problem.conversion = [](std::uint32_t, LayoutNumber, LayoutNumber) { return never; };
    const LayoutPlan plan = plan_layouts(problem);
    EXPECT_EQ(plan.forms, (std::vector<std::uint32_t>{1, 0}));
    EXPECT_EQ(plan.ns, 101);
}

// One value becomes many, all of which the last node reads.
TEST(LayoutPlan, ItsWorkIsBoundedHoweverManyValuesAreAlive) {
    for (const std::uint32_t width : {10u, 100u, 1000u}) {
        LayoutProblem problem;
        problem.values = {{1, 0}};
        for (std::uint32_t i = 1; i <= width; i++) {
            problem.values.push_back({});
            problem.nodes.push_back({{0}, i, {{{0}, 0, 3}, {{1}, 1, 2}}});
        }
        problem.values.push_back({0, 1});
        LayoutProblem::Node last{{}, width + 1, {{{}, 0, 1}}};
        for (std::uint32_t i = 1; i <= width; i++) {
            last.inputs.push_back(i);
            last.forms[0].inputs.push_back(0);
        }
        problem.nodes.push_back(last);
        std::uint64_t asked = 0;
        problem.conversion = [&](std::uint32_t, LayoutNumber, LayoutNumber) {
            asked++;
            return 1.0;
        };
        const LayoutPlan plan = plan_layouts(problem);
        EXPECT_DOUBLE_EQ(time_of(problem, plan), plan.ns);
        EXPECT_LE(asked, 3u * 1024 * 8 * (width + 1));
        EXPECT_EQ(plan.ns, 3.0 * width + 1) << width;
    }
}

/// Times of ResNet-18 that were measured with several layouts, by shapes.
class Measured {
public:
    Measured() : file_(nlohmann::json::parse(std::ifstream(TEST_DATA "/layout-cases.json"))) {}

    static constexpr LayoutNumber nchw = 0, nchw44 = 1, nchw88 = 2;

    /// Returns the forms of an operator, with its measured times.  An operator that was not
    /// measured in NCHW44 has the time of NCHW there.
    std::vector<NodeForm> forms(const std::string& shapes, std::size_t inputs) const {
        for (const auto& entry : file_["operators"]) {
            if (joined(entry["shapes"]) != shapes)
                continue;
            const auto& times = entry["microseconds"];
            std::vector<NodeForm> forms;
            const auto add = [&](LayoutNumber in, LayoutNumber out, double us) {
                forms.push_back({std::vector<LayoutNumber>(inputs, in), out, us});
            };
            add(nchw, nchw, times["NCHW"]);
            if (entry["kind"] == "convolution")
                add(nchw, nchw44, times["NCHW44_HYBRID"]);
            add(nchw44, nchw44, times.contains("NCHW44") ? times["NCHW44"] : times["NCHW"]);
            return forms;
        }
        ADD_FAILURE() << "no times of " << shapes;
        return {};
    }

    double conversion(const std::string& shape, LayoutNumber from, LayoutNumber to) const {
        static const std::string names[] = {"{N,C,H,W}", "{N,C//4,H,W,C%4}", "{N,C//8,H,W,C%8}"};
        for (const auto& entry : file_["conversions"])
            if (entry["shape"] == shape && entry["frm"] == names[from] && entry["to"] == names[to])
                return entry["microseconds"];
        return never;
    }

    const nlohmann::json& expected() const { return file_["expected"]; }

private:
    static std::string joined(const nlohmann::json& shapes) {
        std::string all;
        for (const auto& shape : shapes)
            all += (all.empty() ? "" : " ") + shape.get<std::string>();
        return all;
    }

    const nlohmann::json file_;
};

/// The graph of ResNet-18 as those measurements have it: bias and activation are in the
/// convolutions, and inputs have four channels.
class ResNet18 {
public:
    explicit ResNet18(const Measured& measured) : measured_(measured) {
        std::uint32_t at = add_value("1,4,224,224");
        problem.values[at].given = 1u << Measured::nchw;
        at = convolve(at, 64, 7, 2);
        at = pool(at, "1,64,56,56");
        for (const int channels : {64, 128, 256, 512})
            for (const bool is_first : {true, false}) {
                const int stride = is_first && channels > 64 ? 2 : 1;
                const std::uint32_t body =
                    convolve(convolve(at, channels, 3, stride), channels, 3, 1);
                at = add(body, is_first ? convolve(at, channels, 1, stride) : at);
            }
        at = pool(at, "1,512,1,1");
        problem.values[at].wanted = 1u << Measured::nchw;
        problem.conversion = [this](std::uint32_t value, LayoutNumber from, LayoutNumber to) {
            return measured_.conversion(shapes_[value], from, to);
        };
    }

    LayoutProblem problem;
    std::size_t last_convolution = 0;

private:
    std::uint32_t add_value(const std::string& shape) {
        problem.values.push_back({});
        shapes_.push_back(shape);
        return static_cast<std::uint32_t>(shapes_.size() - 1);
    }

    std::uint32_t add_node(const std::string& shapes, std::vector<std::uint32_t> inputs,
                           const std::string& output) {
        const std::uint32_t result = add_value(output);
        const std::size_t count = inputs.size();
        problem.nodes.push_back({std::move(inputs), result, measured_.forms(shapes, count)});
        return result;
    }

    std::uint32_t convolve(std::uint32_t in, int channels, int kernel, int stride) {
        std::istringstream parts(shapes_[in]);
        int batch = 0, from = 0, height = 0;
        char comma = 0;
        parts >> batch >> comma >> from >> comma >> height;
        const auto text = [](int number) { return std::to_string(number); };
        const std::string size = text(height / stride), kernels = text(kernel);
        const std::string output = "1," + text(channels) + "," + size + "," + size;
        last_convolution = problem.nodes.size();
        return add_node(shapes_[in] + " " + text(channels) + "," + text(from) + "," + kernels +
                            "," + kernels + " 1," + text(channels) + ",1,1 " + output,
                        {in}, output);
    }

    std::uint32_t pool(std::uint32_t in, const std::string& output) {
        return add_node(shapes_[in] + " " + output, {in}, output);
    }

    std::uint32_t add(std::uint32_t a, std::uint32_t b) {
        const std::string& shape = shapes_[a];
        return add_node(shape + " " + shape + " " + shape, {a, b}, shape);
    }

    const Measured& measured_;
    std::vector<std::string> shapes_; // by value
};

TEST(LayoutPlan, ForMeasuredTimesItIsThePlanThatTheirAuthorsExpect) {
    const Measured measured;
    const ResNet18 network(measured);
    const LayoutPlan plan = plan_layouts(network.problem);
    EXPECT_TRUE(plan.is_best);
    EXPECT_EQ(plan.conversions.size(), measured.expected()["layout_conversions_in_the_plan"]);
    const std::size_t last = network.last_convolution;
    ASSERT_EQ(measured.expected()["last_convolution"], "NCHW44");
    const NodeForm& form = network.problem.nodes[last].forms[plan.forms[last]];
    EXPECT_EQ(form.inputs[0], Measured::nchw44);
    EXPECT_EQ(form.output, Measured::nchw44);
    EXPECT_LT(plan.ns, plan_layouts(preferring(network.problem, Measured::nchw)).ns);
    EXPECT_LE(plan.ns, plan_layouts(preferring(network.problem, Measured::nchw44)).ns);
}

} // namespace
} // namespace overtake::cpu
