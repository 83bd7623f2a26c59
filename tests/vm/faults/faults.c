// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes on demand: `insmod faults.ko fault=NAME` makes one, so that tests/vm/selftest can prove
 * that a VM run with this mistake fails. Only the debug kernel sees the last five.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/timer.h>

static char *fault = "";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "the mistake to make");

static void make_warning(void)
{
	WARN(1, "a warning on demand\n");
}

static void make_oops(void)
{
	int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	WRITE_ONCE(*nowhere, 1);
}

static void make_leak(void)
{
	/* The only pointer is overwritten: on the stack, in a register, everywhere. */
	void *block = kmalloc(4000, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(block);
}

static void make_use_after_free(void)
{
	int *block = kmalloc(sizeof(*block), GFP_KERNEL);

	if (!block)
		return;
	kfree(block);
	OPTIMIZER_HIDE_VAR(block);
	WRITE_ONCE(*block, 1);
}

/* protects nothing; taken in both orders */
static DEFINE_MUTEX(first);
/* protects nothing; taken in both orders */
static DEFINE_MUTEX(second);

static void make_lock_inversion(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void make_sleep_in_atomic(void)
{
	preempt_disable();
	msleep(20);
	preempt_enable();
}

static void do_nothing(struct timer_list *timer)
{
}

static void make_armed_timer_free(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, do_nothing, 0);
	mod_timer(timer, jiffies + 3600 * HZ);
	kfree(timer);
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "warning", make_warning },
	{ "oops", make_oops },
	{ "leak", make_leak },
	{ "use-after-free", make_use_after_free },
	{ "lock-inversion", make_lock_inversion },
	{ "sleep-in-atomic", make_sleep_in_atomic },
	{ "armed-timer-free", make_armed_timer_free },
};

static int __init faults_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(faults[i].name, fault)) {
			faults[i].make();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit faults_exit(void)
{
}

module_init(faults_init);
module_exit(faults_exit);

MODULE_DESCRIPTION("Mistakes on demand, for the tests of the VM harness");
MODULE_LICENSE("GPL");
