// SPDX-License-Identifier: MIT
#include "model/kept_model.hpp"

#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "overtake/model_contents.hpp"

namespace overtake {

namespace {

/// The data that views of a kept model point to.
struct KeptViews {
    std::deque<std::string> texts;
    std::deque<std::vector<float>> constants;
};

template <class Element>
std::size_t bytes_of(const std::vector<Element>& elements) {
    return elements.capacity() * sizeof(Element);
}

std::size_t bytes_of(const Segment& segment) {
    std::size_t bytes = bytes_of(segment.fcs) + bytes_of(segment.fc_cycles) +
                        bytes_of(segment.bindings) + bytes_of(segment.cpu_ops);
    for (const CpuOp& op : segment.cpu_ops)
        bytes +=
            bytes_of(op.inputs) + bytes_of(op.integers) + bytes_of(op.reals) + bytes_of(op.layouts);
    return bytes;
}

std::size_t bytes_of(const CorePlan& plan) {
    std::size_t bytes = bytes_of(plan.profiles) + bytes_of(plan.segments);
    for (const CoreSegment& segment : plan.segments)
        bytes += bytes_of(segment.fcs) + bytes_of(segment.fc_cycles) + bytes_of(segment.parts) +
                 bytes_of(segment.stages);
    return bytes;
}

std::size_t bytes_of(const ModelContents& contents) {
    std::size_t bytes =
        bytes_of(contents.tensors) + bytes_of(contents.segments) + bytes_of(contents.units);
    for (const Tensor& tensor : contents.tensors)
        bytes += bytes_of(tensor.shape);
    for (const Segment& segment : contents.segments)
        bytes += bytes_of(segment);
    if (contents.core_plan)
        bytes += bytes_of(*contents.core_plan);
    for (const Unit& unit : contents.units)
        for (const auto& work : unit.work)
            if (work) {
                bytes += bytes_of(work->segments);
                for (const Segment& segment : work->segments)
                    bytes += bytes_of(segment);
            }
    return bytes;
}

class Keeper {
public:
    Keeper(const ModelContents& whole, const std::vector<bool>& wanted)
        : whole_(whole), wanted_(wanted), views_(std::make_shared<KeptViews>()) {}

    KeptModel keep() {
        kept_.file_number = whole_.file_number;
        kept_.isa_version = whole_.isa_version;
        kept_.name = text(whole_.name);
        kept_.profile_name = text(whole_.profile_name);
        kept_.clock_khz = whole_.clock_khz;
        kept_.max_time_per_fc_us = whole_.max_time_per_fc_us;
        number_tensors();
        keep_tensors();
        for (const Segment& segment : whole_.segments)
            kept_.segments.push_back(kept(segment));
        if (whole_.core_plan)
            kept_.core_plan = kept(*whole_.core_plan);
        result_.table_bytes = bytes_of(kept_);
        for (const std::string& each : views_->texts)
            result_.table_bytes += sizeof(each) + each.capacity();
        for (const std::vector<float>& each : views_->constants)
            result_.table_bytes += sizeof(each) + bytes_of(each);
        result_.model = ModelContents::make(std::move(kept_), views_);
        return std::move(result_);
    }

private:
    static constexpr auto none = std::numeric_limits<std::uint32_t>::max();

    std::string_view text(std::string_view of_file) {
        return of_file.empty() ? std::string_view() : views_->texts.emplace_back(of_file);
    }

    std::uint32_t number(std::uint32_t old) {
        if (new_numbers_[old] == none) {
            new_numbers_[old] = static_cast<std::uint32_t>(result_.old_numbers.size());
            result_.old_numbers.push_back(old);
        }
        return new_numbers_[old];
    }

    /// Numbers the tensors, inputs and outputs first.
    void number_tensors() {
        new_numbers_.assign(whole_.segment_tensors, none);
        for (const std::uint32_t old : whole_.inputs)
            kept_.inputs.push_back(number(old));
        for (const std::uint32_t old : whole_.outputs)
            kept_.outputs.push_back(number(old));
        kept_.segment_tensors = result_.old_numbers.size();
        for (std::uint32_t old = 0; old < whole_.segment_tensors; old++)
            number(old);
    }

    /// Returns, by tensor, whether it is read only as weights or bias of convolutions.
    std::vector<bool> weights_of_convolutions() const {
        std::vector<bool> is_read(whole_.segment_tensors), is_other(whole_.segment_tensors);
        for (const Segment& segment : whole_.segments)
            for (const CpuOp& op : segment.cpu_ops)
                for (std::size_t i = 0; i < op.inputs.size(); i++) {
                    is_read[op.inputs[i]] = true;
                    if (op.type != CpuOpType::convolution || i == 0)
                        is_other[op.inputs[i]] = true;
                }
        for (std::size_t i = 0; i < is_read.size(); i++)
            is_read[i] = is_read[i] && !is_other[i];
        return is_read;
    }

    void keep_tensors() {
        const std::vector<bool> are_weights = weights_of_convolutions();
        for (const std::uint32_t old : result_.old_numbers) {
            Tensor tensor = whole_.tensors[old];
            const bool is_constant = tensor.is_constant();
            const bool is_left_out = is_constant && are_weights[old] && !wanted_[old];
            result_.is_left_out.push_back(is_left_out);
            tensor.name = is_constant ? std::string_view() : text(tensor.name);
            if (is_left_out) {
                tensor.data = {};
                tensor.bytes = 0;
            } else if (is_constant) {
                tensor.data =
                    views_->constants.emplace_back(tensor.data.begin(), tensor.data.end());
            }
            kept_.tensors.push_back(std::move(tensor));
        }
    }

    Segment kept(const Segment& whole) {
        Segment segment;
        segment.fcs = whole.fcs;
        segment.bindings = whole.bindings;
        for (TensorBinding& binding : segment.bindings)
            binding.tensor = number(binding.tensor);
        segment.scratch_bytes = whole.scratch_bytes;
        segment.cpu_ops = whole.cpu_ops;
        for (CpuOp& op : segment.cpu_ops) {
            op.name = text(op.name);
            op.weights_format = {}; // so that kernels make copies rather than read the file
            op.weights = {};
            for (std::uint32_t& input : op.inputs)
                input = number(input);
            op.output = number(op.output);
        }
        segment.expected_ns = whole.expected_ns;
        return segment;
    }

    CorePlan kept(const CorePlan& whole) {
        CorePlan plan = whole;
        for (std::string_view& profile : plan.profiles)
            profile = text(profile);
        for (CoreSegment& segment : plan.segments)
            segment.fc_cycles = std::vector<std::uint64_t>();
        return plan;
    }

    const ModelContents& whole_;
    const std::vector<bool>& wanted_;
    const std::shared_ptr<KeptViews> views_;
    ModelContents kept_;
    std::vector<std::uint32_t> new_numbers_;
    KeptModel result_;
};

} // namespace

KeptModel keep_for_running(const Model& whole, const std::vector<bool>& wanted) {
    return Keeper(ModelContents::of(whole), wanted).keep();
}

std::size_t table_bytes(const Model& model) {
    return bytes_of(ModelContents::of(model));
}

} // namespace overtake
