// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "failing_new.hpp"
#include "models.hpp"

namespace overtake::test {

namespace {

constexpr std::size_t live_per_thread = 3; // give_up() adds one: 8 threads have at most 32
constexpr std::size_t most_items = 3;
constexpr std::int32_t picture_width = 64, picture_height = 16, region_width = 18, region_rows = 4;
constexpr std::int32_t most_regions = 3;
constexpr std::uint32_t memory_bytes = 8192;

/// The counts of all threads.
struct Counts {
    std::atomic<unsigned> done{0}, failed{0}, cancelled{0}, timeouts{0}, refused{0};
    std::atomic<unsigned> callbacks_set{0}, callbacks{0}, wrong{0};

    void complain(const std::string& text) {
        if (wrong++ < 20)
            std::fprintf(stderr, "wrong: %s\n", text.c_str());
    }
};

/// Input and output of one model of a task.
struct Item {
    const LoadModel* model = nullptr;
    hbSysMem in{}, out{};
    std::int32_t regions = 0;
    std::uint8_t first_byte = 0;
};

/// A task that may be under way; its memory is used again.
struct Live {
    hbDNNTaskHandle_t handle = nullptr;
    std::array<Item, most_items> items;
    std::size_t count = 0;
    bool fails = false;
    std::atomic<unsigned> calls{0};
    unsigned expected_calls = 0;
    Counts* counts = nullptr;
    bool releases_in_callback = false;
};

void called(hbDNNTaskHandle_t task, std::int32_t, void* userdata) {
    const MemoryForTests own;
    Live& live = *static_cast<Live*>(userdata);
    if (live.releases_in_callback && hbDNNReleaseTask(task) != 0)
        live.counts->complain("a task could not be released in its callback");
    live.counts->callbacks++;
    live.calls++; // last: now the thread may use `live` again
    live.calls.notify_all();
}

/// Whether the status may follow from an allocation that was refused.
bool is_refusal(std::int32_t status) {
    return refused_allocations() != 0 &&
           (status == HB_DNN_OUT_OF_MEMORY || status == HB_SYS_OUT_OF_MEMORY ||
            status == HB_DNN_RUN_TASK_FAILED || status == HB_DNN_INVALID_MODEL);
}

/// Calls the library; allocations of the call may be refused.
template <class Call>
std::int32_t in_library(Call call) {
    const MemoryForLibrary refusable;
    return call();
}

class Thread {
public:
    Thread(const std::vector<LoadModel>& models, Counts& counts, std::uint64_t seed)
        : models_(models), counts_(counts), random_(seed) {
        for (Live& live : lives_)
            allocate(live);
    }
    ~Thread() {
        for (Live& live : lives_)
            free(live);
    }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    void run(unsigned tasks) {
        for (unsigned i = 0; i < tasks; i++) {
            Live& live = lives_[i % live_per_thread];
            finish(live);
            if (draw(50) == 0)
                use_own_pack();
            if (draw(50) == 0)
                give_up();
            submit(live);
        }
        for (Live& live : lives_)
            finish(live);
    }

private:
    std::uint64_t draw(std::uint64_t below) { return random_() % below; }

    void allocate(Live& live) {
        const MemoryForTests own;
        for (Item& item : live.items)
            if (hbSysAllocCachedMem(&item.in, memory_bytes) != 0 ||
                hbSysAllocMem(&item.out, memory_bytes) != 0)
                counts_.complain("no memory");
    }
    void free(Live& live) {
        const MemoryForTests own;
        for (Item& item : live.items)
            if (hbSysFreeMem(&item.in) != 0 || hbSysFreeMem(&item.out) != 0)
                counts_.complain("memory could not be freed");
    }

    void submit(Live& live) {
        live.handle = nullptr;
        live.calls = 0;
        live.expected_calls = 0;
        live.fails = false;
        live.counts = &counts_;
        live.count = 1 + draw(most_items);
        live.releases_in_callback = draw(8) == 0;
        hbDNNInferCtrlParam control;
        HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
        control.priority = draw(8) == 0 ? HB_DNN_PRIORITY_PREEMP
                                        : static_cast<std::int32_t>(draw(HB_DNN_PRIORITY_PREEMP));
        control.bpuCoreId = static_cast<std::int32_t>(draw(3));
        control.customId = static_cast<std::int64_t>(draw(5));
        for (std::size_t i = 0; i < live.count; i++) {
            Item& item = live.items[i];
            item.model = &models_[draw(models_.size())];
            // A network that fails ends its task, so it is chosen less often.
            if (item.model->kind == LoadModel::Kind::faulty && draw(4) != 0)
                item.model = &models_[0];
            live.fails |= item.model->kind == LoadModel::Kind::faulty;
            control.more = i + 1 < live.count ? 1 : 0;
            if (!add(live.handle, item, control)) {
                counts_.refused++;
                if (live.handle)
                    release(live);
                live.handle = nullptr;
                return;
            }
        }
        if (live.releases_in_callback || draw(2) == 0) {
            const std::int32_t status =
                in_library([&] { return hbDNNSetTaskDoneCb(live.handle, called, &live); });
            if (status == 0) {
                live.expected_calls = 1;
                counts_.callbacks_set++;
            } else {
                live.releases_in_callback = false;
                if (!is_refusal(status))
                    counts_.complain("a callback could not be set: " + std::to_string(status));
            }
        }
    }

    bool add(hbDNNTaskHandle_t& handle, Item& item, hbDNNInferCtrlParam& control) {
        item.first_byte = static_cast<std::uint8_t>(20 + draw(60));
        hbDNNTensor input{}, output{};
        std::int32_t status = in_library(
            [&] { return hbDNNGetInputTensorProperties(&input.properties, item.model->model, 0); });
        if (status == 0)
            status = in_library([&] {
                return hbDNNGetOutputTensorProperties(&output.properties, item.model->model, 0);
            });
        std::memset(item.out.virAddr, 0x55, memory_bytes);
        output.sysMem[0] = item.out;
        input.sysMem[0] = item.in;
        hbDNNTensor* outputs = &output;
        auto* bytes = static_cast<std::uint8_t*>(item.in.virAddr);
        if (status == 0 && item.model->kind == LoadModel::Kind::region) {
            item.regions = 1 + static_cast<std::int32_t>(draw(most_regions));
            std::memset(bytes, 128, memory_bytes);
            std::memset(bytes, item.first_byte, picture_width * picture_height);
            input.properties.validShape = {{1, 3, picture_height, picture_width, 0, 0, 0, 0}, 4};
            input.properties.alignedShape = input.properties.validShape;
            std::vector<hbDNNRoi> regions;
            for (std::int32_t i = 0; i < item.regions; i++) {
                const auto left = static_cast<std::int32_t>(2 * draw(20));
                regions.push_back({left, 2, left + region_width - 1, 2 + region_rows - 1});
            }
            const std::vector<hbDNNTensor> inputs(regions.size(), input);
            status = in_library([&] {
                return hbDNNRoiInfer(&handle, &outputs, inputs.data(), regions.data(), item.regions,
                                     item.model->model, &control);
            });
        } else if (status == 0) {
            for (std::uint32_t i = 0; i < 256; i++)
                bytes[i] = static_cast<std::uint8_t>(item.first_byte + i % 32);
            status = in_library(
                [&] { return hbDNNInfer(&handle, &outputs, &input, item.model->model, &control); });
        }
        if (status != 0 && !is_refusal(status))
            counts_.complain(item.model->name +
                             " could not be submitted: " + std::to_string(status));
        return status == 0;
    }

    /// Waits for the task in one of several ways, or cancels it.
    void finish(Live& live) {
        if (!live.handle)
            return;
        if (live.releases_in_callback) {
            while (live.calls == 0)
                live.calls.wait(0);
            counts_.cancelled++; // its result is not checked
            return forget(live);
        }
        switch (draw(4)) {
        case 0: // releases it, which cancels it unless it has ended
            release(live);
            counts_.cancelled++;
            // What still runs of it writes to memory that the library keeps until its end.
            free(live);
            allocate(live);
            return forget(live);
        case 1:
            while (in_library([&] { return hbDNNWaitTaskDone(live.handle, 1); }) == HB_DNN_TIMEOUT)
                counts_.timeouts++;
            break;
        default:
            break;
        }
        const std::int32_t status = in_library([&] { return hbDNNWaitTaskDone(live.handle, 0); });
        check(live, status);
        release(live);
        forget(live);
    }

    void check(const Live& live, std::int32_t status) {
        if (live.fails ? status != HB_DNN_RUN_TASK_FAILED : status != 0) {
            if (is_refusal(status))
                counts_.refused++;
            else
                counts_.complain("a task ended with " + std::to_string(status));
            return;
        }
        (live.fails ? counts_.failed : counts_.done)++;
        for (std::size_t i = 0; !live.fails && i < live.count; i++)
            check_result(live.items[i]);
    }

    void check_result(const Item& item) {
        const auto* out = static_cast<const std::uint8_t*>(item.out.virAddr);
        if (item.model->kind == LoadModel::Kind::region) {
            // The first channel of a gray pixel: BT.601, limited range, less 128.
            const int gray = std::clamp((9539 * (item.first_byte - 16) + 4096) >> 13, 0, 255) - 128;
            for (std::int32_t i = 0; i < item.regions * region_rows * region_width; i++)
                if (static_cast<std::int8_t>(out[i * 8]) != gray)
                    return counts_.complain("a pixel of a region");
            return;
        }
        for (std::int32_t row = 0; row < load_rows; row++)
            for (std::int32_t x = 0; x < load_width; x++)
                for (std::int32_t c = 0; c < load_channels; c++) {
                    const std::int32_t at = (row * load_width + x) * 8 + c;
                    if (out[at] != item.first_byte + at % 32 + item.model->added)
                        return counts_.complain("a byte of " + item.model->name);
                }
    }

    /// Releases a task that is open for more models: its callback is called although the task was
    /// never submitted.
    void give_up() {
        Live live;
        live.counts = &counts_;
        live.items[0].model = &models_[0];
        allocate(live);
        hbDNNInferCtrlParam control;
        HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
        control.more = 1;
        if (add(live.handle, live.items[0], control)) {
            const std::int32_t status =
                in_library([&] { return hbDNNSetTaskDoneCb(live.handle, called, &live); });
            if (status == 0) {
                live.expected_calls = 1;
                counts_.callbacks_set++;
            }
            release(live);
            forget(live);
        }
        free(live);
    }

    /// Runs a model of a pack of its own, which cannot be released meanwhile.
    void use_own_pack() {
        LoadModel own{};
        try {
            own = load_chain("bcb");
        } catch (const std::exception& error) {
            return counts_.complain(error.what());
        }
        Live live;
        live.counts = &counts_;
        live.count = 1;
        live.items[0].model = &own;
        if (hbSysAllocMem(&live.items[0].in, memory_bytes) != 0 ||
            hbSysAllocMem(&live.items[0].out, memory_bytes) != 0)
            return counts_.complain("no memory");
        hbDNNInferCtrlParam control;
        HB_DNN_INITIALIZE_INFER_CTRL_PARAM(&control);
        Item& item = live.items[0];
        // The calls may be refused memory.
        if (add(live.handle, item, control)) {
            hbSysFreeMem(&item.in); // the task keeps the memory until its end
            const std::int32_t status = in_library([&] { return hbDNNRelease(own.pack); });
            if (status != HB_DNN_MODEL_IS_RUNNING && !is_refusal(status))
                counts_.complain("a pack went with a task of its own");
            check(live, in_library([&] { return hbDNNWaitTaskDone(live.handle, 0); }));
            release(live);
        } else {
            hbSysFreeMem(&item.in);
        }
        hbSysFreeMem(&item.out);
        if (in_library([&] { return hbDNNRelease(own.pack); }) != 0)
            counts_.complain("a pack did not go");
    }

    void release(Live& live) {
        const std::int32_t status = in_library([&] { return hbDNNReleaseTask(live.handle); });
        if (status != 0 && !is_refusal(status))
            counts_.complain("a task could not be released: " + std::to_string(status));
    }

    /// Waits for the expected callback, and forgets the task.
    void forget(Live& live) {
        if (live.expected_calls != 0)
            while (live.calls == 0)
                live.calls.wait(0);
        if (live.calls != live.expected_calls)
            counts_.complain("a callback was called more than once");
        live.handle = nullptr;
    }

    const std::vector<LoadModel>& models_;
    Counts& counts_;
    std::mt19937_64 random_;
    std::array<Live, live_per_thread> lives_;
};

} // namespace

bool run_load(const LoadOptions& options) {
    Counts counts;
    std::vector<LoadModel> models = load_models();
    refuse_memory(options.refused_per_mille);
    {
        std::vector<std::thread> threads;
        for (unsigned number = 0; number < options.threads; number++) {
            const MemoryForTests own;
            threads.emplace_back([&, number] {
                const MemoryForTests mine;
                Thread thread(models, counts, options.seed * 100 + number);
                thread.run(options.tasks);
            });
        }
        for (std::thread& thread : threads)
            thread.join();
    }
    refuse_memory(0);
    // Tasks that were released while they ran end by themselves, and keep their models until then.
    for (const LoadModel& model : models)
        while (hbDNNRelease(model.pack) == HB_DNN_MODEL_IS_RUNNING)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (counts.callbacks != counts.callbacks_set)
        counts.complain("callbacks are missing");
    std::printf("%u right, %u failed as they should, %u released early, %u not submitted or out of "
                "memory, %u timeouts, %u callbacks, %llu allocations refused, %u wrong\n",
                counts.done.load(), counts.failed.load(), counts.cancelled.load(),
                counts.refused.load(), counts.timeouts.load(), counts.callbacks.load(),
                static_cast<unsigned long long>(refused_allocations()), counts.wrong.load());
    return counts.wrong == 0;
}

} // namespace overtake::test
