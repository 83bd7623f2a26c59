// SPDX-License-Identifier: MIT
/* How a host describes its cores' profiles, and when two cores count as alike. */
#include "cmocka_all.h"
#include "host/core_profile.h"

static struct ovt_profile some_profile(void)
{
	return (struct ovt_profile){
		.name = "some",
		.clock_khz = 1,
		.macs_per_cycle = 2,
		.vector_per_cycle = 3,
		.bytes_per_cycle = 4,
		.insn_overhead_cycles = 5,
		.fc_overhead_cycles = 6,
		.without = 1ull << 40 | 7,
	};
}

static void clients_see_every_number(void **state)
{
	const struct ovt_profile profile = some_profile();
	const struct drm_overtake_core_profile shown = ovt_core_profile(&profile, 1ull << 33);
	size_t i;

	(void)state;
	assert_string_equal(shown.name, "some");
	for (i = strlen(shown.name); i < sizeof(shown.name); i++)
		assert_int_equal(shown.name[i], 0);
	assert_int_equal(shown.clock_khz, 1);
	assert_int_equal(shown.macs_per_cycle, 2);
	assert_int_equal(shown.vector_per_cycle, 3);
	assert_int_equal(shown.bytes_per_cycle, 4);
	assert_int_equal(shown.insn_overhead_cycles, 5);
	assert_int_equal(shown.fc_overhead_cycles, 6);
	assert_int_equal(shown.watchdog_cycles, 1ull << 33);
	assert_int_equal(shown.without, 1ull << 40 | 7);
}

static void a_long_name_is_cut_and_ends(void **state)
{
	struct ovt_profile profile = some_profile();
	struct drm_overtake_core_profile shown;

	(void)state;
	profile.name = "0123456789012345678901234567890123456789";
	shown = ovt_core_profile(&profile, 0);
	assert_string_equal(shown.name, "0123456789012345678901234567890");
}

static void one_difference_makes_cores_unlike(void **state)
{
	static const struct ovt_insn_cost costs[OVERTAKE_OP_COUNT];
	struct ovt_profile pair[3] = { some_profile(), some_profile(), some_profile() };
	char same_name[] = "some";
	u32 field;

	(void)state;
	pair[1].name = same_name;
	assert_true(ovt_profiles_alike(pair, 1));
	assert_true(ovt_profiles_alike(pair, 3));
	for (field = 0; field < 9; field++) {
		struct ovt_profile *last = &pair[2];

		*last = some_profile();
		last->clock_khz += field == 0;
		last->macs_per_cycle += field == 1;
		last->vector_per_cycle += field == 2;
		last->bytes_per_cycle += field == 3;
		last->insn_overhead_cycles += field == 4;
		last->fc_overhead_cycles += field == 5;
		last->without += field == 6;
		if (field == 7)
			last->costs = costs;
		if (field == 8)
			last->name = "another";
		assert_false(ovt_profiles_alike(pair, 3));
		assert_true(ovt_profiles_alike(pair, 2));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_see_every_number),
		cmocka_unit_test(a_long_name_is_cut_and_ends),
		cmocka_unit_test(one_difference_makes_cores_unlike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
