// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers, and the device address space of an open file.
 *
 * MAP pins a buffer, maps it into the kernel and gives it a device address.  A job names memory
 * by such addresses; at submission each is resolved to a pointer, and the job takes a reference
 * to the mapping, so an UNMAP or a closed file takes no memory away from a core that uses it.
 * Device addresses are never used twice in a file: a stale one names nothing.
 */
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_utils.h>

#include "compat.h"
#include "overtake_client.h"
#include "overtake_drv.h"
#include "overtake_fence.h"
#include "overtake_gem.h"
#include "overtake_limits.h"
#include "overtake_prime.h"

static void overtake_bo_free(struct drm_gem_object *object)
{
	struct overtake_client *client = overtake_bo_of(object)->client;
	u64 size = object->size;

	overtake_users_fini(&overtake_bo_of(object)->readers);
	overtake_users_fini(&overtake_bo_of(object)->writers);
	drm_gem_shmem_object_free(object);
	if (client) {
		overtake_client_uncharge_buffer(client, size);
		overtake_client_put(client);
	}
}

static enum drm_gem_object_status overtake_bo_status(struct drm_gem_object *object)
{
	return to_drm_gem_shmem_obj(object)->pages ? DRM_GEM_OBJECT_RESIDENT : 0;
}

/*
 * Maps a buffer into a process, through the device's file or through the file of a dma-buf.  If the
 * client of the device's file may only read the buffer, the mapping can never be written.  The
 * kernel has already checked the mode of a dma-buf's file.
 */
static int overtake_bo_mmap(struct drm_gem_object *object, struct vm_area_struct *vma)
{
	if (vma->vm_file->f_op == object->dev->driver->fops) {
		struct drm_file *file = vma->vm_file->private_data;

		if (!overtake_bo_may_write(file->driver_priv, object)) {
			if (vma->vm_flags & VM_WRITE)
				return -EACCES;
			vm_flags_clear(vma, VM_MAYWRITE);
		}
	}
	return drm_gem_shmem_object_mmap(object, vma);
}

static const struct drm_gem_object_funcs overtake_bo_funcs = {
	.free = overtake_bo_free,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = overtake_bo_mmap,
	.status = overtake_bo_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

struct drm_gem_object *overtake_gem_create_object(struct drm_device *drm, size_t size)
{
	struct overtake_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->shmem.base.funcs = &overtake_bo_funcs;
	overtake_users_init(&bo->readers);
	overtake_users_init(&bo->writers);
	return &bo->shmem.base;
}

int overtake_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_client *client = file->driver_priv;
	struct drm_overtake_bo_create *args = data;
	struct drm_gem_shmem_object *shmem;
	u64 size;
	int ret;

	if (args->flags || args->handle)
		return -EINVAL;
	ret = overtake_judge(client, ovt_check_buffer(args->size));
	if (ret)
		return ret;
	size = PAGE_ALIGN(args->size);
	ret = overtake_client_charge_buffer(client, size);
	if (ret)
		return ret;
	shmem = drm_gem_shmem_create(drm, size);
	if (IS_ERR(shmem)) {
		overtake_client_uncharge_buffer(client, size);
		return PTR_ERR(shmem);
	}
	overtake_client_get(client);
	overtake_bo_of(&shmem->base)->client = client;
	ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	if (!ret)
		args->size = size;
	drm_gem_object_put(&shmem->base);
	return ret;
}

int overtake_bo_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_overtake_bo_mmap_offset *args = data;
	struct drm_gem_object *object;

	if (args->pad || args->offset)
		return -EINVAL;
	object = drm_gem_object_lookup(file, args->handle);
	if (!object)
		return -ENOENT;
	/* The shmem helper made the offset together with the object. */
	args->offset = drm_vma_node_offset_addr(&object->vma_node);
	drm_gem_object_put(object);
	return 0;
}

static void mapping_release(struct kref *ref)
{
	struct overtake_mapping *mapping = container_of(ref, struct overtake_mapping, ref);
	struct iosys_map map = IOSYS_MAP_INIT_VADDR(mapping->base);

	if (mapping->object->import_attach)
		overtake_import_unmap(mapping->object, &map);
	else
		overtake_gem_vunmap(mapping->object, &map);
	drm_gem_object_put(mapping->object);
	kfree(mapping);
}

/* May sleep. */
void overtake_mapping_put(struct overtake_mapping *mapping)
{
	kref_put(&mapping->ref, mapping_release);
}

/*
 * overtake_mapping_find - find the mapping that holds all of [@address, @address + @length)
 *
 * Returns it with a reference for the caller, or NULL.  @length is at least 1.  May sleep.
 */
struct overtake_mapping *overtake_mapping_find(struct overtake_client *client, u64 address,
					       u64 length)
{
	struct overtake_mapping *mapping;

	mutex_lock(&client->lock);
	mapping = mtree_load(&client->space, address >> PAGE_SHIFT);
	if (mapping && !ovt_range_is_inside(address, length, mapping->address, mapping->size))
		mapping = NULL;
	if (mapping)
		kref_get(&mapping->ref);
	mutex_unlock(&client->lock);
	return mapping;
}

/* Takes a reference to @object when it succeeds. */
static struct overtake_mapping *mapping_create(struct drm_gem_object *object, u32 flags)
{
	struct overtake_mapping *mapping;
	struct iosys_map map;
	int ret;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	if (object->import_attach)
		ret = overtake_import_map(object, &map);
	else
		ret = overtake_gem_vmap(object, &map);
	if (ret) {
		kfree(mapping);
		return ERR_PTR(ret);
	}
	drm_gem_object_get(object);
	kref_init(&mapping->ref);
	mapping->object = object;
	mapping->size = object->size;
	mapping->base = map.vaddr;
	mapping->flags = flags;
	return mapping;
}

/* Gives @mapping its address; -EEXIST if its buffer has one.  Caller holds client->lock. */
static int space_insert(struct overtake_client *client, struct overtake_mapping *mapping)
{
	u64 address = client->next_address;
	int ret;

	lockdep_assert_held(&client->lock);
	ret = xa_insert(&client->mapped, (unsigned long)mapping->object, mapping,
			GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -EEXIST : ret;
	ret = mtree_insert_range(&client->space, address >> PAGE_SHIFT,
				 (address + mapping->size - 1) >> PAGE_SHIFT, mapping,
				 GFP_KERNEL_ACCOUNT);
	if (ret) {
		xa_erase(&client->mapped, (unsigned long)mapping->object);
		return ret;
	}
	mapping->address = address;
	/* A page that is never mapped lies between two mappings. */
	client->next_address = address + mapping->size + PAGE_SIZE;
	return 0;
}

static void space_remove(struct overtake_client *client, struct overtake_mapping *mapping)
{
	lockdep_assert_held(&client->lock);
	mtree_erase(&client->space, mapping->address >> PAGE_SHIFT);
	xa_erase(&client->mapped, (unsigned long)mapping->object);
}

int overtake_bo_map_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_client *client = file->driver_priv;
	struct drm_overtake_bo_map *args = data;
	struct overtake_mapping *mapping;
	struct drm_gem_object *object;
	int ret;

	if (args->address || (args->flags & ~(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)) ||
	    !(args->flags & OVERTAKE_MAP_READ))
		return -EINVAL;
	object = drm_gem_object_lookup(file, args->handle);
	if (!object)
		return -ENOENT;
	if (!overtake_bo_is_charged(object))
		mapping = ERR_PTR(-ENOENT);
	else if ((args->flags & OVERTAKE_MAP_WRITE) && !overtake_bo_may_write(client, object))
		mapping = ERR_PTR(-EACCES);
	else
		mapping = mapping_create(object, args->flags);
	drm_gem_object_put(object);
	if (IS_ERR(mapping))
		return PTR_ERR(mapping);
	mutex_lock(&client->lock);
	ret = space_insert(client, mapping);
	if (!ret)
		args->address = mapping->address;
	/* Once the lock is released, another thread that guesses the address may unmap it. */
	mutex_unlock(&client->lock);
	if (ret)
		overtake_mapping_put(mapping);
	return ret;
}

int overtake_bo_unmap_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_client *client = file->driver_priv;
	struct drm_overtake_bo_unmap *args = data;
	struct overtake_mapping *mapping;

	mutex_lock(&client->lock);
	mapping = mtree_load(&client->space, args->address >> PAGE_SHIFT);
	if (mapping && mapping->address == args->address)
		space_remove(client, mapping);
	else
		mapping = NULL;
	mutex_unlock(&client->lock);
	if (!mapping)
		return -ENOENT;
	overtake_mapping_put(mapping);
	return 0;
}

/* The file is closing: no call can map a buffer any more. */
void overtake_client_unmap_all(struct overtake_client *client)
{
	struct overtake_mapping *mapping;
	unsigned long index;

	mutex_lock(&client->lock);
	xa_for_each(&client->mapped, index, mapping) {
		space_remove(client, mapping);
		overtake_mapping_put(mapping);
	}
	mutex_unlock(&client->lock);
}

/*
 * Waits for the jobs of this device that write the buffer, with @write also for those that read it;
 * then, unless the buffer is private, for the fences of its other users.
 */
static long wait_for_users(struct drm_gem_object *object, bool write, long timeout)
{
	long left = overtake_users_wait(object, write, timeout);

	if (left <= 0 || overtake_bo_is_private(object))
		return left;
	return dma_resv_wait_timeout(object->resv, dma_resv_usage_rw(write), true,
				     timeout ? left : 0);
}

int overtake_bo_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_overtake_bo_wait *args = data;
	struct drm_gem_object *object;
	long ret;

	if ((args->flags & ~(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)) ||
	    !(args->flags & OVERTAKE_MAP_READ) || args->deadline_ns < 0)
		return -EINVAL;
	object = drm_gem_object_lookup(file, args->handle);
	if (!object)
		return -ENOENT;
	ret = wait_for_users(object, args->flags & OVERTAKE_MAP_WRITE,
			     drm_timeout_abs_to_jiffies(args->deadline_ns));
	drm_gem_object_put(object);
	if (ret < 0)
		return ret;
	return ret ? 0 : -ETIMEDOUT;
}
