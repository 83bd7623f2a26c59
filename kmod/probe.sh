#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Finds out which form of the kernel's interfaces the headers have.  Kbuild runs this before it
# compiles the module, and compat.h reads the answers.
#
#	probe.sh RESULT COMPILER [FLAG...]
#
# For each interface that changed, the older form is compiled.  If that fails, the later form is
# compiled, and the header RESULT then defines OVERTAKE_LATER_<NAME>.  Headers with neither form are
# refused with the interface's name and the compiler's message.  Nothing depends on version numbers.
set -u

result=$1
shift
work=$result.probe
mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT

# compiles BODY COMPILER [FLAG...]: compiles BODY as that of a function; messages go to $work/log
compiles()
{
	cat > "$work/probe.c" <<- END
		#include <linux/dma-fence.h>
		#include <linux/hrtimer.h>
		#include <linux/io_uring/cmd.h>
		#include <linux/module.h>
		#include <drm/drm_drv.h>
		#include <drm/drm_gem.h>
		enum hrtimer_restart fired(struct hrtimer *timer);
		void probe(struct io_uring_cmd *command, struct hrtimer *timer,
			   struct drm_gem_object *object, struct iosys_map *map);
		void probe(struct io_uring_cmd *command, struct hrtimer *timer,
			   struct drm_gem_object *object, struct iosys_map *map)
		{
			$1;
		}
	END
	shift
	"$@" -Werror -fsyntax-only "$work/probe.c" > "$work/log" 2>&1
}

# refuse REASON
refuse()
{
	echo "overtake: $1: no module for this kernel; the compiler says:" >&2
	head -n 20 "$work/log" >&2
	exit 1
}

# either NAME WHAT OLDER LATER COMPILER [FLAG...]
either()
{
	name=$1 what=$2 older=$3 later=$4
	shift 4
	! compiles "$older" "$@" || return 0
	compiles "$later" "$@" || refuse "its $what is neither the older nor the later one (kmod/probe.sh)"
	echo "#define OVERTAKE_LATER_$name" >> "$work/answers"
}

echo "/* Made by kmod/probe.sh. */" > "$work/answers"
compiles "" "$@" || refuse "its headers do not compile, or have no io_uring or DRM"

# The later io_uring_cmd_done() has three arguments, without the second result.
either URING_DONE "io_uring_cmd_done" \
	"io_uring_cmd_done(command, 0, (u64)0, 0u)" \
	"io_uring_cmd_done32(command, 0, (u64)0, 0u)" "$@"
either URING_SQE_CMD "io_uring_sqe_cmd" \
	"const void *payload = io_uring_sqe_cmd(command->sqe); (void)payload" \
	"const void *payload = io_uring_sqe128_cmd(command->sqe, u64); (void)payload" "$@"
either URING_TASK_WORK "io_uring_cmd_complete_in_task" \
	"void (*work)(struct io_uring_cmd *, unsigned int) = NULL;
	io_uring_cmd_complete_in_task(command, work)" \
	"void (*work)(struct io_tw_req, io_tw_token_t) = NULL;
	struct io_uring_cmd *(*from)(struct io_tw_req) = io_uring_cmd_from_tw;
	unsigned int flags = IO_URING_CMD_TASK_WORK_ISSUE_FLAGS;
	(void)from, (void)flags;
	io_uring_cmd_complete_in_task(command, work)" "$@"
either TIMER_SETUP "hrtimer_setup" \
	"hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS); timer->function = fired" \
	"hrtimer_setup(timer, fired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS)" "$@"
# The later name is also that of an older function, which wants the reservation locked.
either GEM_VMAP "drm_gem_vmap" \
	"if (!drm_gem_vmap_unlocked(object, map)) drm_gem_vunmap_unlocked(object, map)" \
	"if (!drm_gem_vmap(object, map)) drm_gem_vunmap(object, map)" "$@"
either DRIVER_DATE "struct drm_driver" \
	"struct drm_driver driver = { .date = \"20261121\" }; (void)driver" \
	"struct drm_driver driver = { .desc = \"\" }; (void)driver" "$@"
# An older kernel also compiles the string, but its quotation marks become part of the name.
either IMPORT_NS "MODULE_IMPORT_NS" \
	"} MODULE_IMPORT_NS(DMA_BUF); void more(void); void more(void) {" \
	"} MODULE_IMPORT_NS(\"DMA_BUF\"); void more(void); void more(void) {" "$@"

mv "$work/answers" "$result"
