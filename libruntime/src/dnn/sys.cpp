// SPDX-License-Identifier: MIT
//
// The functions of dnn/hb_sys.h: memory that the device and the program share.
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "dnn/api.hpp"
#include "dnn/hb_sys.h"

using namespace overtake;
using namespace overtake::dnn;

namespace {

std::uint64_t size_of(const hbSysMem& mem) {
    return mem.memSize;
}

MemoryRange range_of(Process& process, const hbSysMem* mem, std::uint64_t bytes) {
    if (!mem || !mem->virAddr)
        throw Failure(HB_SYS_INVALID_ARGUMENT, "mem is NULL");
    MemoryRange range = process.memory.find(mem->virAddr, bytes);
    if (!range.buffer)
        throw Failure(HB_SYS_INVALID_ARGUMENT,
                      "mem is not memory of hbSysAllocMem(), has been freed, or is too short");
    return range;
}

void allocate(Process& process, hbSysMem* mem, std::uint32_t size) {
    if (!mem || size == 0)
        throw Failure(HB_SYS_INVALID_ARGUMENT, mem ? "size is 0" : "mem is NULL");
    try {
        const MemoryRange range = process.memory.allocate(size);
        *mem = {range.address, range.data, size};
    } catch (const Error& error) {
        if (error.code() == ENODEV)
            throw device_is_gone(error);
        throw Failure(HB_SYS_OUT_OF_MEMORY, error.what());
    } catch (const std::bad_alloc&) {
        throw Failure(HB_SYS_OUT_OF_MEMORY, "not enough memory");
    }
}

} // namespace

OVERTAKE_DNN_API int32_t hbSysAllocMem(hbSysMem* mem, uint32_t size) {
    return call("hbSysAllocMem", [&](Process& process) { allocate(process, mem, size); });
}

OVERTAKE_DNN_API int32_t hbSysAllocCachedMem(hbSysMem* mem, uint32_t size) {
    return call("hbSysAllocCachedMem", [&](Process& process) { allocate(process, mem, size); });
}

OVERTAKE_DNN_API int32_t hbSysFlushMem(hbSysMem* mem, int32_t flag) {
    return call("hbSysFlushMem", [&](Process& process) {
        range_of(process, mem, 0);
        if (flag != HB_SYS_MEM_CACHE_INVALIDATE && flag != HB_SYS_MEM_CACHE_CLEAN)
            throw Failure(HB_SYS_INVALID_ARGUMENT, fmt::format("flag {}: it is 1 or 2", flag));
    });
}

OVERTAKE_DNN_API int32_t hbSysWriteMem(hbSysMem* dest, char* src, uint32_t size) {
    return call("hbSysWriteMem", [&](Process& process) {
        const MemoryRange range = range_of(process, dest, size);
        if (!src)
            throw Failure(HB_SYS_INVALID_ARGUMENT, "src is NULL");
        std::memcpy(range.data, src, size);
    });
}

OVERTAKE_DNN_API int32_t hbSysReadMem(char* dest, hbSysMem* src, uint32_t size) {
    return call("hbSysReadMem", [&](Process& process) {
        const MemoryRange range = range_of(process, src, size);
        if (!dest)
            throw Failure(HB_SYS_INVALID_ARGUMENT, "dest is NULL");
        std::memcpy(dest, range.data, size);
    });
}

OVERTAKE_DNN_API int32_t hbSysFreeMem(hbSysMem* mem) {
    return call("hbSysFreeMem", [&](Process& process) {
        if (!mem || !mem->virAddr)
            throw Failure(HB_SYS_INVALID_ARGUMENT, "mem is NULL");
        if (!process.memory.free(mem->virAddr) && !Process::free_of_lost(mem->virAddr))
            throw Failure(HB_SYS_INVALID_ARGUMENT,
                          "mem is not the first byte of an allocation, or has been freed");
    });
}

OVERTAKE_DNN_API int32_t hbSysRegisterMem(hbSysMem* mem) {
    return call("hbSysRegisterMem", [&](Process& process) {
        if (!mem)
            throw Failure(HB_SYS_INVALID_ARGUMENT, "mem is NULL");
        const MemoryRange range = process.memory.find_address(mem->phyAddr, size_of(*mem));
        if (!range.buffer)
            throw Failure(HB_SYS_REGISTER_MEM_FAILED,
                          "only memory of hbSysAllocMem() can be registered");
        process.memory.note_registered(mem->phyAddr);
        mem->virAddr = range.data;
    });
}

OVERTAKE_DNN_API int32_t hbSysUnregisterMem(hbSysMem* mem) {
    return call("hbSysUnregisterMem", [&](Process& process) {
        if (!mem)
            throw Failure(HB_SYS_INVALID_ARGUMENT, "mem is NULL");
        if (!process.memory.forget_registered(mem->phyAddr))
            throw Failure(HB_SYS_REGISTER_MEM_FAILED, "it has not been registered");
    });
}
