// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Weight-balanced trees (Nievergelt and Reingold, 1973) with the parameters 3 and 2.  Hirai and
 * Yamamoto, "Balancing weight-balanced trees" (2011), prove that these keep the balance after every
 * insertion and removal.  The weight of a subtree is its size plus 1.
 */
#include "ovt_tree.h"

static u32 size_of(const struct ovt_tree_node *node)
{
	return node ? node->size : 0;
}

static u64 weight_of(const struct ovt_tree_node *node)
{
	return size_of(node) + 1ull;
}

static void measure(struct ovt_tree_node *node)
{
	node->size = size_of(node->left) + size_of(node->right) + 1;
}

static void set_left(struct ovt_tree_node *node, struct ovt_tree_node *child)
{
	node->left = child;
	if (child)
		child->parent = node;
}

static void set_right(struct ovt_tree_node *node, struct ovt_tree_node *child)
{
	node->right = child;
	if (child)
		child->parent = node;
}

/* Puts @new, which may be NULL, into the place of @old below the parent of @old. */
static void replace(struct ovt_tree *tree, struct ovt_tree_node *old, struct ovt_tree_node *new)
{
	struct ovt_tree_node *parent = old->parent;

	if (!parent)
		tree->root = new;
	else if (parent->left == old)
		parent->left = new;
	else
		parent->right = new;
	if (new)
		new->parent = parent;
}

/* The right child of @node takes the place of @node. */
static void rotate_left(struct ovt_tree *tree, struct ovt_tree_node *node)
{
	struct ovt_tree_node *top = node->right;

	replace(tree, node, top);
	set_right(node, top->left);
	set_left(top, node);
	measure(node);
	measure(top);
}

static void rotate_right(struct ovt_tree *tree, struct ovt_tree_node *node)
{
	struct ovt_tree_node *top = node->left;

	replace(tree, node, top);
	set_left(node, top->right);
	set_right(top, node);
	measure(node);
	measure(top);
}

static void balance(struct ovt_tree *tree, struct ovt_tree_node *node)
{
	struct ovt_tree_node *left = node->left;
	struct ovt_tree_node *right = node->right;

	if (weight_of(right) > 3 * weight_of(left)) {
		if (weight_of(right->left) >= 2 * weight_of(right->right))
			rotate_right(tree, right);
		rotate_left(tree, node);
	} else if (weight_of(left) > 3 * weight_of(right)) {
		if (weight_of(left->right) >= 2 * weight_of(left->left))
			rotate_left(tree, left);
		rotate_right(tree, node);
	}
}

/*
 * Counts sizes and restores the balance from @node to the root, after a node was inserted or
 * removed below @node, or @node was inserted.
 */
static void settle(struct ovt_tree *tree, struct ovt_tree_node *node, u64 *steps)
{
	while (node) {
		struct ovt_tree_node *above = node->parent;

		++*steps;
		measure(node);
		balance(tree, node);
		node = above;
	}
}

void ovt_tree_insert(struct ovt_tree *tree, struct ovt_tree_node *node, ovt_tree_before *before,
		     const void *context, u64 *steps)
{
	struct ovt_tree_node **place = &tree->root;
	struct ovt_tree_node *parent = NULL;
	bool is_first = true;

	while (*place) {
		++*steps;
		parent = *place;
		if (before(context, node, parent)) {
			place = &parent->left;
		} else {
			place = &parent->right;
			is_first = false;
		}
	}
	node->parent = parent;
	node->left = NULL;
	node->right = NULL;
	*place = node;
	if (is_first)
		tree->first = node;
	settle(tree, node, steps);
}

static struct ovt_tree_node *leftmost(struct ovt_tree_node *node, u64 *steps)
{
	while (node->left) {
		++*steps;
		node = node->left;
	}
	return node;
}

/*
 * The node after @node takes the place of @node, which has two children.  Returns the lowest node
 * whose size changes.
 */
static struct ovt_tree_node *put_next_in_place(struct ovt_tree *tree, struct ovt_tree_node *node,
					       u64 *steps)
{
	struct ovt_tree_node *next = leftmost(node->right, steps);
	struct ovt_tree_node *changed = next;

	if (next != node->right) {
		changed = next->parent;
		replace(tree, next, next->right);
		set_right(next, node->right);
	}
	set_left(next, node->left);
	replace(tree, node, next);
	return changed;
}

void ovt_tree_remove(struct ovt_tree *tree, struct ovt_tree_node *node, u64 *steps)
{
	struct ovt_tree_node *changed = node->parent;

	if (tree->first == node)
		tree->first = node->right ? leftmost(node->right, steps) : node->parent;
	if (node->left && node->right)
		changed = put_next_in_place(tree, node, steps);
	else
		replace(tree, node, node->left ? node->left : node->right);
	settle(tree, changed, steps);
	memset(node, 0, sizeof(*node));
}

u32 ovt_tree_count(const struct ovt_tree *tree,
		   bool (*leading)(const void *context, const struct ovt_tree_node *node),
		   const void *context, u64 *steps)
{
	const struct ovt_tree_node *node = tree->root;
	u32 count = 0;

	while (node) {
		++*steps;
		if (leading(context, node)) {
			count += size_of(node->left) + 1;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return count;
}
