// SPDX-License-Identifier: MIT
//
// The kernel device: a driver's node, by io_uring or by ioctl.
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "kernel/kernel_context.hpp"
#include "kernel/kernel_file.hpp"
#include "process_bound.hpp"

namespace overtake {

namespace {

class KernelDevice final : public Device {
public:
    KernelDevice(const std::string& path, bool use_uring)
        : file_(std::make_shared<KernelFile>(path)), use_uring_(use_uring),
          clock_(open_kernel_clock(*file_)) {}

    std::string_view backend() const noexcept override { return use_uring_ ? "io_uring" : "ioctl"; }
    drm_overtake_device_info info() const override { return file_->info(); }
    std::vector<drm_overtake_core_info> cores() const override { return file_->cores(); }
    std::vector<drm_overtake_core_profile> core_profiles() const override {
        auto profiles = file_->core_profiles();
        return profiles.empty() ? Device::core_profiles() : profiles;
    }
    std::unique_ptr<Buffer> create_buffer(std::size_t bytes) override {
        return create_kernel_buffer(file_, bytes);
    }
    std::unique_ptr<Queue> create_queue(const QueueOptions& options) override {
        return use_uring_ ? create_uring_queue(file_, options) : create_ioctl_queue(file_, options);
    }
    std::unique_ptr<ServiceQueue>
    create_service_queue(const ServiceQueueOptions& options) override {
        return create_kernel_tasks(file_, options);
    }
    ManualClock* manual_clock() noexcept override { return clock_.get(); }
    bool takes_groups() const noexcept override { return file_->takes_groups(); }
    bool records() const noexcept override { return file_->records(); }

    const KernelFile& file() const noexcept { return *file_; }
    const std::shared_ptr<KernelFile>& shared_file() const noexcept { return file_; }
    void fall_back_to_ioctl() noexcept { use_uring_ = false; }

private:
    std::shared_ptr<KernelFile> file_;
    bool use_uring_;
    std::unique_ptr<ManualClock> clock_;
};

std::shared_ptr<Device> open_node(const std::string& path, KernelBackend backend) {
    auto device = std::make_shared<KernelDevice>(path, backend != KernelBackend::ioctl);
    if (backend == KernelBackend::ioctl)
        return device;
    const int refusal = uring_refusal(device->file());
    if (refusal == 0)
        return device;
    if (backend == KernelBackend::io_uring)
        throw Error(refusal, fmt::format("{}: io_uring: {}; containers and the sysctl "
                                         "kernel.io_uring_disabled forbid it: use ioctl",
                                         path, std::strerror(refusal)));
    device->fall_back_to_ioctl();
    return device;
}

} // namespace

std::shared_ptr<KernelFile> kernel_file_of(Device& device) {
    const auto* const kernel = dynamic_cast<const KernelDevice*>(&unbound(device));
    return kernel ? kernel->shared_file() : nullptr;
}

std::shared_ptr<Device> open_kernel(const std::string& path, KernelBackend backend) {
    return bind_to_process(open_node(path, backend));
}

} // namespace overtake
