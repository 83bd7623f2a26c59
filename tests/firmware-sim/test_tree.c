// SPDX-License-Identifier: MIT
/* The schedulers' trees against a sorted array: order, links, sizes and balance after each step. */
#include "cmocka_all.h"
#include "ovt_tree.h"

#define NODES	96
#define KEYS	24
#define STEPS	30000
#define DEEPEST	15 /* 2.41 log2(NODES + 1) */

struct item {
	struct ovt_tree_node node;
	u32 key;
};

static struct item items[NODES];
static struct item *order[NODES]; /* those in the tree, sorted */
static u32 count;

static const struct item *item_of(const struct ovt_tree_node *node)
{
	return (const struct item *)((const char *)node - offsetof(struct item, node));
}

static bool before(const void *context, const struct ovt_tree_node *a,
		   const struct ovt_tree_node *b)
{
	assert_ptr_equal(context, items);
	return item_of(a)->key < item_of(b)->key;
}

static bool is_below(const void *key, const struct ovt_tree_node *node)
{
	return item_of(node)->key < *(const u32 *)key;
}

static u32 draw(u32 bound)
{
	static u64 state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(state >> 33) % bound;
}

/* Checks the subtree against the array from @place on; returns the number of nodes. */
static u32 check_subtree(const struct ovt_tree_node *node, const struct ovt_tree_node *parent,
			 u32 place)
{
	u32 left, right;

	if (!node)
		return 0;
	assert_ptr_equal(node->parent, parent);
	left = check_subtree(node->left, node, place);
	assert_ptr_equal(node, &order[place + left]->node);
	right = check_subtree(node->right, node, place + left + 1);
	assert_int_equal(node->size, left + right + 1);
	assert_true(left + 1 <= 3 * (right + 1));
	assert_true(right + 1 <= 3 * (left + 1));
	return left + right + 1;
}

static void check(const struct ovt_tree *tree)
{
	assert_int_equal(check_subtree(tree->root, NULL, 0), count);
	assert_int_equal(ovt_tree_size(tree), count);
	assert_int_equal(ovt_tree_empty(tree), count == 0);
	assert_ptr_equal(tree->first, count ? &order[0]->node : NULL);
}

/* Returns the nodes from the root to the place where @node will be. */
static u32 nodes_above(const struct ovt_tree *tree, const struct ovt_tree_node *node)
{
	const struct ovt_tree_node *at = tree->root;
	u32 nodes = 0;

	while (at) {
		nodes++;
		at = before(items, node, at) ? at->left : at->right;
	}
	return nodes;
}

static u32 parents(const struct ovt_tree_node *node)
{
	u32 nodes = 0;

	for (; node->parent; node = node->parent)
		nodes++;
	return nodes;
}

/* Returns the nodes that a removal visits: down to the next node, if needed, and up from there. */
static u32 nodes_around(const struct ovt_tree *tree, const struct ovt_tree_node *node)
{
	const bool is_first = tree->first == node;
	const struct ovt_tree_node *next = node->right;
	u32 down = 0;

	for (; next && next->left; next = next->left)
		down++;
	if (node->left && node->right)
		return down + parents(next);
	return parents(node) + (is_first ? down : 0);
}

static void insert(struct ovt_tree *tree, struct item *item)
{
	const u32 above = nodes_above(tree, &item->node);
	u64 steps = 1000;
	u32 place = 0;

	while (place < count && order[place]->key <= item->key)
		place++;
	memmove(&order[place + 1], &order[place], (count - place) * sizeof(order[0]));
	order[place] = item;
	count++;
	/* The links may hold anything: only its size shows that a node is in no tree. */
	item->node.left = item->node.right = item->node.parent = &items[0].node;
	ovt_tree_insert(tree, &item->node, before, items, &steps);
	/* The steps lead down, and up again from the new node. */
	assert_int_equal(steps, 1000 + above + above + 1);
	assert_true(ovt_tree_holds(&item->node));
}

static void remove_at(struct ovt_tree *tree, u32 place)
{
	static const struct ovt_tree_node none;
	struct item *item = order[place];
	const u32 visited = nodes_around(tree, &item->node);
	u64 steps = 0;

	count--;
	memmove(&order[place], &order[place + 1], (count - place) * sizeof(order[0]));
	ovt_tree_remove(tree, &item->node, &steps);
	assert_memory_equal(&item->node, &none, sizeof(none));
	assert_false(ovt_tree_holds(&item->node));
	assert_int_equal(steps, visited);
}

static void reset(struct ovt_tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	memset(items, 0, sizeof(items));
	count = 0;
}

/* The tree grows and shrinks in turns of 200 steps. */
static void a_tree_is_a_sorted_array_in_balance(void **state)
{
	struct ovt_tree tree;
	u32 step;

	(void)state;
	reset(&tree);
	for (step = 0; step < STEPS; step++) {
		const bool grows = draw(3) < (step / 200 % 2 ? 1u : 2u);
		struct item *item = &items[draw(NODES)];

		if (grows && !ovt_tree_holds(&item->node)) {
			item->key = draw(KEYS);
			insert(&tree, item);
		} else if (!grows && count) {
			remove_at(&tree, draw(count));
		}
		check(&tree);
	}
}

static void a_tree_stays_in_balance_when_all_comes_at_one_end_and_leaves_at_the_other(void **state)
{
	struct ovt_tree tree;
	u32 i, backwards;

	(void)state;
	for (backwards = 0; backwards < 2; backwards++) {
		reset(&tree);
		for (i = 0; i < NODES; i++) {
			items[i].key = backwards ? NODES - i : i;
			insert(&tree, &items[i]);
			check(&tree);
		}
		while (count) {
			remove_at(&tree, backwards ? count - 1 : 0);
			check(&tree);
		}
	}
}

static void those_that_lead_are_counted_along_one_path(void **state)
{
	struct ovt_tree tree;
	u32 i, key;

	(void)state;
	reset(&tree);
	for (i = 0; i < NODES; i++) {
		items[i].key = draw(KEYS);
		insert(&tree, &items[i]);
	}
	for (key = 0; key <= KEYS; key++) {
		u32 expected = 0;
		u64 steps = 7;

		while (expected < count && order[expected]->key < key)
			expected++;
		assert_int_equal(ovt_tree_count(&tree, is_below, &key, &steps), expected);
		assert_true(steps > 7 && steps <= 7 + DEEPEST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_is_a_sorted_array_in_balance),
		cmocka_unit_test(a_tree_stays_in_balance_when_all_comes_at_one_end_and_leaves_at_the_other),
		cmocka_unit_test(those_that_lead_are_counted_along_one_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
