// SPDX-License-Identifier: MIT
/* Sizes and offsets of the user interface, as compiled for this word size. */
#include <stddef.h>

#include "check.h"
#include "overtake_accel.h"

#define check_layout(type, field, expected)	check_equal(offsetof(struct type, field), expected)

static void submit_layout(void)
{
	check_equal(sizeof(struct drm_overtake_submit), 80);
	check_layout(drm_overtake_submit, fcs, 0);
	check_layout(drm_overtake_submit, bindings, 8);
	check_layout(drm_overtake_submit, result, 16);
	check_layout(drm_overtake_submit, tag, 24);
	check_layout(drm_overtake_submit, custom_id, 32);
	check_layout(drm_overtake_submit, deadline_ns, 40);
	check_layout(drm_overtake_submit, extensions, 48);
	check_layout(drm_overtake_submit, context_id, 56);
	check_layout(drm_overtake_submit, fc_count, 60);
	check_layout(drm_overtake_submit, binding_count, 64);
	check_layout(drm_overtake_submit, core, 68);
	check_layout(drm_overtake_submit, scratch_bytes, 72);
	check_layout(drm_overtake_submit, priority, 76);
	check_layout(drm_overtake_submit, flags, 78);
	check_equal(sizeof(struct overtake_fc), 8);
	check_equal(sizeof(struct overtake_binding), 24);
}

static void result_layout(void)
{
	check_equal(sizeof(struct overtake_result), 64);
	check_layout(overtake_result, executed_ns, 32);
	check_layout(overtake_result, preemptions, 40);
	check_layout(overtake_result, status, 52);
	check_layout(overtake_result, fault_insn, 60);
	check_equal(sizeof(struct drm_overtake_wait), 88);
	check_layout(drm_overtake_wait, deadline_ns, 8);
	check_layout(drm_overtake_wait, result, 24);
}

static void query_layout(void)
{
	check_equal(sizeof(struct drm_overtake_query), 24);
	check_equal(sizeof(struct drm_overtake_device_info), 64);
	check_layout(drm_overtake_device_info, watchdog_cycles, 40);
	check_equal(sizeof(struct drm_overtake_core_info), 56);
	check_layout(drm_overtake_core_info, busy_ns, 8);
}

static void other_layouts(void)
{
	check_equal(sizeof(struct drm_overtake_bo_create), 16);
	check_equal(sizeof(struct drm_overtake_bo_mmap_offset), 16);
	check_equal(sizeof(struct drm_overtake_bo_map), 16);
	check_equal(sizeof(struct drm_overtake_bo_unmap), 8);
	check_equal(sizeof(struct drm_overtake_bo_wait), 16);
	check_equal(sizeof(struct drm_overtake_context_create), 16);
	check_equal(sizeof(struct drm_overtake_context_destroy), 8);
	check_equal(sizeof(struct drm_overtake_cancel), 16);
}

static void instruction_layout(void)
{
	check_equal(sizeof(struct overtake_operand), 40);
	check_equal(sizeof(struct overtake_insn), 256);
	check_layout(overtake_insn, out, 8);
	check_layout(overtake_insn, in, 48);
	check_layout(overtake_insn, weights_offset, 128);
	check_layout(overtake_insn, kernel_height, 152);
	check_layout(overtake_insn, delay_cycles, 184);
	check_layout(overtake_insn, jump_target, 192);
	check_layout(overtake_insn, reserved, 196);
}

/* The numbers that a compiled client carries. */
static void ioctl_numbers(void)
{
	check_equal(DRM_IOCTL_OVERTAKE_QUERY, 0xc0186440);
	check_equal(DRM_IOCTL_OVERTAKE_BO_CREATE, 0xc0106441);
	check_equal(DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET, 0xc0106442);
	check_equal(DRM_IOCTL_OVERTAKE_BO_MAP, 0xc0106443);
	check_equal(DRM_IOCTL_OVERTAKE_BO_UNMAP, 0x40086444);
	check_equal(DRM_IOCTL_OVERTAKE_BO_WAIT, 0x40106445);
	check_equal(DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, 0xc0106446);
	check_equal(DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, 0x40086447);
	check_equal(DRM_IOCTL_OVERTAKE_SUBMIT, 0x40506448);
	check_equal(DRM_IOCTL_OVERTAKE_CANCEL, 0x40106449);
	check_equal(DRM_IOCTL_OVERTAKE_WAIT, 0xc058644a);
}

const struct test_case abi_cases[] = {
	{ "abi-submit-layout", NULL, submit_layout },
	{ "abi-result-layout", NULL, result_layout },
	{ "abi-query-layout", NULL, query_layout },
	{ "abi-other-layouts", NULL, other_layouts },
	{ "abi-instruction-layout", NULL, instruction_layout },
	{ "abi-ioctl-numbers", NULL, ioctl_numbers },
	{ 0 },
};
