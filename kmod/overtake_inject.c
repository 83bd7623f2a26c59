// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on demand, so that the reaction to a fault can be tested.  Root only.
 *
 * A fault is planned for the Nth FC that starts on the device from then on, in text: "KIND:N",
 * several joined by '+'; by the module parameter "inject", or any time through debugfs.
 *
 *	stuck		the core takes no step any more; a reset, or the backstop's, frees it
 *	endless		the program runs into the watchdog
 *	descriptor	the descriptor names instructions that the program lacks
 *	instruction	the first instruction that the core fetches is invalid
 *	lost-wakeup	the core is not notified of the FC
 *	lost-interrupt	the host is not notified that the FC has been executed
 *	spurious	every idle core is woken and reported as executed, without an FC
 *	reset		the core is reset in the middle of the FC
 *
 * If the kernel has its fault injection (CONFIG_FAULT_INJECTION), faults can also come by its
 * rules: "KIND=INTERVAL/PROBABILITY/SPACE/TIMES" in that text, or the files of fail_KIND/ in the
 * device's debugfs directory; Documentation/fault-injection of the kernel explains them.
 *
 * Faults are injected here and in the host, through the core's registers and descriptors.  The
 * firmware cannot tell an injected fault from a real one.
 */
#include <linux/cleanup.h>
#include <linux/dcache.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "overtake_clock.h"
#include "overtake_inject.h"
#include "overtake_lock.h"
#include "overtake_state.h"

static const char * const kind_names[] = {
	[OVERTAKE_INJECT_STUCK] = "stuck",
	[OVERTAKE_INJECT_ENDLESS] = "endless",
	[OVERTAKE_INJECT_DESCRIPTOR] = "descriptor",
	[OVERTAKE_INJECT_INSTRUCTION] = "instruction",
	[OVERTAKE_INJECT_LOST_WAKEUP] = "lost-wakeup",
	[OVERTAKE_INJECT_LOST_INTERRUPT] = "lost-interrupt",
	[OVERTAKE_INJECT_SPURIOUS] = "spurious",
	[OVERTAKE_INJECT_RESET] = "reset",
};

/* No opcode is all ones. */
static const struct overtake_insn no_insn = { .opcode = 0xffff };

#ifdef CONFIG_FAULT_INJECTION

/* The files of the rules are gone with the device; this drops the names that debugfs keeps. */
static void release_rules(struct drm_device *drm, void *data)
{
	struct overtake_inject *inject = data;
	u32 i;

	for (i = 0; i < OVERTAKE_INJECTIONS; i++)
		dput(inject->rules[i].dname);
}

static void init_rules(struct overtake_inject *inject)
{
	static const struct fault_attr none = FAULT_ATTR_INITIALIZER;
	u32 i;

	for (i = 0; i < OVERTAKE_INJECTIONS; i++) {
		inject->rules[i] = none;
		/* The kernel log is for faults that were not requested. */
		inject->rules[i].verbose = 0;
	}
}

/* Parses numbers joined by '/': commas separate the devices of a module parameter. */
static int parse_rule(struct fault_attr *rule, char *text)
{
	const char *at = text;
	u32 numbers = 1;

	while ((at = strchr(at, '/'))) {
		numbers++;
		at++;
	}
	strreplace(text, '/', ',');
	/* For any other text the kernel would write an error to its log. */
	return numbers == 4 && setup_fault_attr(rule, text) ? 0 : -EINVAL;
}

static void set_rule(struct fault_attr *rule, const struct fault_attr *values)
{
	rule->interval = values->interval;
	rule->probability = values->probability;
	atomic_set(&rule->space, atomic_read(&values->space));
	atomic_set(&rule->times, atomic_read(&values->times));
}

/* Asks the kernel only if there is a rule: fail-nth of a task counts each call. */
static bool rule_injects(struct fault_attr *rule)
{
	return READ_ONCE(rule->probability) && should_fail(rule, 1);
}

static void show_rule(struct seq_file *file, const char *name, const struct fault_attr *rule)
{
	if (rule->probability)
		seq_printf(file, "rule %s=%lu,%lu,%d,%d\n", name, rule->interval,
			   rule->probability, atomic_read(&rule->space),
			   atomic_read(&rule->times));
}

#else

static void release_rules(struct drm_device *drm, void *data)
{
}

static void init_rules(struct overtake_inject *inject)
{
}

static int parse_rule(struct fault_attr *rule, char *text)
{
	return -EOPNOTSUPP;
}

static void set_rule(struct fault_attr *rule, const struct fault_attr *values)
{
}

static bool rule_injects(struct fault_attr *rule)
{
	return false;
}

static void show_rule(struct seq_file *file, const char *name, const struct fault_attr *rule)
{
}

#endif

int overtake_inject_init(struct overtake_device *device)
{
	BUILD_BUG_ON(ARRAY_SIZE(kind_names) != OVERTAKE_INJECTIONS);
	device->inject = drmm_kzalloc(&device->drm, struct_size(device->inject, regions,
								device->settings.cores),
				      GFP_KERNEL);
	if (!device->inject)
		return -ENOMEM;
	init_rules(device->inject);
	return drmm_add_action_or_reset(&device->drm, release_rules, device->inject);
}

/* Adds the files of the rules below @root; none if the kernel has no fault injection. */
void overtake_inject_debugfs(struct overtake_device *device, struct dentry *root)
{
	char name[32];
	u32 i;

	for (i = 0; i < OVERTAKE_INJECTIONS; i++) {
		snprintf(name, sizeof(name), "fail_%s", kind_names[i]);
		fault_create_debugfs_attr(name, root, &device->inject->rules[i]);
	}
}

/* Plans a fault of @kind in the Nth FC from now; @text is N. */
static int parse_planned(struct overtake_inject *plan, enum overtake_injection kind,
			 const char *text)
{
	u64 fcs;
	int ret;

	if (plan->planned_count == OVERTAKE_INJECT_PLANNED)
		return -ENOSPC;
	ret = kstrtou64(text, 0, &fcs);
	if (ret)
		return ret;
	if (!fcs)
		return -EINVAL;
	plan->planned[plan->planned_count].kind = kind;
	plan->planned[plan->planned_count].fcs_left = fcs;
	plan->planned_count++;
	return 0;
}

static int parse_one(struct overtake_inject *plan, char *text)
{
	char *rest = strpbrk(text, ":=");
	char separator;
	int kind;

	if (!rest)
		return -EINVAL;
	separator = *rest;
	*rest++ = 0;
	kind = match_string(kind_names, ARRAY_SIZE(kind_names), text);
	if (kind < 0)
		return -EINVAL;
	return separator == ':' ? parse_planned(plan, kind, rest) :
				  parse_rule(&plan->rules[kind], rest);
}

/*
 * overtake_inject_plan - replace the planned faults and the rules by those of @text
 * @text: is changed by the call; an empty text has neither faults nor rules
 *
 * After an error nothing has changed.  -EOPNOTSUPP for a rule if the kernel has no fault injection.
 */
int overtake_inject_plan(struct overtake_device *device, char *text)
{
	struct overtake_inject *plan __free(kfree) = kzalloc(sizeof(*plan), GFP_KERNEL);
	char *one;
	u32 i;

	if (!plan)
		return -ENOMEM;
	init_rules(plan);
	text = strim(text);
	if (!*text)
		text = NULL;
	while ((one = strsep(&text, "+"))) {
		int ret = parse_one(plan, one);

		if (ret)
			return ret;
	}
	overtake_lock(device);
	memcpy(device->inject->planned, plan->planned, sizeof(plan->planned));
	device->inject->planned_count = plan->planned_count;
	for (i = 0; i < OVERTAKE_INJECTIONS; i++)
		set_rule(&device->inject->rules[i], &plan->rules[i]);
	overtake_unlock(device);
	return 0;
}

void overtake_inject_show(struct overtake_device *device, struct seq_file *file)
{
	const struct overtake_inject *inject = device->inject;
	u32 i;

	overtake_lock(device);
	for (i = 0; i < inject->planned_count; i++)
		seq_printf(file, "planned %s:%llu\n", kind_names[inject->planned[i].kind],
			   inject->planned[i].fcs_left);
	for (i = 0; i < OVERTAKE_INJECTIONS; i++)
		show_rule(file, kind_names[i], &inject->rules[i]);
	for (i = 0; i < OVERTAKE_INJECTIONS; i++)
		seq_printf(file, "injected %s %llu\n", kind_names[i], inject->injected[i]);
	overtake_note_read_locked(device, inject->planned_count + OVERTAKE_INJECTIONS);
	overtake_unlock(device);
}

static void spoil_descriptor(struct ovt_exec *exec)
{
	exec->descriptor.first_insn = U32_MAX;
	exec->pc = U32_MAX;
}

/* Places the program region so that instruction pc is no_insn, and there is no other. */
static void spoil_instruction(struct ovt_exec *exec, struct ovt_region *regions)
{
	size_t offset = (size_t)exec->pc * sizeof(no_insn);

	memcpy(regions, exec->descriptor.regions, OVERTAKE_MAX_REGIONS * sizeof(*regions));
	regions[OVERTAKE_REGION_PROGRAM].base = (u8 *)((uintptr_t)&no_insn - offset);
	regions[OVERTAKE_REGION_PROGRAM].length = offset + sizeof(no_insn);
	exec->descriptor.regions = regions;
}

/* Raises wake-ups and interrupts of idle cores. */
static void raise_spurious(struct overtake_device *device)
{
	u32 core;

	for (core = 1; core <= device->settings.cores; core++) {
		if (device->fw_cores[core - 1].running)
			continue;
		wake_up_process(device->cores[core - 1].thread);
		ovt_fw_executed(&device->fw, core, overtake_clock_now(device));
	}
}

static void inject(struct overtake_device *device, struct overtake_core *core,
		   enum overtake_injection kind)
{
	struct ovt_exec *exec = &device->hw[core->number - 1].exec;

	drm_dbg(&device->drm, "core %u: %s injected\n", core->number, kind_names[kind]);
	device->inject->injected[kind]++;
	core->injected |= BIT(kind);
	switch (kind) {
	case OVERTAKE_INJECT_ENDLESS:
		exec->cycle_limit = 0;
		break;
	case OVERTAKE_INJECT_DESCRIPTOR:
		spoil_descriptor(exec);
		break;
	case OVERTAKE_INJECT_INSTRUCTION:
		spoil_instruction(exec, device->inject->regions[core->number - 1]);
		break;
	case OVERTAKE_INJECT_SPURIOUS:
		raise_spurious(device);
		break;
	default:
		break; /* the host looks at core->injected where it matters */
	}
}

/* An FC starts on @core (from 1); its thread has not been notified of it yet. */
void overtake_inject_start_locked(struct overtake_device *device, u32 core)
{
	struct overtake_inject *plan = device->inject;
	u32 i, kept = 0;

	lockdep_assert_held(&device->lock);
	device->cores[core - 1].injected = 0;
	for (i = 0; i < plan->planned_count; i++) {
		if (--plan->planned[i].fcs_left)
			plan->planned[kept++] = plan->planned[i];
		else
			inject(device, &device->cores[core - 1], plan->planned[i].kind);
	}
	plan->planned_count = kept;
	for (i = 0; i < OVERTAKE_INJECTIONS; i++)
		if (rule_injects(&plan->rules[i]))
			inject(device, &device->cores[core - 1], i);
}

/* Called by the core's thread: takes no step until it finds a request to stop, which it polls. */
void overtake_inject_stuck(struct overtake_core *core)
{
	struct ovt_exec *exec = &core->device->hw[core->number - 1].exec;

	while (!ovt_load_acquire(&exec->abort))
		schedule_timeout_idle(1);
}
