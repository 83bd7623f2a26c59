// SPDX-License-Identifier: MIT
#include "compiler/host_profile/measure.hpp"

#include <algorithm>
#include <mutex>
#include <random>
#include <utility>

#include "overtake/model_contents.hpp"
#include "overtake/session.hpp"

namespace overtake::host_profile {
namespace {

constexpr std::uint64_t longest_run_ns = 600'000'000'000;

// Records FCs as they end.  One job is in flight at a time, so they come in the order of the model.
struct Recorder {
    std::mutex mutex;
    std::vector<FcRecord> records;

    static void record(void* context, const FcRecord& record) {
        auto& recorder = *static_cast<Recorder*>(context);
        const std::lock_guard lock(recorder.mutex);
        recorder.records.push_back(record);
    }

    std::vector<FcRecord> take() {
        const std::lock_guard lock(mutex);
        return std::exchange(records, {});
    }
};

std::size_t fc_count(const Model& model) {
    std::size_t count = 0;
    for (const Segment& segment : ModelContents::of(model).segments)
        count += segment.fcs.size();
    return count;
}

// Returns the time from the start of the first FC of a segment to the end of its last, summed over
// all segments.
double device_ns(const Model& model, const std::vector<FcRecord>& records) {
    double sum = 0;
    std::size_t first = 0;
    for (const Segment& segment : ModelContents::of(model).segments) {
        if (segment.fcs.empty())
            continue;
        const std::size_t last = first + segment.fcs.size() - 1;
        sum += static_cast<double>(records[last].end_ns - records[first].start_ns);
        first = last + 1;
    }
    return sum;
}

void fill_with_noise(Task& task, const Model& model) {
    std::mt19937 generator(1);
    std::normal_distribution<float> noise;
    for (std::size_t input = 0; input < model.inputs().size(); ++input) {
        std::vector<float> values(model.input(input).elements());
        for (float& value : values)
            value = noise(generator);
        task.set_input(input, values);
    }
}

} // namespace

void run_on_noise(
    const std::shared_ptr<const Model>& model, unsigned cores, unsigned runs,
    const std::function<void(unsigned run, const std::vector<FcRecord>& records)>& each) {
    Recorder recorder;
    EmbeddedOptions options;
    options.cores = cores;
    options.queue_timeout_ns = longest_run_ns;
    options.on_fc = Recorder::record;
    options.on_fc_context = &recorder;
    Session session(open_embedded(options), model);
    Task task = session.create_task();
    fill_with_noise(task, *model);
    for (unsigned run = 0; run <= runs; ++run) {
        task.start();
        task.wait();
        if (task.status() != 0)
            throw Error(-task.status(), std::string(model->name()) + ": cannot be run");
        each(run, recorder.take());
    }
}

FcTimes measure(const std::shared_ptr<const Model>& model, unsigned runs,
                const std::function<void(double)>& progress) {
    const std::size_t count = fc_count(*model);
    FcTimes best;
    run_on_noise(model, 1, runs, [&](unsigned run, const std::vector<FcRecord>& records) {
        if (records.size() != count || count == 0)
            throw Error(EIO, std::string(model->name()) + ": has no FCs, or not all of them ran");
        FcTimes times;
        for (const FcRecord& record : records)
            times.fcs_ns.push_back(static_cast<double>(record.end_ns - record.start_ns));
        times.total_ns = static_cast<double>(records.back().end_ns - records.front().start_ns);
        times.device_ns = device_ns(*model, records);
        if (run == 1)
            best = times;
        if (run > 1)
            best.keep_faster(times);
        if (progress)
            progress(static_cast<double>(run) / runs);
    });
    return best;
}

void FcTimes::keep_faster(const FcTimes& other) {
    for (std::size_t index = 0; index < fcs_ns.size(); ++index)
        fcs_ns[index] = std::min(fcs_ns[index], other.fcs_ns[index]);
    total_ns = std::min(total_ns, other.total_ns);
    device_ns = std::min(device_ns, other.device_ns);
}

} // namespace overtake::host_profile
