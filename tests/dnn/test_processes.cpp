// SPDX-License-Identifier: MIT
//
// The C interface on other devices, and in other processes.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "board.hpp"
#include "dnn/log.hpp"
#include "dnn/profile.hpp"
#include "overtake/error.hpp"
#include "overtake/expected_times.hpp"
#include "overtake/server.hpp"

namespace overtake::test {
namespace {

TEST(BoardProcesses, ACoreThatTheDeviceHasNotIsRefused) {
    EmbeddedOptions options;
    options.cores = 1;
    BoardDevice device(options);
    BoardModel board;
    hbDNNInferCtrlParam control = board.control();
    control.bpuCoreId = HB_BPU_CORE_1;
    hbDNNTaskHandle_t task = nullptr;
    EXPECT_EQ(board.infer(&task, control), HB_DNN_INVALID_ARGUMENT);
}

TEST(BoardProcesses, AnInferenceThatNamesNoCoreUsesThePlanForSeveral) {
    FcCounter fcs;
    BoardDevice device(fcs.options());
    ModelSpec spec = copy_bytes();
    spec.on_two_cores = true;
    BoardModel board(spec);
    const auto infer = [&](std::int32_t core) {
        hbDNNInferCtrlParam control = board.control();
        control.bpuCoreId = core;
        hbDNNTaskHandle_t task = nullptr;
        ASSERT_EQ(board.infer(&task, control), 0);
        ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
        ASSERT_EQ(hbDNNReleaseTask(task), 0);
    };
    infer(HB_BPU_CORE_ANY);
    EXPECT_EQ(fcs.on_core(1), 1u);
    EXPECT_EQ(fcs.on_core(2), 1u);
    infer(HB_BPU_CORE_1);
    EXPECT_EQ(fcs.on_core(1), 1u);
    EXPECT_EQ(fcs.on_core(2), 3u);
}

TEST(BoardProcesses, AChildOfAProcessThatHasUsedTheDeviceIsRefused) {
    const auto in_child = [](auto use) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("OVERTAKE_DEVICE", "embedded", 1);
            setenv("HB_DNN_LOG_LEVEL", "0", 1);
            _exit(use());
        }
        int status = 1;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    };
    // The outer child has used no device yet; its own child is refused.
    EXPECT_EQ(in_child([&] {
                  hbSysMem mem;
                  if (hbSysAllocMem(&mem, 100) != 0)
                      return 1;
                  return in_child([&] {
                      hbSysMem other;
                      return hbSysAllocMem(&other, 100) == HB_DNN_MULTI_PROGRESS_USE_ERROR &&
                                     hbSysFreeMem(&mem) == HB_DNN_MULTI_PROGRESS_USE_ERROR &&
                                     hbDNNReleaseTask(nullptr) == HB_DNN_MULTI_PROGRESS_USE_ERROR
                                 ? 0
                                 : 2;
                  });
              }),
              0);
}

/// Loads a model in a process of its own whose OVERTAKE_TIMES is `times`.  Returns the low byte of
/// the negated status.
std::int32_t load_in_a_child(const std::string& times) {
    const pid_t child = fork();
    if (child == 0) {
        setenv("OVERTAKE_DEVICE", "embedded", 1);
        setenv("OVERTAKE_PROCESSORS", "npu,cpu", 1);
        setenv("OVERTAKE_TIMES", times.c_str(), 1);
        setenv("HB_DNN_LOG_LEVEL", "0", 1);
        const std::vector<std::byte> bytes = build(copy_and_softmax());
        const void* data = bytes.data();
        auto length = static_cast<std::int32_t>(bytes.size());
        hbPackedDNNHandle_t pack = nullptr;
        _exit(-hbDNNInitializeFromDDR(&pack, &data, &length, 1) & 0xff);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/// Returns what the library logs in a process of its own that loads a model with these variables.
std::string log_of_a_child(const std::vector<std::pair<const char*, std::string>>& variables) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        setenv("OVERTAKE_DEVICE", "embedded", 1);
        setenv("HB_DNN_LOG_LEVEL", "4", 1);
        for (const auto& [name, value] : variables)
            setenv(name, value.c_str(), 1);
        const std::vector<std::byte> bytes = build(copy_and_softmax());
        const void* data = bytes.data();
        auto length = static_cast<std::int32_t>(bytes.size());
        hbPackedDNNHandle_t pack = nullptr;
        _exit(hbDNNInitializeFromDDR(&pack, &data, &length, 1) == 0 ? 0 : 1);
    }
    close(ends[1]);
    std::string log;
    std::array<char, 4096> part{};
    for (ssize_t count; (count = read(ends[0], part.data(), part.size())) > 0;)
        log.append(part.data(), static_cast<std::size_t>(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_NE(status, 0);
    return log;
}

TEST(BoardProcesses, AMessageAboutAVariableNamesIt) {
    const auto expect = [](const std::vector<std::pair<const char*, std::string>>& variables,
                           const char* text) {
        const std::string log = log_of_a_child(variables);
        EXPECT_NE(log.find(text), std::string::npos) << log;
    };
    const std::pair processors("OVERTAKE_PROCESSORS", std::string("npu,cpu"));
    expect({{"OVERTAKE_DEVICE", "moon"}}, "OVERTAKE_DEVICE: device 'moon'");
    expect({{"OVERTAKE_DEVICE", "server"}, {"OVERTAKE_SERVER", "/absent"}},
           "OVERTAKE_DEVICE: OVERTAKE_SERVER: /absent");
    expect({{"OVERTAKE_PROCESSORS", "npu=x"}}, "OVERTAKE_PROCESSORS: processors: 'npu=x'");
    expect({{"OVERTAKE_PROCESSORS", "npu=9"}}, "OVERTAKE_PROCESSORS: engine: 'npu' names core 9");
    expect({processors, {"OVERTAKE_POLICY", "soon"}}, "OVERTAKE_POLICY: engine: several");
    expect({{"OVERTAKE_POLICY", "soon"}}, "OVERTAKE_POLICY: ");
    expect({processors, {"OVERTAKE_TIMES", "absent.json"}}, "OVERTAKE_TIMES: absent.json: ");
    expect({{"HB_DNN_PLUGIN_PATH", "/absent"}}, "HB_DNN_PLUGIN_PATH: /absent: ");
}

TEST(BoardProcesses, ExpectedTimesComeFromFilesOfTheEnvironment) {
    const std::string path =
        testing::TempDir() + "overtake-times-" + std::to_string(getpid()) + ".json";
    const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
    const pid_t child = fork(); // threads of an engine would be none of another child's
    if (child == 0) {
        const auto device = open_embedded({});
        EngineOptions options;
        options.processors = parse_processors("npu,cpu", device);
        Engine engine(device, options);
        const auto model = engine.load(Model::from_bytes(build(copy_and_softmax())));
        write(ExpectedTimes::measure(engine, model, 3).text());
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(load_in_a_child(path), 0);
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(load_in_a_child("absent.json"), -HB_DNN_API_USE_ERROR & 0xff);
    EXPECT_EQ(load_in_a_child(path + ",absent.json"), -HB_DNN_API_USE_ERROR & 0xff);
    const std::size_t digest = text.find("\"model_digest\": \"") + 17;
    write(text.replace(digest, 1, "x"));
    EXPECT_EQ(load_in_a_child(path), -HB_DNN_INVALID_MODEL & 0xff);
    const std::size_t model = text.find("\"model\": \"") + 10;
    write(text.replace(model, 1, "x"));
    EXPECT_EQ(load_in_a_child(path), 0) << "it is of another model";
    std::filesystem::remove(path);
}

TEST(BoardProcesses, AnFcThatTheDeviceEndedIsLoggedWithTheRemedy) {
    overtake_insn endless{};
    endless.opcode = OVERTAKE_OP_JUMP;
    endless.jump_target = 0;
    overtake_insn delay{};
    delay.opcode = OVERTAKE_OP_DELAY;
    delay.delay_cycles = 1'000'000;
    ModelSpec spec = copy_bytes();
    spec.program = {endless};
    spec.segments[0].fcs = {fbs::Fc(0, 1, 1)};
    const auto logged = [&](const EmbeddedOptions& options) {
        BoardDevice device(options);
        BoardModel board(spec);
        dnn::set_log_level(dnn::LogLevel::error);
        testing::internal::CaptureStderr();
        hbDNNTaskHandle_t task = nullptr;
        EXPECT_EQ(board.infer(&task), 0);
        EXPECT_NE(hbDNNWaitTaskDone(task, 0), 0);
        EXPECT_EQ(hbDNNReleaseTask(task), 0);
        dnn::set_log_level(dnn::LogLevel::none);
        return testing::internal::GetCapturedStderr();
    };
    const auto expect = [](const std::string& log, const char* text) {
        EXPECT_NE(log.find(text), std::string::npos) << log;
    };
    EmbeddedOptions by_clock, by_watchdog;
    by_clock.fc_clock_ns = 1'000'000;
    by_clock.watchdog_cycles = ~0ull;
    expect(logged(by_clock), "the task failed: one of its FCs took the host longer than the device "
                             "allows: compile the model with --max-time-per-fc 2000");
    spec.program[0] = delay;
    by_watchdog.watchdog_cycles = 1000;
    expect(logged(by_watchdog), "one of its FCs executed for longer than the device's watchdog "
                                "allows: compile the model with a --max-time-per-fc of less");
}

/// A device server in a process of its own, which begins when it is asked to.
class LaterServer {
public:
    explicit LaterServer(const std::string& path) {
        EXPECT_EQ(pipe(start_.data()), 0);
        child_ = fork();
        if (child_ != 0)
            return;
        char go = 0;
        if (read(start_[0], &go, 1) != 1)
            _exit(1);
        ServerOptions options;
        options.socket_path = path;
        options.device.cores = 1;
        Server server(options);
        server.run();
        _exit(0);
    }
    /// Starts the server, and returns when it answers.
    void start(const std::string& path) {
        EXPECT_EQ(write(start_[1], "g", 1), 1);
        for (;;)
            try {
                open_server(path);
                return;
            } catch (const Error&) {
                usleep(1000);
            }
    }
    void kill() {
        ::kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }

private:
    std::array<int, 2> start_{};
    pid_t child_ = 0;
};

bool computes(BoardModel& board) {
    hbDNNTaskHandle_t task = nullptr;
    const bool ends = board.infer(&task) == 0 && hbDNNWaitTaskDone(task, 0) == 0;
    return hbDNNReleaseTask(task) == 0 && ends;
}

/// Returns the fault of a program whose server ends and starts again; empty if there is none.
std::string outlive_a_server(const std::string& path) {
    LaterServer first(path), second(path); // before this process has threads
    first.start(path);
    setenv("OVERTAKE_DEVICE", ("server:" + path).c_str(), 1);
    setenv("HB_DNN_LOG_LEVEL", "0", 1);
    auto before = std::make_unique<BoardModel>(copy_bytes());
    if (!computes(*before))
        return "it does not compute before";
    hbSysMem kept;
    if (hbSysAllocMem(&kept, 100) != 0)
        return "no memory before";
    first.kill();
    hbDNNTaskHandle_t task = nullptr;
    std::int32_t status = before->infer(&task);
    if (status == 0)
        status = hbDNNWaitTaskDone(task, 0);
    if (status != HB_DNN_RUN_TASK_FAILED)
        return "an inference without a server: " + std::to_string(status);
    hbDNNReleaseTask(task);
    const std::vector<std::byte> bytes = build(copy_bytes());
    const void* data = bytes.data();
    auto length = static_cast<std::int32_t>(bytes.size());
    hbPackedDNNHandle_t pack = nullptr;
    second.start(path);
    // While a handle is alive, the process keeps its device.
    status = hbDNNInitializeFromDDR(&pack, &data, &length, 1);
    if (status != HB_DNN_RUN_TASK_FAILED)
        return "loading beside a model of before: " + std::to_string(status);
    before.reset();
    {
        BoardModel after(copy_bytes());
        if (!computes(after))
            return "it does not compute afterwards";
    }
    if (hbSysFreeMem(&kept) != 0)
        return "memory of before cannot be freed";
    second.kill();
    return "";
}

TEST(BoardProcesses, AfterItsServerCameAgainTheNextModelsOpenTheDeviceAnew) {
    std::string directory = testing::TempDir() + "server-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    std::array<int, 2> said{};
    ASSERT_EQ(pipe(said.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        std::string wrong;
        try {
            wrong = outlive_a_server(directory + "/device");
        } catch (const std::exception& error) {
            wrong = error.what();
        }
        _exit(write(said[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size()) ? 0
                                                                                               : 1);
    }
    close(said[1]);
    std::string wrong(1000, '\0');
    wrong.resize(static_cast<std::size_t>(std::max<ssize_t>(read(said[0], wrong.data(), 1000), 0)));
    close(said[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(wrong, "");
    std::filesystem::remove_all(directory);
}

TEST(BoardProcesses, APriorityOf255WithoutACoreLimitIsHintedAtOnce) {
    for (const unsigned limit : {0u, 1u}) {
        EngineOptions engine;
        engine.max_priority = priority_high;
        engine.core_limit = limit;
        BoardDevice device({}, engine);
        BoardModel board;
        hbDNNInferCtrlParam control = board.control();
        control.priority = HB_DNN_PRIORITY_HIGHEST;
        dnn::set_log_level(dnn::LogLevel::warning);
        testing::internal::CaptureStderr();
        for (int i = 0; i < 3; i++) {
            hbDNNTaskHandle_t task = nullptr;
            ASSERT_EQ(board.infer(&task, control), 0);
            ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
            ASSERT_EQ(hbDNNReleaseTask(task), 0);
        }
        const std::string log = testing::internal::GetCapturedStderr();
        dnn::set_log_level(dnn::LogLevel::none);
        const std::string hint = "preempts nothing while BPLAT_CORELIMIT is 0";
        const std::size_t first = log.find(hint);
        EXPECT_EQ(first == std::string::npos, limit == 1) << log;
        if (first != std::string::npos) {
            EXPECT_EQ(log.find(hint, first + 1), std::string::npos) << log;
        }
    }
}

TEST(BoardProcesses, ADeviceThatComputesNothingIsNamedInTheLog) {
    dnn::Environment environment;
    environment.device = "embedded";
    for (const unsigned mode :
         {OVERTAKE_MODE_TIMED, OVERTAKE_MODE_BOTH, OVERTAKE_MODE_FUNCTIONAL}) {
        environment.embedded.mode = mode;
        dnn::set_log_level(dnn::LogLevel::warning);
        testing::internal::CaptureStderr();
        dnn::Process process(environment);
        process.stop();
        const std::string log = testing::internal::GetCapturedStderr();
        dnn::set_log_level(dnn::LogLevel::none);
        EXPECT_EQ(log.find("mode timed") != std::string::npos, mode == OVERTAKE_MODE_TIMED) << log;
    }
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BoardProcesses, AProfileIsWrittenAtTheEnd) {
    std::string directory = testing::TempDir() + "profile-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    dnn::Environment environment;
    environment.device = "embedded";
    environment.embedded.cores = 1;
    environment.embedded.mode = OVERTAKE_MODE_FUNCTIONAL;
    environment.profile_path = directory;
    {
        dnn::Process process(environment);
        dnn::Process::use_in_this_thread(&process);
        BoardModel board, other(copy_bytes());
        for (BoardModel* model : {&board, &board, &other}) {
            hbDNNTaskHandle_t task = nullptr;
            ASSERT_EQ(model->infer(&task), 0);
            ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0);
            ASSERT_EQ(hbDNNWaitTaskDone(task, 0), 0); // the task is counted once
            ASSERT_EQ(hbDNNReleaseTask(task), 0);
        }
        process.stop();
        dnn::Process::use_in_this_thread(nullptr);
    }
    const nlohmann::json log = nlohmann::json::parse(text_of(directory + "/profiler.log"));
    EXPECT_EQ(log["running_condition"]["frame_count"], 3);
    EXPECT_EQ(log["running_condition"]["core_num"], 1);
    EXPECT_GT(log["perf_result"]["FPS"], 0);
    EXPECT_GT(log["perf_result"]["average_latency"], 0);
    const nlohmann::json& models = log["model_latency"];
    ASSERT_EQ(models.size(), 2u);
    for (const nlohmann::json& latency :
         {models["test"], models["bytes"], log["task_latency"]["TaskRunningTime"]}) {
        EXPECT_GT(latency["min_time"], 0);
        EXPECT_LE(latency["min_time"], latency["avg_time"]);
        EXPECT_LE(latency["avg_time"], latency["max_time"]);
    }
    EXPECT_GT(log["chip_latency"]["CPU_inference_time_cost"]["max_time"], 0); // softmax
    const std::string csv = text_of(directory + "/profiler.csv");
    EXPECT_NE(csv.find("\"model test\",2,"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\"task\",3,"), std::string::npos) << csv;
    std::filesystem::remove_all(directory);
}

TEST(BoardProcesses, AProfileThatCannotBeWrittenIsALineInTheLog) {
    dnn::Profile profile;
    profile.write("/no/such/directory", 1); // no task, no file
    profile.add({"model", 1'000'000, 2'000'000, 5'000'000, 1'000'000, 0});
    try {
        profile.write("/no/such/directory", 1);
        FAIL() << "it was written";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ENOENT);
        EXPECT_NE(std::string(error.what()).find("/no/such/directory/profiler.log"),
                  std::string::npos);
    }
}

} // namespace
} // namespace overtake::test
