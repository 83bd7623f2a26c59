/* SPDX-License-Identifier: MIT */
/*
 * Memory that the host and the device share.
 *
 * All functions may be called from any thread.  They return 0, one of the HB_SYS_* statuses, or one
 * of these: HB_DNN_API_USE_ERROR if the device or the engine cannot be opened,
 * HB_DNN_RUN_TASK_FAILED if the device is gone, HB_DNN_OUT_OF_MEMORY, and
 * HB_DNN_MULTI_PROGRESS_USE_ERROR in a child of a process that used the device before fork().
 */
#ifndef OVERTAKE_DNN_HB_SYS_H
#define OVERTAKE_DNN_HB_SYS_H

#include <stdbool.h>
#include <stdint.h>

#include "hb_dnn_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Cores are bits.  With HB_BPU_CORE_ANY the device chooses the core. */
typedef enum { HB_BPU_CORE_ANY = 0, HB_BPU_CORE_0 = 1 << 0, HB_BPU_CORE_1 = 1 << 1 } hbBPUCore;

/* This device has no DSP cores: the library accepts these values and ignores them. */
typedef enum { HB_DSP_CORE_ANY = 0, HB_DSP_CORE_0 = 1 << 0, HB_DSP_CORE_1 = 1 << 1 } hbDSPCore;

/*
 * A range of device memory.  A caller that slices an allocation adds to both addresses.  The
 * library finds the memory of a tensor by virAddr, which may be anywhere in an allocation.
 */
typedef struct {
    uint64_t phyAddr; /* on the device; unique in the process, never 0 */
    void* virAddr;    /* in this process */
    uint32_t memSize; /* bytes */
} hbSysMem;

typedef enum {
    HB_SYS_MEM_CACHE_INVALIDATE = 1, /* before the host reads what the device wrote */
    HB_SYS_MEM_CACHE_CLEAN = 2       /* after the host wrote what the device will read */
} hbSysMemFlushFlag;

/*
 * Allocates `size` bytes of zeroed memory.  It belongs to the caller until hbSysFreeMem().
 * HB_SYS_INVALID_ARGUMENT: mem is NULL or size is 0.  HB_SYS_OUT_OF_MEMORY.
 */
int32_t hbSysAllocMem(hbSysMem* mem, uint32_t size);

/* Does the same: all memory is cached and coherent here. */
int32_t hbSysAllocCachedMem(hbSysMem* mem, uint32_t size);

/*
 * Checks its arguments; there is nothing to do on a coherent host.
 * HB_SYS_INVALID_ARGUMENT: NULL, memory that is not ours, or no hbSysMemFlushFlag.
 */
int32_t hbSysFlushMem(hbSysMem* mem, int32_t flag);

/* Copies `size` bytes from src into dest.  HB_SYS_INVALID_ARGUMENT: NULL, not ours, or too short.
 */
int32_t hbSysWriteMem(hbSysMem* dest, char* src, uint32_t size);

/* Copies `size` bytes from src into dest.  HB_SYS_INVALID_ARGUMENT: NULL, not ours, or too short.
 */
int32_t hbSysReadMem(char* dest, hbSysMem* src, uint32_t size);

/*
 * Frees an allocation, by its first byte.  If a task in flight uses the memory, the library keeps
 * it until that task has ended.
 * HB_SYS_INVALID_ARGUMENT: NULL, not ours, not the first byte, or freed already.
 */
int32_t hbSysFreeMem(hbSysMem* mem);

/*
 * Registers a range that the caller knows by phyAddr and memSize: finds the allocation of
 * hbSysAllocMem() that holds the range, and fills in virAddr.
 * HB_SYS_REGISTER_MEM_FAILED: no allocation holds all of it.  HB_SYS_INVALID_ARGUMENT: mem is NULL.
 */
int32_t hbSysRegisterMem(hbSysMem* mem);

/*
 * Undoes one hbSysRegisterMem() of the same phyAddr.
 * HB_SYS_REGISTER_MEM_FAILED: there was none.  HB_SYS_INVALID_ARGUMENT: mem is NULL.
 */
int32_t hbSysUnregisterMem(hbSysMem* mem);

#ifdef __cplusplus
}
#endif

#endif
