// SPDX-License-Identifier: MIT
#include "compiler/onnx/unroll_loops.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "compiler/ir/error.hpp"
#include "compiler/onnx/fresh_names.hpp"
#include "compiler/onnx/inline_branch.hpp"
#include "compiler/onnx/node_builder.hpp"
#include "compiler/onnx/versions.hpp"

namespace overtake::compiler {
namespace {

// Bounds for all loops of a network together.
constexpr std::int64_t most_nodes_of_loops = 1 << 16;
constexpr std::int64_t most_mebibytes = 256;
constexpr std::int64_t most_evaluations = 4096;
constexpr std::int64_t most_evaluated_elements = 1 << 24;

constexpr int opset_of_axes_as_input = 13;
constexpr int not_carried = 2; // inputs of a body, and of its loop, in front of what it carries

const onnx::GraphProto* body_of(const onnx::NodeProto& loop) {
    for (const auto& attribute : loop.attribute())
        if (attribute.name() == "body" && attribute.has_g())
            return &attribute.g();
    return nullptr;
}

bool fits(const onnx::NodeProto& loop, const onnx::GraphProto& body) {
    const int carried = loop.input_size() - not_carried;
    return carried >= 0 && body.input_size() == loop.input_size() && body.output_size() > carried &&
           loop.output_size() < body.output_size() &&
           std::none_of(loop.input().begin() + not_carried, loop.input().end(),
                        [](const std::string& name) { return name.empty(); });
}

std::int64_t nodes_in(const onnx::GraphProto& graph) {
    std::int64_t count = 0;
    for (const auto& node : graph.node()) {
        ++count;
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_g())
                count += nodes_in(attribute.g());
            for (const auto& inner : attribute.graphs())
                count += nodes_in(inner);
        }
    }
    return count;
}

// Returns how many names unrolling a trip makes, also in graphs in its nodes.
std::int64_t names_in(const onnx::GraphProto& graph) {
    std::int64_t count = 0;
    for (const auto& node : graph.node()) {
        count += 1 + node.input_size() + 2 * node.output_size(); // outputs also as names in use
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_g())
                count += names_in(attribute.g());
            for (const auto& inner : attribute.graphs())
                count += names_in(inner);
        }
    }
    return count;
}

bool is_constant_of_body(const onnx::NodeProto& node) {
    return node.op_type() == "Constant" && node.output_size() == 1 && node.domain().empty();
}

// Returns the bytes of one trip: the nodes of the body without constants that all trips share, and
// a prefix of each name.
std::int64_t bytes_of_trip(const onnx::NodeProto& loop, const onnx::GraphProto& body) {
    constexpr std::int64_t digits = 20;
    constexpr std::int64_t names_of_output = 4; // what joins the trips has some more
    std::size_t bytes = body.ByteSizeLong();
    for (const auto& tensor : body.initializer())
        bytes -= tensor.ByteSizeLong();
    for (const auto& node : body.node())
        if (is_constant_of_body(node))
            bytes -= node.ByteSizeLong();
    const std::int64_t names =
        names_in(body) + names_of_output * body.output_size() + body.input_size();
    const std::size_t prefix = std::max(first_output_of(loop).size(), loop.name().size());
    return static_cast<std::int64_t>(bytes) + names * (static_cast<std::int64_t>(prefix) + digits);
}

// Whether ONNX ignores the condition of the body: the number of trips is given, and no condition
// is.
bool ignores_condition(const onnx::NodeProto& loop) {
    return !loop.input(0).empty() && loop.input(1).empty();
}

bool is_read(const onnx::GraphProto& graph, const std::string& tensor) {
    const auto reads = [&](const onnx::NodeProto& node) {
        return std::ranges::count(node.input(), tensor) > 0 ||
               std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
                   return (attribute.has_g() && is_read(attribute.g(), tensor)) ||
                          std::ranges::any_of(attribute.graphs(), [&](const auto& inner) {
                              return is_read(inner, tensor);
                          });
               });
    };
    return std::ranges::any_of(graph.node(), reads) ||
           std::ranges::any_of(graph.output(),
                               [&](const auto& output) { return output.name() == tensor; });
}

// Makes a number for an input: without dimensions, unless the body says that it has one.
onnx::TensorProto number_for(const onnx::ValueInfoProto& input, int type, std::int64_t number) {
    onnx::TensorProto tensor;
    tensor.set_name(input.name());
    tensor.set_data_type(type);
    if (input.type().tensor_type().shape().dim_size() == 1)
        tensor.add_dims(1);
    if (type == onnx::TensorProto::BOOL)
        tensor.add_int32_data(static_cast<std::int32_t>(number));
    else
        tensor.add_int64_data(number);
    return tensor;
}

std::optional<std::int64_t> integer_in(const onnx::TensorProto& tensor) {
    try {
        const Constant constant = read_constant(tensor, tensor.name());
        if (constant.integers.size() == 1)
            return constant.integers[0];
    } catch (const CompileError&) { // checked, and refused, with all constants of the file
    }
    return std::nullopt;
}

// The nodes of a body that make its condition, and the values with which they begin.
class LoopCondition {
public:
    LoopCondition(const onnx::NodeProto& loop, const ConstantsByName& constants)
        : loop_(loop), body_(*body_of(loop)), constants_(constants) {
        for (int number = 0; number < body_.node_size(); ++number)
            for (const std::string& name : body_.node(number).output())
                makers_[name] = number;
        for (int number = 0; number < body_.input_size(); ++number)
            inputs_[body_.input(number).name()] = number;
        for (const auto& tensor : body_.initializer())
            own_constants_[tensor.name()] = &tensor;
        std::vector<std::string> left = {body_.output(0).name()};
        while (is_known_ && !left.empty()) {
            const std::string name = left.back();
            left.pop_back();
            if (!name.empty() && seen_.insert(name).second)
                find(name, left);
        }
    }

    /// Whether the condition follows from constants and from the number of the trip.
    bool is_known() const { return is_known_; }
    /// Whether the condition may differ after each trip.
    bool changes() const { return changes_; }

    /// Returns the condition after one more trip; nothing if it cannot be computed.  Adds the
    /// elements of all tensors that this needs to `elements`.
    std::optional<bool> after_trip(int opset, Libonnx& libonnx, const Evaluate& evaluate,
                                   std::int64_t& elements) {
        std::map<std::string, Constant> values;
        try {
            onnx::ModelProto part = model_of_trip(opset);
            if (opset < opset_of_evaluation)
                libonnx.convert(part, opset_of_evaluation);
            values = evaluate(part);
        } catch (const CompileError&) {
            return std::nullopt; // refused as a loop
        }
        ++trips_;
        for (const auto& [name, value] : values)
            elements += static_cast<std::int64_t>(value.floats.size() + value.integers.size());
        std::map<int, onnx::TensorProto> next;
        for (const auto& [number, tensor] : carried_) {
            const auto& output = body_.output(number - not_carried + 1).name();
            const auto value = values.find(output);
            if (value == values.end() ||
                !write_typed(value->second, tensor.data_type(), tensor.name(), next[number]))
                return std::nullopt;
        }
        carried_ = std::move(next);
        const auto condition = values.find(body_.output(0).name());
        if (condition == values.end() || condition->second.integers.size() != 1)
            return std::nullopt;
        return condition->second.integers[0] != 0;
    }

private:
    void find(const std::string& name, std::vector<std::string>& left) {
        if (const auto maker = makers_.find(name); maker != makers_.end()) {
            const onnx::NodeProto& node = body_.node(maker->second);
            is_known_ = is_known_ && is_computable(node);
            nodes_.insert(maker->second);
            left.insert(left.end(), node.input().begin(), node.input().end());
        } else if (const auto input = inputs_.find(name); input != inputs_.end()) {
            changes_ = changes_ || input->second != 1;
            if (input->second >= not_carried)
                carry(input->second, left);
        } else if (!own_constants_.contains(name)) {
            const auto constant = constants_.find(name);
            is_known_ = is_known_ && constant != constants_.end();
            if (is_known_)
                outer_constants_.insert(*constant);
        }
    }

    void carry(int number, std::vector<std::string>& left) {
        const auto start = constants_.find(loop_.input(number));
        if (start == constants_.end()) {
            is_known_ = false;
            return;
        }
        carried_[number] = *start->second;
        carried_[number].set_name(body_.input(number).name());
        left.push_back(body_.output(number - not_carried + 1).name());
    }

    static bool is_computable(const onnx::NodeProto& node) {
        static const std::set<std::string> chance = {"Bernoulli",     "Multinomial",
                                                     "RandomNormal",  "RandomNormalLike",
                                                     "RandomUniform", "RandomUniformLike"};
        const bool has_graphs =
            std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
                return attribute.has_g() || attribute.graphs_size() > 0;
            });
        return (node.domain().empty() || node.domain() == "ai.onnx") && !has_graphs &&
               !chance.contains(node.op_type());
    }

    onnx::ModelProto model_of_trip(int opset) const {
        onnx::ModelProto part;
        part.set_ir_version(8);
        part.add_opset_import()->set_version(opset);
        onnx::GraphProto& graph = *part.mutable_graph();
        graph.set_name("condition");
        for (const int number : nodes_)
            *graph.add_node() = body_.node(number);
        for (const auto* list : {&own_constants_, &outer_constants_})
            for (const auto& [name, tensor] : *list)
                if (seen_.contains(name))
                    *graph.add_initializer() = *tensor;
        *graph.add_initializer() = number_for(body_.input(0), onnx::TensorProto::INT64, trips_);
        *graph.add_initializer() = number_for(body_.input(1), onnx::TensorProto::BOOL, 1);
        for (const auto& [number, tensor] : carried_)
            *graph.add_initializer() = tensor;
        const auto add_output = [&](int number, int type) {
            auto& output = *graph.add_output();
            output.set_name(body_.output(number).name());
            output.mutable_type()->mutable_tensor_type()->set_elem_type(type);
        };
        add_output(0, onnx::TensorProto::BOOL);
        for (const auto& [number, tensor] : carried_)
            add_output(number - not_carried + 1, tensor.data_type());
        return part;
    }

    const onnx::NodeProto& loop_;
    const onnx::GraphProto& body_;
    const ConstantsByName& constants_;
    std::map<std::string, int> makers_, inputs_; // by tensor of the body
    ConstantsByName own_constants_, outer_constants_;
    std::set<std::string> seen_;
    std::set<int> nodes_;
    std::map<int, onnx::TensorProto> carried_; // by input of the body: before the next trip
    std::int64_t trips_ = 0;
    bool is_known_ = true, changes_ = false;
};

// Moves the constants of the body, which all trips share, to the graph.
std::vector<onnx::NodeProto> take_constants(onnx::GraphProto& body, onnx::GraphProto& graph,
                                            const std::string& prefix, std::set<std::string>& names,
                                            Renames& renames) {
    for (auto& tensor : *body.mutable_initializer()) {
        renames[tensor.name()] = fresh_name(prefix + tensor.name(), names);
        tensor.set_name(renames[tensor.name()]);
        graph.add_initializer()->Swap(&tensor);
    }
    body.clear_initializer();
    std::vector<onnx::NodeProto> constants;
    google::protobuf::RepeatedPtrField<onnx::NodeProto> others;
    for (auto& node : *body.mutable_node()) {
        if (!is_constant_of_body(node)) {
            others.Add()->Swap(&node);
            continue;
        }
        renames[node.output(0)] = fresh_name(prefix + node.output(0), names);
        node.set_output(0, renames[node.output(0)]);
        constants.push_back(std::move(node));
    }
    body.mutable_node()->Swap(&others);
    return constants;
}

// Joins values that the trips give one after the other, along a new first axis.
class JoinedTrips {
public:
    JoinedTrips(int opset, onnx::GraphProto& graph, std::set<std::string>& names)
        : opset_(opset), graph_(graph), names_(names) {}

    void join(const std::vector<std::string>& parts, const std::string& result,
              std::vector<onnx::NodeProto>& nodes) {
        onnx::NodeProto joined;
        joined.set_op_type("Concat");
        joined.set_name(result);
        set_integer(joined, "axis", 0);
        joined.add_output(result);
        for (const std::string& part : parts) {
            onnx::NodeProto& row = nodes.emplace_back();
            row.set_op_type("Unsqueeze");
            row.set_name(fresh_name(part + ":row", names_));
            row.add_input(part);
            if (opset_ < opset_of_axes_as_input)
                set_integers(row, "axes", {0});
            else
                row.add_input(first_axis());
            row.add_output(row.name());
            joined.add_input(row.name());
        }
        nodes.push_back(std::move(joined));
    }

private:
    const std::string& first_axis() {
        if (axis_.empty()) {
            axis_ = fresh_name("first_axis", names_);
            onnx::TensorProto& axis = *graph_.add_initializer();
            axis.set_name(axis_);
            axis.set_data_type(onnx::TensorProto::INT64);
            axis.add_dims(1);
            axis.add_int64_data(0);
        }
        return axis_;
    }

    const int opset_;
    onnx::GraphProto& graph_;
    std::set<std::string>& names_;
    std::string axis_;
};

// Writes the trips of one loop one behind the other.
class Unrolled {
public:
    Unrolled(const onnx::NodeProto& loop, int opset, onnx::GraphProto& graph,
             std::set<std::string>& names)
        : loop_(loop), body_(*body_of(loop)), graph_(graph), names_(names),
          joined_(opset, graph, names),
          carried_(loop.input().begin() + not_carried, loop.input().end()),
          scanned_(static_cast<std::size_t>(body_.output_size()) - 1 - carried_.size()) {
        prefix_ = first_output_of(loop) + "/";
        nodes_ = take_constants(body_, graph_, prefix_, names_, outside_);
        reads_trip_ = is_read(body_, body_.input(0).name());
        reads_condition_ = is_read(body_, body_.input(1).name());
    }

    std::vector<onnx::NodeProto> run(std::int64_t trips) {
        for (std::int64_t trip = 0; trip < trips; ++trip)
            add_trip(trip, trip == trips - 1);
        for (std::size_t index = 0; trips == 0 && index < carried_.size(); ++index)
            if (const std::string name = output(index); !name.empty())
                add_alias(carried_[index], name);
        for (std::size_t index = 0; index < scanned_.size(); ++index)
            if (const std::string name = output(carried_.size() + index); !name.empty())
                joined_.join(scanned_[index], name, nodes_);
        return std::move(nodes_);
    }

private:
    // Returns the loop's output `index`; empty if the loop does not give it.
    std::string output(std::size_t index) const {
        const auto number = static_cast<int>(index);
        return number < loop_.output_size() ? loop_.output(number) : "";
    }

    void add_alias(const std::string& from, const std::string& to) {
        onnx::NodeProto& alias = nodes_.emplace_back();
        alias.set_op_type("Identity");
        alias.set_name(to);
        alias.add_input(from);
        alias.add_output(to);
    }

    std::string add_number(int input, int type, std::int64_t number, const std::string& prefix) {
        onnx::TensorProto tensor = number_for(body_.input(input), type, number);
        tensor.set_name(fresh_name(prefix + body_.input(input).name(), names_));
        *graph_.add_initializer() = tensor;
        return tensor.name();
    }

    // Returns a node in place of the trip, with the outputs of the trip.
    onnx::NodeProto call_of_trip(const std::string& prefix, bool is_last) {
        onnx::NodeProto call;
        condition_.clear();
        if (reads_condition_ && ignores_condition(loop_) && !is_last)
            condition_ = fresh_name(prefix + "condition", names_);
        call.add_output(condition_);
        for (std::size_t index = 0; index < carried_.size() + scanned_.size(); ++index) {
            const bool is_carried = index < carried_.size();
            std::string name = output(index);
            if (!(is_carried && is_last) && (is_carried || !name.empty()))
                name = fresh_name(prefix + std::to_string(index), names_);
            call.add_output(name);
            if (is_carried)
                carried_[index] = name;
            else
                scanned_[index - carried_.size()].push_back(name);
        }
        return call;
    }

    // Names the body's inner tensors by the trip, so that names do not grow with each trip.
    void name_inner_tensors(const onnx::NodeProto& call, const std::string& prefix,
                            Renames& renames) {
        std::set<std::string> given;
        for (int index = 0; index < call.output_size(); ++index)
            if (!call.output(index).empty())
                given.insert(body_.output(index).name());
        for (const auto& node : body_.node())
            for (const std::string& name : node.output())
                if (!name.empty() && !given.contains(name))
                    renames[name] = fresh_name(prefix + name, names_);
    }

    void add_trip(std::int64_t trip, bool is_last) {
        const std::string number = std::to_string(trip) + "/", prefix = prefix_ + number;
        Renames renames = outside_;
        if (reads_trip_)
            renames[body_.input(0).name()] = add_number(0, onnx::TensorProto::INT64, trip, prefix);
        if (reads_condition_)
            renames[body_.input(1).name()] =
                condition_.empty() ? add_number(1, onnx::TensorProto::BOOL, 1, prefix) : condition_;
        for (std::size_t index = 0; index < carried_.size(); ++index)
            renames[body_.input(static_cast<int>(index) + not_carried).name()] = carried_[index];
        const onnx::NodeProto call = call_of_trip(prefix, is_last);
        name_inner_tensors(call, prefix, renames);
        onnx::GraphProto body = body_;
        const std::string name = loop_.name().empty() ? prefix_ : loop_.name() + "/";
        for (auto& node : *body.mutable_node())
            if (!node.name().empty())
                node.set_name(name + number + node.name());
        for (onnx::NodeProto& node :
             inline_branch(call, std::move(body), graph_, names_, std::move(renames)))
            nodes_.push_back(std::move(node));
    }

    const onnx::NodeProto& loop_;
    onnx::GraphProto body_;
    onnx::GraphProto& graph_;
    std::set<std::string>& names_;
    JoinedTrips joined_;
    std::vector<std::string> carried_; // to the next trip
    std::string condition_; // to the next trip; empty where that makes the next trip only if true
    std::vector<std::vector<std::string>> scanned_;
    Renames outside_; // tensors around the body that it reads
    std::vector<onnx::NodeProto> nodes_;
    std::string prefix_; // of names
    bool reads_trip_ = false, reads_condition_ = false;
};

// The inputs of a loop; nothing if they do not follow from constants.
struct Limits {
    std::optional<std::int64_t> trips;
    std::optional<bool> starts;
};

Limits limits_of(const onnx::NodeProto& loop, const ConstantsByName& constants) {
    const auto value_of = [&](int index, std::int64_t otherwise) -> std::optional<std::int64_t> {
        if (loop.input(index).empty())
            return otherwise;
        const auto found = constants.find(loop.input(index));
        return found == constants.end() ? std::nullopt : integer_in(*found->second);
    };
    const auto starts = value_of(1, 1);
    return {value_of(0, std::numeric_limits<std::int64_t>::max()),
            starts ? std::optional(*starts != 0) : std::nullopt};
}

Trips refused_trips(const std::string& reason) {
    return {std::nullopt, reason};
}

// A loop without trips is refused if it gives a value for each trip: that would have no elements.
Trips without_trips(const onnx::NodeProto& loop) {
    for (int index = loop.input_size() - not_carried; index < loop.output_size(); ++index)
        if (!loop.output(index).empty())
            return refused_trips("it makes no trip, and its output '" + loop.output(index) +
                                 "' would be empty; remove it from the network");
    return {0, ""};
}

} // namespace

Trips LoopUnroller::trips_of(const onnx::NodeProto& loop, const ConstantsByName& constants) {
    const onnx::GraphProto* body = body_of(loop);
    if (!body || !fits(loop, *body))
        return refused_trips("its body does not fit its inputs and outputs; is the file damaged?");
    if (failed_.contains(first_output_of(loop)))
        return {};
    const Limits limits = limits_of(loop, constants);
    if (!limits.trips || !limits.starts)
        return {};
    const std::int64_t most = *limits.starts ? std::max<std::int64_t>(*limits.trips, 0) : 0;
    if (most == 0)
        return without_trips(loop);
    const std::int64_t nodes = std::max<std::int64_t>(nodes_in(*body), 1);
    const std::int64_t bytes = bytes_of_trip(loop, *body);
    const std::int64_t by_nodes = (most_nodes_of_loops - nodes_) / nodes;
    const std::int64_t by_bytes = ((most_mebibytes << 20) - bytes_) / bytes;
    const std::int64_t affordable = std::min(by_nodes, by_bytes);
    Trips trips = count_trips(loop, constants, std::min(most, affordable + 1));
    if (!trips.count || *trips.count <= affordable)
        return trips;
    if (by_bytes < by_nodes)
        return refused_trips(
            fmt::format("it makes {} trips or more of {} bytes of nodes and names, and "
                        "loops are unrolled to at most {} MiB in all; export it with "
                        "fewer trips or shorter names",
                        *trips.count, bytes, most_mebibytes));
    return refused_trips(
        fmt::format("it makes {} trips or more of {} nodes, and loops are unrolled to "
                    "at most {} nodes in all; export it with fewer trips",
                    *trips.count, nodes, most_nodes_of_loops));
}

Trips LoopUnroller::count_trips(const onnx::NodeProto& loop, const ConstantsByName& constants,
                                std::int64_t most) {
    if (most == 1)
        return {most, ""};
    const bool is_ignored = ignores_condition(loop);
    LoopCondition condition(loop, constants);
    if (!condition.is_known())
        return is_ignored ? Trips{most, ""} : Trips{};
    for (std::int64_t trips = 1; trips < most; ++trips) {
        if (trips > 1 && !condition.changes())
            break;
        if (evaluations_ == most_evaluations || elements_ >= most_evaluated_elements) {
            if (is_ignored)
                break;
            return refused_trips(
                fmt::format("its condition changes from trip to trip, and conditions of "
                            "loops are computed for at most {} trips and {} numbers in "
                            "all; export it with a constant number of trips",
                            most_evaluations, most_evaluated_elements));
        }
        ++evaluations_;
        const auto goes_on = condition.after_trip(opset_, libonnx_, evaluate_, elements_);
        if (!goes_on && is_ignored)
            break;
        if (!goes_on) {
            failed_.insert(first_output_of(loop));
            return {};
        }
        if (!*goes_on && is_ignored)
            return refused_trips(
                "its body ends it, but ONNX ignores that of a loop without a condition; "
                "export it with one");
        if (!*goes_on)
            return {trips, ""};
    }
    return {most, ""};
}

std::vector<onnx::NodeProto> LoopUnroller::unroll(const onnx::NodeProto& loop, std::int64_t trips,
                                                  onnx::GraphProto& graph,
                                                  std::set<std::string>& names) {
    nodes_ += trips * nodes_in(*body_of(loop));
    bytes_ += trips * bytes_of_trip(loop, *body_of(loop));
    return Unrolled(loop, opset_, graph, names).run(trips);
}

} // namespace overtake::compiler
