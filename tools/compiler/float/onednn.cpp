// SPDX-License-Identifier: MIT
#include "compiler/float/onednn.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "overtake/device.hpp"

namespace overtake::compiler {
namespace {

bool is_limited() {
    if (dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2) == dnnl::status::success)
        return true;
    // The limit was set before, or oneDNN has been used already.
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
        return true;
    default:
        return false;
    }
}

} // namespace

void limit_onednn() {
    static const bool limited = is_limited();
    if (!limited)
        throw Error(EINVAL, "oneDNN has been used in this process without a limit, and its AVX-512 "
                            "convolutions are not to be relied on: set ONEDNN_MAX_CPU_ISA=AVX2 in "
                            "the environment");
}

void keep_no_primitives() {
    dnnl::set_primitive_cache_capacity(0);
}

std::string onednn_version() {
    const dnnl_version_t* const version = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

} // namespace overtake::compiler
