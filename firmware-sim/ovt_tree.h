/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Intrusive sorted trees: insert, remove and count in O(log n), the first in O(1).
 *
 * The trees are weight-balanced: the size of a subtree both keeps it in balance and tells how many
 * nodes come before a place.  Neither side of a node weighs more than three times the other, so no
 * path is longer than 2.41 log2(n + 1).  Nothing recurses, and the memory of a node is its owner's.
 *
 * Every function adds the nodes it visits to @steps: a test can count work rather than measure
 * time.
 */
#ifndef OVT_TREE_H
#define OVT_TREE_H

#include <ovt_port.h>

struct ovt_tree_node {
	struct ovt_tree_node *parent;
	struct ovt_tree_node *left;
	struct ovt_tree_node *right;
	u32 size;			/* nodes of the subtree that begins here; 0: in no tree */
};

/* Empty if all zero. */
struct ovt_tree {
	struct ovt_tree_node *root;
	struct ovt_tree_node *first;
};

/* Whether @a goes before @b; if neither goes before the other, they are equal.  Constant. */
typedef bool ovt_tree_before(const void *context, const struct ovt_tree_node *a,
			     const struct ovt_tree_node *b);

/* Inserts @node, which is in no tree, behind the nodes that are equal. */
void ovt_tree_insert(struct ovt_tree *tree, struct ovt_tree_node *node, ovt_tree_before *before,
		     const void *context, u64 *steps);
/* Removes @node, which is in @tree. */
void ovt_tree_remove(struct ovt_tree *tree, struct ovt_tree_node *node, u64 *steps);

/* Returns the number of nodes that are @leading: these are the first ones, and no later node is. */
u32 ovt_tree_count(const struct ovt_tree *tree,
		   bool (*leading)(const void *context, const struct ovt_tree_node *node),
		   const void *context, u64 *steps);

/* Returns the node behind @node, or NULL.  A walk looks at each node of a tree at most twice. */
static inline struct ovt_tree_node *ovt_tree_next(struct ovt_tree_node *node)
{
	if (node->right) {
		node = node->right;
		while (node->left)
			node = node->left;
		return node;
	}
	while (node->parent && node->parent->right == node)
		node = node->parent;
	return node->parent;
}

static inline u32 ovt_tree_size(const struct ovt_tree *tree)
{
	return tree->root ? tree->root->size : 0;
}

static inline bool ovt_tree_empty(const struct ovt_tree *tree)
{
	return !tree->root;
}

static inline bool ovt_tree_holds(const struct ovt_tree_node *node)
{
	return node->size;
}

#endif
