// SPDX-License-Identifier: MIT
//
// Writes Einsum as matrix products.
#include "compiler/onnx/decompose.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace overtake::compiler {
namespace {

using Numbers = std::vector<std::int64_t>;
using Labels = std::string; // one character for each axis; dots of an ellipsis are digits

[[noreturn]] void refuse_equation(const std::string& equation) {
    throw CannotRewrite{"its equation '" + equation +
                        "' does not fit its inputs; is the file "
                        "damaged?"};
}

struct Equation {
    std::vector<Labels> terms;
    Labels result;
};

// An ellipsis stands for the axes that the other labels leave, counted from the last one.
Labels spelt_out(const std::string& term, std::size_t rank, const std::string& equation) {
    const std::size_t dots = term.find("...");
    const std::size_t named = term.size() - (dots == std::string::npos ? 0 : 3);
    if (dots == std::string::npos ? named != rank : named > rank || rank - named > 9)
        refuse_equation(equation);
    if (dots == std::string::npos)
        return term;
    Labels axes;
    for (std::size_t left = rank - named; left > 0; --left)
        axes += static_cast<char>('0' + left);
    return term.substr(0, dots) + axes + term.substr(dots + 3);
}

Equation parse(const std::string& given, const std::vector<std::size_t>& ranks) {
    std::string text;
    std::ranges::copy_if(given, std::back_inserter(text), [](char c) { return c != ' '; });
    // Digits are labels that this file makes.
    if (std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c); }))
        refuse_equation(given);
    const std::size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    Equation equation;
    for (std::size_t begin = 0; begin <= left.size();) {
        const std::size_t end = std::min(left.find(',', begin), left.size());
        const std::size_t number = equation.terms.size();
        if (number == ranks.size())
            refuse_equation(given);
        equation.terms.push_back(spelt_out(left.substr(begin, end - begin), ranks[number], given));
        begin = end + 1;
    }
    std::map<char, int> counts;
    std::size_t dots = 0;
    for (const Labels& term : equation.terms)
        for (const char label : term) {
            if (!std::isalnum(static_cast<unsigned char>(label)))
                refuse_equation(given);
            ++counts[label];
            if (std::isdigit(static_cast<unsigned char>(label)))
                dots = std::max(dots, static_cast<std::size_t>(label - '0'));
        }
    if (equation.terms.size() != ranks.size())
        refuse_equation(given);
    if (arrow != std::string::npos) {
        std::string right = text.substr(arrow + 2);
        const bool has_dots = right.find("...") != std::string::npos;
        equation.result =
            spelt_out(right, right.size() - (has_dots ? 3 : 0) + (has_dots ? dots : 0), given);
    } else {
        for (std::size_t axis = dots; axis > 0; --axis)
            equation.result += static_cast<char>('0' + axis);
        for (const auto& [label, count] : counts)
            if (count == 1 && std::isalpha(static_cast<unsigned char>(label)))
                equation.result += label;
    }
    for (const char label : equation.result)
        if (!counts.contains(label) || std::ranges::count(equation.result, label) != 1)
            refuse_equation(given);
    return equation;
}

bool has(const Labels& labels, char label) {
    return labels.find(label) != Labels::npos;
}

Labels common(const Labels& labels, const Labels& others) {
    Labels result;
    std::ranges::copy_if(labels, std::back_inserter(result),
                         [&](char label) { return has(others, label); });
    return result;
}

Labels without(const Labels& labels, const Labels& others) {
    Labels result;
    std::ranges::copy_if(labels, std::back_inserter(result),
                         [&](char label) { return !has(others, label); });
    return result;
}

// A tensor with a label for each axis.
struct Operand {
    std::string tensor;
    Labels labels;
};

class Einsum {
public:
    explicit Einsum(Rewrite& r) : r_(r) {}

    void run() {
        constexpr int most_operands = 64;
        const std::string equation = r_.attributes().text("equation", "");
        if (r_.node.input_size() > most_operands)
            throw CannotRewrite{"it has " + std::to_string(r_.node.input_size()) +
                                " inputs; 64 are supported"};
        std::vector<std::size_t> ranks;
        for (const std::string& input : r_.node.input())
            ranks.push_back(r_.rank(input));
        const Equation parsed = parse(equation, ranks);
        std::vector<Operand> operands;
        for (int index = 0; index < r_.node.input_size(); ++index)
            operands.push_back(
                {r_.node.input(index), parsed.terms[static_cast<std::size_t>(index)]});
        find_sizes(operands, equation);
        for (std::size_t index = 0; index < operands.size(); ++index) {
            drop_single_elements(operands[index], index);
            take_diagonals(operands[index]);
        }
        Operand product = operands[0];
        for (std::size_t index = 1; index < operands.size(); ++index) {
            Labels needed = parsed.result;
            for (std::size_t later = index + 1; later < operands.size(); ++later)
                needed += operands[later].labels;
            sum_over(product, without(without(product.labels, needed), operands[index].labels));
            sum_over(operands[index],
                     without(without(operands[index].labels, needed), product.labels));
            product = multiply(product, operands[index], needed);
        }
        sum_over(product, without(product.labels, parsed.result));
        finish(product, parsed.result);
    }

private:
    // A label has one size, but an axis of it may also have size 1.
    void find_sizes(const std::vector<Operand>& operands, const std::string& equation) {
        for (const Operand& operand : operands) {
            const Numbers shape = r_.shape(operand.tensor);
            shapes_.push_back(shape);
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                std::int64_t& size = sizes_.emplace(operand.labels[axis], 1).first->second;
                if (size != 1 && shape[axis] != 1 && size != shape[axis])
                    refuse_equation(equation);
                size = std::max(size, shape[axis]);
            }
        }
    }

    // An axis of one element where others have more is repeated, so its label is not needed.
    void drop_single_elements(Operand& operand, std::size_t index) {
        Numbers kept;
        Labels labels;
        for (std::size_t axis = 0; axis < operand.labels.size(); ++axis)
            if (shapes_[index][axis] == sizes_.at(operand.labels[axis])) {
                labels += operand.labels[axis];
                kept.push_back(shapes_[index][axis]);
            }
        if (labels != operand.labels)
            operand = {r_.build.reshaped(operand.tensor, kept), labels};
    }

    void take_diagonals(Operand& operand) {
        for (std::size_t axis = 0; axis < operand.labels.size(); ++axis) {
            const char label = operand.labels[axis];
            const std::size_t other = operand.labels.find(label, axis + 1);
            if (other == Labels::npos)
                continue;
            Labels rest = operand.labels;
            rest.erase(other, 1);
            rest.erase(axis, 1);
            Numbers order, shape = sizes_of(rest), diagonal;
            for (std::size_t each = 0; each < operand.labels.size(); ++each)
                if (each != axis && each != other)
                    order.push_back(static_cast<std::int64_t>(each));
            order.push_back(static_cast<std::int64_t>(axis));
            order.push_back(static_cast<std::int64_t>(other));
            const std::int64_t size = sizes_.at(label);
            shape.push_back(size * size);
            for (std::int64_t element = 0; element < size; ++element)
                diagonal.push_back(element * (size + 1));
            const std::string square =
                r_.build.reshaped(r_.build.transposed(operand.tensor, order), shape);
            onnx::NodeProto& gather =
                r_.build.node("Gather", {square, r_.build.integers(diagonal)});
            set_integer(gather, "axis", static_cast<std::int64_t>(rest.size()));
            operand = {gather.output(0), rest + label};
            axis = static_cast<std::size_t>(-1); // from the first
        }
    }

    Numbers axes_of(const Operand& operand, const Labels& labels) const {
        Numbers axes;
        for (const char label : labels)
            axes.push_back(static_cast<std::int64_t>(operand.labels.find(label)));
        return axes;
    }

    Numbers sizes_of(const Labels& labels) const {
        Numbers sizes;
        for (const char label : labels)
            sizes.push_back(sizes_.at(label));
        return sizes;
    }

    std::int64_t elements(const Labels& labels) const {
        std::int64_t count = 1;
        for (const char label : labels)
            if (__builtin_mul_overflow(count, sizes_.at(label), &count))
                throw CannotRewrite{"its tensors are larger than memory can be"};
        return count;
    }

    void sum_over(Operand& operand, const Labels& labels) {
        if (labels.empty())
            return;
        operand = {r_.build.summed(operand.tensor, axes_of(operand, labels)),
                   without(operand.labels, labels)};
    }

    void arrange(Operand& operand, const Labels& labels) {
        if (operand.labels != labels)
            operand = {r_.build.transposed(operand.tensor, axes_of(operand, labels)), labels};
    }

    // Returns the operand with an axis for each label of `over`, of one element if the operand
    // lacks the label.
    std::string spread(Operand operand, const Labels& over) {
        arrange(operand, common(over, operand.labels));
        if (operand.labels == over)
            return operand.tensor;
        Numbers shape;
        for (const char label : over)
            shape.push_back(has(operand.labels, label) ? sizes_.at(label) : 1);
        return r_.build.reshaped(operand.tensor, shape);
    }

    Operand multiply(Operand left, Operand right, const Labels& needed) {
        const Labels both = common(left.labels, right.labels);
        const Labels batch = common(both, needed), summed = without(both, needed);
        const Labels rows = without(left.labels, both), columns = without(right.labels, both);
        const Labels result = batch + rows + columns;
        if (summed.empty())
            return {r_.build("Mul", {spread(left, result), spread(right, result)}), result};
        arrange(left, batch + rows + summed);
        arrange(right, batch + summed + columns);
        const Numbers front = sizes_of(batch);
        const auto matrix = [&](const std::string& tensor, const Labels& first,
                                const Labels& second) {
            if (first.size() == 1 && second.size() == 1)
                return tensor;
            Numbers shape = front;
            shape.push_back(elements(first));
            shape.push_back(elements(second));
            return r_.build.reshaped(tensor, shape);
        };
        const std::string product = r_.build(
            "MatMul", {matrix(left.tensor, rows, summed), matrix(right.tensor, summed, columns)});
        if (rows.size() == 1 && columns.size() == 1)
            return {product, result};
        return {r_.build.reshaped(product, sizes_of(result)), result};
    }

    // Restores axes that an ellipsis or a label of one element has lost.
    void finish(Operand& operand, const Labels& result) {
        arrange(operand, common(result, operand.labels));
        if (operand.labels == result)
            r_.build.last("Identity", {operand.tensor});
        else
            r_.build.last("Reshape", {operand.tensor, r_.build.integers(sizes_of(result))});
    }

    Rewrite& r_;
    std::map<char, std::int64_t> sizes_;
    std::vector<Numbers> shapes_; // by operand
};

} // namespace

void decompose_einsum(Rewrite& r) {
    Einsum(r).run();
}

} // namespace overtake::compiler
