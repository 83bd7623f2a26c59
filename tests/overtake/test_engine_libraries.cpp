// SPDX-License-Identifier: MIT
//
// The libraries of other processes to which a watcher that runs as root attaches.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/watch/ended_processes.hpp"
#include "observe/watch/engine_libraries.hpp"
#include "overtake/error.hpp"

namespace overtake::test {
namespace {

namespace fs = std::filesystem;
using watch::EngineLibraries;
using watch::LeftOut;

constexpr uid_t nobody = 65534;

/// A process that keeps files mapped until this object ends.
class Mapper {
public:
    /// `prepare` runs in the process and returns the files to map; an error ends the process.
    template <typename Prepare>
    explicit Mapper(const Prepare& prepare) {
        std::array<int, 2> ready{};
        if (pipe(ready.data()) != 0)
            return;
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            char mapped = 'n';
            for (const int file : prepare())
                if (file >= 0 && mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0) != MAP_FAILED)
                    mapped = 'y';
            if (write(ready[1], &mapped, 1) == 1)
                pause();
            _exit(0);
        }
        char mapped = 'n';
        maps_ = read(ready[0], &mapped, 1) == 1 && mapped == 'y';
        close(ready[0]);
        close(ready[1]);
    }
    ~Mapper() {
        if (pid_ <= 0)
            return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Mapper(const Mapper&) = delete;
    Mapper& operator=(const Mapper&) = delete;

    bool maps() const { return maps_; }

private:
    pid_t pid_ = -1;
    bool maps_ = false;
};

void write_text(const char* path, const std::string& text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text.data(), text.size()) < 0)
        _exit(1);
    close(file);
}

/// Makes this process root of a namespace of its own, in which it can give files of root names of
/// its choice, as any user can.
bool enter_own_namespaces() {
    if (setgid(nobody) != 0 || setuid(nobody) != 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    prctl(PR_SET_DUMPABLE, 1);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", "0 65534 1");
    write_text("/proc/self/gid_map", "0 65534 1");
    return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", "/mnt", "tmpfs", 0, nullptr) == 0;
}

/// Bind-mounts files of root as libovertake.so.N, and opens them.
std::vector<int> disguise(std::size_t count) {
    std::vector<int> files;
    if (!enter_own_namespaces())
        return files;
    for (const auto& entry : fs::recursive_directory_iterator("/usr/include")) {
        if (files.size() == count)
            break;
        if (!entry.is_regular_file() || entry.is_symlink() || entry.file_size() == 0)
            continue;
        const std::string name = "/mnt/libovertake.so." + std::to_string(files.size());
        close(open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        if (mount(entry.path().c_str(), name.c_str(), nullptr, MS_BIND, nullptr) == 0)
            files.push_back(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    }
    return files;
}

std::set<std::pair<dev_t, ino_t>> inodes(const EngineLibraries& libraries) {
    std::set<std::pair<dev_t, ino_t>> inodes;
    for (const Descriptor& file : libraries.files) {
        struct stat is {};
        EXPECT_EQ(fstat(file.get(), &is), 0);
        inodes.emplace(is.st_dev, is.st_ino);
    }
    return inodes;
}

class Libraries : public ::testing::Test {
protected:
    void SetUp() override {
        if (getuid() != 0)
            GTEST_SKIP() << "watches others' processes, which needs root";
        path_ = fs::temp_directory_path() / ("libraries" + std::to_string(getpid()));
        fs::create_directory(path_);
        fs::permissions(path_, fs::perms(0755));
    }
    void TearDown() override { fs::remove_all(path_); }

    std::string make(const std::string& name, uid_t owner, mode_t mode) {
        const std::string path = path_ / name;
        std::ofstream(path) << "none";
        EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
        EXPECT_EQ(chmod(path.c_str(), mode), 0);
        return path;
    }
    static bool has(const EngineLibraries& libraries, const std::string& path) {
        struct stat is {};
        EXPECT_EQ(stat(path.c_str(), &is), 0);
        return inodes(libraries).contains({is.st_dev, is.st_ino});
    }

    fs::path path_;
};

std::vector<int> opened(const std::vector<std::string>& paths) {
    std::vector<int> files;
    for (const std::string& path : paths)
        files.push_back(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return files;
}

TEST_F(Libraries, ThoseInAnotherMountNamespaceAreLeftOut) {
    constexpr std::size_t count = 60;
    const auto foreign = [](const EngineLibraries& libraries) {
        return libraries.left_out.count(LeftOut::foreign_mount);
    };
    // Processes of others may begin and end between two looks, so the test tries again.
    constexpr int attempts = 20;
    std::optional<EngineLibraries> found;
    for (int attempt = 0; attempt < attempts && !found; ++attempt) {
        const EngineLibraries before = watch::find_engine_libraries();
        {
            const Mapper attacker([] { return disguise(count); });
            if (!attacker.maps())
                GTEST_SKIP() << "users may have no namespaces here";
            found.emplace(watch::find_engine_libraries());
        }
        const EngineLibraries after = watch::find_engine_libraries();
        if (foreign(before) != foreign(after) || inodes(before) != inodes(after)) {
            found.reset();
            continue;
        }
        EXPECT_EQ(inodes(*found), inodes(before));
        EXPECT_EQ(foreign(*found) - foreign(before), count);
    }
    ASSERT_TRUE(found) << "the host's processes changed in each of " << attempts << " attempts";
    const std::string text = found->left_out.text();
    EXPECT_NE(text.find("in other mount namespaces"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_LT(text.size(), 400u);
}

/// A descriptor of such a file passes from one namespace to the other.
TEST_F(Libraries, NorIsOneThatCameFromThereAsADescriptor) {
    const EngineLibraries before = watch::find_engine_libraries();
    std::array<int, 2> pair{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair.data()), 0);
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const Mapper sender([&] {
        std::vector<int> files = disguise(1);
        if (files.empty())
            return files;
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), files.data(), sizeof(int));
        sendmsg(pair[1], &message, 0);
        return files;
    });
    if (!sender.maps())
        GTEST_SKIP() << "users may have no namespaces here";
    const Mapper receiver([&] {
        int file = -1;
        if (recvmsg(pair[0], &message, 0) == 1 && CMSG_FIRSTHDR(&message) != nullptr)
            std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
        return std::vector<int>{file};
    });
    EXPECT_TRUE(receiver.maps());
    EXPECT_EQ(inodes(watch::find_engine_libraries()), inodes(before));
    close(pair[0]);
    close(pair[1]);
}

TEST_F(Libraries, RootsAndTheCallersAreTakenAndNamedOnes) {
    if (!watch::is_in_first_pid_namespace())
        GTEST_SKIP() << "processes of a container are not looked at";
    const std::string of_root = make("libovertake.so.0", 0, 0644);
    const std::string of_caller = make("libovertake.so.1", 1234, 0664);
    const std::string of_other = make("libovertake.so.2", nobody, 0644);
    const std::string of_all = make("libovertake.so.3", 0, 0666);
    const std::string of_group = make("libovertake.so.4", 0, 0664);
    ASSERT_EQ(chown(of_group.c_str(), 0, 1234), 0);
    const std::vector<std::string> all{of_root, of_caller, of_other, of_all, of_group};
    const Mapper client([&] { return opened(all); });
    ASSERT_TRUE(client.maps());
    unsetenv("SUDO_UID");
    EngineLibraries found = watch::find_engine_libraries();
    for (const std::string& path : all)
        EXPECT_EQ(has(found, path), path == of_root) << path;
    const auto others = found.left_out.count(LeftOut::foreign_owner);
    EXPECT_GE(others, 4u);
    setenv("SUDO_UID", "1234", 1);
    found = watch::find_engine_libraries({of_other});
    unsetenv("SUDO_UID");
    EXPECT_TRUE(has(found, of_caller));
    EXPECT_TRUE(has(found, of_other));
    EXPECT_FALSE(has(found, of_all));
    EXPECT_EQ(found.left_out.count(LeftOut::foreign_owner), others - 2);
    EXPECT_THROW(watch::find_engine_libraries({path_ / "none"}), Error);
    EXPECT_THROW(watch::find_engine_libraries({path_}), Error);
}

TEST_F(Libraries, TheirNumberIsBounded) {
    if (!watch::is_in_first_pid_namespace())
        GTEST_SKIP() << "processes of a container are not looked at";
    std::vector<std::string> all;
    for (std::size_t i = 0; i < EngineLibraries::most_of_process + 10; i++)
        all.push_back(make("libovertake.so." + std::to_string(i), 0, 0644));
    const Mapper client([&] { return opened(all); });
    const EngineLibraries found = watch::find_engine_libraries();
    EXPECT_EQ(found.files.size(), EngineLibraries::most_libraries);
    EXPECT_GE(found.left_out.count(LeftOut::too_many), 32u);
    EXPECT_TRUE(has(watch::find_engine_libraries({all.back()}), all.back()));
}

} // namespace
} // namespace overtake::test
