// SPDX-License-Identifier: MIT
/* The table of settings (sched/settings.inc) as JSON, for scripts and tests. */
#include <stdio.h>

#include "sched/sched.h"

/* No text of the table has anything that JSON would write otherwise: test_settings.py. */
static void text(const char *key, const char *value)
{
	if (value)
		printf("\"%s\": \"%s\", ", key, value);
}

static void way_in(const char *key, const struct ovt_setting_way_in *way)
{
	if (way->name)
		printf("\"%s\": {\"name\": \"%s\", \"most\": %llu}, ", key, way->name,
		       (unsigned long long)way->most);
}

int main(void)
{
	static const char *const units[] = { "count", "percent", "factor", "time", "switch" };
	static const char *const owners[] = { "queue", "device", "process" };
	const struct ovt_setting *setting;
	u32 i;

	printf("{\"policies\": [");
	for (i = 0; ovt_sched_policy_at(i); i++)
		printf("%s\"%s\"", i ? ", " : "", ovt_sched_policy_at(i)->name);
	printf("],\n\"settings\": [");
	for (i = 0; (setting = ovt_setting_at(i)); i++) {
		printf("%s\n{", i ? "," : "");
		text("name", setting->name);
		text("public_name", setting->public_name);
		text("unit", units[setting->unit]);
		text("owner", owners[setting->owner]);
		text("sentence", setting->sentence);
		text("option_sentence", setting->option_sentence);
		text("scenario", setting->scenario);
		way_in("variable", &setting->variable);
		way_in("option", &setting->option);
		printf("\"off_alone\": %s, ", setting->off_alone ? "true" : "false");
		printf("\"least\": %llu, \"most\": %llu, \"usual\": %llu}",
		       (unsigned long long)setting->least, (unsigned long long)setting->most,
		       (unsigned long long)setting->usual);
	}
	printf("\n]}\n");
	return 0;
}
