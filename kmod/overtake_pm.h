/* SPDX-License-Identifier: GPL-2.0-only */
/* Suspend and resume.  See overtake_pm.c. */
#ifndef OVERTAKE_PM_H
#define OVERTAKE_PM_H

#include <linux/pm.h>

extern const struct dev_pm_ops overtake_pm_ops;

#endif
