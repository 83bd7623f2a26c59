// SPDX-License-Identifier: MIT
/* The table of settings: every row is whole, and reads and writes its own field and no other. */
#include "cmocka_all.h"
#include "sched/sched.h"

#define EACH_SETTING(setting, i) for ((i) = 0; ((setting) = ovt_setting_at(i)); (i)++)

static void a_row_has_what_people_are_shown(void **state)
{
	const struct ovt_setting *setting;
	u32 i;

	(void)state;
	EACH_SETTING(setting, i) {
		assert_non_null(setting->name);
		assert_non_null(setting->public_name);
		assert_non_null(setting->sentence);
		assert_true(setting->sentence[0] >= 'A' && setting->sentence[0] <= 'Z');
		assert_true(setting->sentence[strlen(setting->sentence) - 1] != '.');
		/* A setting that can be too small has a noun for the message about it. */
		assert_true(!setting->least == !setting->noun);
		/* A switch has a sentence for its option, which switches it off. */
		assert_true(setting->option_sentence || setting->unit != OVT_UNIT_SWITCH);
		assert_true(setting->unit != OVT_UNIT_SWITCH || setting->most == 1);
		assert_true(setting->unit != OVT_UNIT_TIME || setting->size == sizeof(u64));
		if (setting->owner == OVT_OWNER_PROCESS)
			assert_null(setting->option.name);
		if (setting->owner == OVT_OWNER_DEVICE)
			assert_null(setting->variable.name);
	}
	assert_int_equal(i, OVT_SETTING_COUNT);
	assert_null(ovt_setting_at(OVT_SETTING_COUNT));
	assert_null(ovt_setting_at(~0u));
}

static void names_are_different(void **state)
{
	const struct ovt_setting *a, *b;
	u32 i, j;

	(void)state;
	EACH_SETTING(a, i)
		for (j = 0; j < i; j++) {
			b = ovt_setting_at(j);
			assert_string_not_equal(a->name, b->name);
			assert_string_not_equal(a->public_name, b->public_name);
			if (a->scenario && b->scenario)
				assert_string_not_equal(a->scenario, b->scenario);
			if (a->variable.name && b->variable.name)
				assert_string_not_equal(a->variable.name, b->variable.name);
			if (a->option.name && b->option.name)
				assert_string_not_equal(a->option.name, b->option.name);
		}
}

static void defaults_are_within_all_ranges(void **state)
{
	const struct ovt_setting *setting;
	u64 field_most, unit;
	u32 i;

	(void)state;
	EACH_SETTING(setting, i) {
		field_most = setting->size == sizeof(u64) ? ~0ull : (1ull << 8 * setting->size) - 1;
		unit = setting->unit == OVT_UNIT_TIME ? OVT_NS_PER_MS : 1;
		assert_true(setting->most <= field_most);
		assert_true(setting->least <= setting->usual && setting->usual <= setting->most);
		assert_true(!setting->off_alone || !setting->least);
		assert_true(setting->usual % unit == 0);
		if (setting->variable.name) {
			assert_true(setting->variable.most <= setting->most / unit);
			assert_true(setting->usual / unit <= setting->variable.most);
		}
		if (setting->option.name) {
			assert_true(setting->option.most <= setting->most / unit);
			assert_true(setting->usual / unit <= setting->option.most);
		}
	}
}

static void a_row_is_of_its_own_field(void **state)
{
	struct ovt_sched_settings settings;
	const struct ovt_setting *setting, *other;
	u32 i, j;

	(void)state;
	EACH_SETTING(setting, i) {
		ovt_sched_settings_init(&settings, true);
		ovt_setting_set(setting, &settings, setting->most);
		EACH_SETTING(other, j)
			assert_true(ovt_setting_get(other, &settings) ==
				    (i == j ? setting->most : other->usual));
		assert_ptr_equal(settings.policy, ovt_sched_policy_at(0));
	}
	ovt_setting_set(ovt_setting_at(OVT_SETTING_insert_max_time), &settings, 0x123456789abcull);
	assert_true(settings.insert_max_time == 0x123456789abcull);
	ovt_setting_set(ovt_setting_at(OVT_SETTING_task_limit), &settings, 77);
	assert_int_equal(settings.task_limit, 77);
	ovt_setting_set(ovt_setting_at(OVT_SETTING_share), &settings, 0);
	assert_false(settings.share);
}

static void a_queue_of_one_process_shares_nothing(void **state)
{
	struct ovt_sched_settings settings;

	(void)state;
	memset(&settings, 0x5a, sizeof(settings));
	ovt_sched_settings_init(&settings, false);
	assert_ptr_equal(settings.policy, ovt_sched_policy_at(0));
	assert_false(settings.share);
	assert_true(settings.overdue_min_time == 0);
	assert_true(settings.overdue_factor == 4);
	assert_int_equal(settings.slots, 1);
	assert_int_equal(settings.task_limit, 8);
	assert_int_equal(settings.workers, 4);
	assert_true(settings.threshold_percent == 10);
	assert_true(settings.insert_max_time == 1000 * OVT_NS_PER_MS);
	assert_true(settings.wait_dispatch_time == 20 * OVT_NS_PER_MS);
	ovt_sched_settings_init(&settings, true);
	assert_true(settings.share);
	assert_true(settings.overdue_min_time == 20 * OVT_NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_what_people_are_shown),
		cmocka_unit_test(names_are_different),
		cmocka_unit_test(defaults_are_within_all_ranges),
		cmocka_unit_test(a_row_is_of_its_own_field),
		cmocka_unit_test(a_queue_of_one_process_shares_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
