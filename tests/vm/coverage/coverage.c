// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records the executed basic blocks of overtake.ko, for a module compiled with
 * -fsanitize-coverage=trace-pc: each block begins with a call of __sanitizer_cov_trace_pc().  KCOV
 * would define this function, but no kernel of a distribution has KCOV.
 *
 * Stays loaded while overtake.ko comes and goes, anywhere in memory, and remembers offsets into its
 * two text areas.  /sys/kernel/debug/overtake_coverage: a line "text OFFSET" or "init OFFSET" for
 * each return address, hexadecimal; and where the areas of the last load were ("base").
 */
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#define AREA_BYTES	(4ul << 20)

/* An area of the traced module's text; changed only while none of it runs. */
struct area {
	const char *name;
	unsigned long base;
	unsigned long size;
	DECLARE_BITMAP(hits, AREA_BYTES);
};

static struct area text = { .name = "text" };
static struct area init = { .name = "init" };
static struct dentry *file;

static bool record(struct area *area, unsigned long address)
{
	unsigned long offset = address - READ_ONCE(area->base);

	if (offset >= READ_ONCE(area->size))
		return false;
	if (!test_bit(offset, area->hits))
		set_bit(offset, area->hits);
	return true;
}

/* Runs in any context. */
void notrace __sanitizer_cov_trace_pc(void);
void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long address = _RET_IP_;

	if (!record(&text, address))
		record(&init, address);
}
EXPORT_SYMBOL(__sanitizer_cov_trace_pc);

static void set_area(struct area *area, const struct module_memory *memory)
{
	WRITE_ONCE(area->size, 0);
	WRITE_ONCE(area->base, (unsigned long)memory->base);
	WRITE_ONCE(area->size, min_t(unsigned long, memory->size, AREA_BYTES));
}

static int module_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct module *module = data;

	if (strcmp(module->name, "overtake"))
		return NOTIFY_DONE;
	if (event == MODULE_STATE_COMING) {
		set_area(&text, &module->mem[MOD_TEXT]);
		set_area(&init, &module->mem[MOD_INIT_TEXT]);
	} else if (event == MODULE_STATE_LIVE) {
		WRITE_ONCE(init.size, 0); /* freed */
	}
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = module_event };

static void show_area(struct seq_file *seq, struct area *area)
{
	unsigned long offset;

	seq_printf(seq, "base %s %lx\n", area->name, area->base);
	for_each_set_bit(offset, area->hits, AREA_BYTES)
		seq_printf(seq, "%s %lx\n", area->name, offset);
}

static int hits_show(struct seq_file *seq, void *unused)
{
	show_area(seq, &text);
	show_area(seq, &init);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hits);

static int __init coverage_init(void)
{
	file = debugfs_create_file("overtake_coverage", 0400, NULL, NULL, &hits_fops);
	return register_module_notifier(&module_notifier);
}

static void __exit coverage_exit(void)
{
	unregister_module_notifier(&module_notifier);
	debugfs_remove(file);
}

module_init(coverage_init);
module_exit(coverage_exit);

MODULE_DESCRIPTION("Basic blocks of overtake.ko that were executed");
MODULE_LICENSE("GPL");
