// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imported buffers of other drivers, and exported buffers of this one (PRIME, dma-buf).
 *
 * An import is a buffer like any other: it is charged to the file that imported it, mapped by MAP,
 * and named by jobs.  A buffer that was exported by this device and is imported again is the same
 * object, charged to the client that created it.  Cores reach memory through the CPU, so an
 * import must have CPU addresses, which MAP asks for.  CPU access begins with each submission and
 * ends with its job: between jobs other devices may have the memory.
 *
 * A dma-buf whose file is read-only stays read-only: a client that got the buffer through it can
 * map it for reading only, into the device and into a process.
 */
#include <linux/dma-buf.h>
#include <linux/iosys-map.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "overtake_client.h"
#include "overtake_drv.h"
#include "overtake_gem.h"
#include "overtake_limits.h"
#include "overtake_prime.h"

/*
 * Whether @client may write to @object: it created the object, or got it through a dma-buf that can
 * be written to.  May sleep.
 */
bool overtake_bo_may_write(const struct overtake_client *client, struct drm_gem_object *object)
{
	bool may;

	if (object->import_attach)
		return object->import_attach->dmabuf->file->f_mode & FMODE_WRITE;
	if (overtake_bo_of(object)->client == client)
		return true;
	mutex_lock(&object->dev->object_name_lock); /* keeps object->dma_buf */
	may = object->dma_buf && (object->dma_buf->file->f_mode & FMODE_WRITE);
	mutex_unlock(&object->dev->object_name_lock);
	return may;
}

/* Returns the buffer behind a dma-buf that this device exported, or NULL. */
static struct drm_gem_object *own_object(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *object;

	/* All GEM exports have this function, and a GEM object in priv. */
	if (dmabuf->ops->release != drm_gem_dmabuf_release)
		return NULL;
	object = dmabuf->priv;
	return object->dev == drm ? object : NULL;
}

/*
 * overtake_prime_import - find or create the buffer of @dmabuf, with a reference for the caller
 *
 * Cores need no DMA mapping, and this asks for none (attaching makes one if the exporter moves its
 * buffers): any memory for which the exporter has CPU addresses will do.
 */
struct drm_gem_object *overtake_prime_import(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *object = own_object(drm, dmabuf);
	struct dma_buf_attachment *attach;

	if (object) {
		drm_gem_object_get(object);
		return object;
	}
	if (dmabuf->size > OVERTAKE_MAX_BUFFER_BYTES)
		return ERR_PTR(-E2BIG);
	/* The exporter guarantees only the size of the dma-buf, and a mapping has whole pages. */
	if (!PAGE_ALIGNED(dmabuf->size))
		return ERR_PTR(-EINVAL);
	attach = dma_buf_attach(dmabuf, drm->dev);
	if (IS_ERR(attach))
		return ERR_CAST(attach);
	object = drm_gem_shmem_prime_import_sg_table(drm, attach, NULL);
	if (IS_ERR(object)) {
		dma_buf_detach(dmabuf, attach);
		return object;
	}
	get_dma_buf(dmabuf); /* put with the attachment */
	object->import_attach = attach;
	object->resv = dmabuf->resv;
	return object;
}

/*
 * Charges an import once, to the file that it belongs to.  Its handle is known to the client's
 * other threads already: MAP refuses an import that is not charged.
 */
static int charge_import(struct overtake_client *client, struct drm_gem_object *object)
{
	struct overtake_bo *bo = overtake_bo_of(object);
	int ret;

	guard(mutex)(&client->lock);
	if (!object->import_attach || bo->client)
		return 0;
	ret = overtake_client_charge_buffer(client, object->size);
	if (ret)
		return ret;
	overtake_client_get(client);
	smp_store_release(&bo->client, client); /* for overtake_bo_is_charged() */
	return 0;
}

int overtake_prime_fd_to_handle(struct drm_device *drm, struct drm_file *file, int fd, u32 *handle)
{
	struct drm_gem_object *object;
	int ret;

	ret = drm_gem_prime_fd_to_handle(drm, file, fd, handle);
	if (ret == -E2BIG)
		return overtake_refuse(file->driver_priv, OVERTAKE_LIMIT_BUFFER_BYTES, ret);
	if (ret)
		return ret;
	object = drm_gem_object_lookup(file, *handle);
	if (!object)
		return -ENOENT; /* another thread closed it already */
	ret = charge_import(file->driver_priv, object);
	if (ret)
		drm_gem_handle_delete(file, *handle);
	drm_gem_object_put(object);
	return ret;
}

/* overtake_import_map - get CPU addresses of an import; undone by overtake_import_unmap() */
int overtake_import_map(struct drm_gem_object *object, struct iosys_map *map)
{
	struct dma_buf *dmabuf = object->import_attach->dmabuf;
	int ret;

	ret = dma_buf_vmap_unlocked(dmabuf, map);
	if (ret)
		return ret;
	if (!map->is_iomem)
		return 0;
	dma_buf_vunmap_unlocked(dmabuf, map);
	return -EOPNOTSUPP; /* cores use ordinary loads and stores */
}

void overtake_import_unmap(struct drm_gem_object *object, struct iosys_map *map)
{
	dma_buf_vunmap_unlocked(object->import_attach->dmabuf, map);
}

/*
 * overtake_import_begin_access - a job is going to read or write the memory, by CPU
 *
 * This calls the exporter directly: dma_buf_begin_cpu_access() would also wait for all fences of
 * the buffer.  The job waits without a thread (overtake_sync.c), and not for fences of its device.
 * Access is for both directions, also if a job only reads: exporters may map a buffer for DMA once,
 * for the direction of the first call (udmabuf), and the next job may write.  May sleep; no lock is
 * held.
 */
int overtake_import_begin_access(struct drm_gem_object *object)
{
	struct dma_buf *dmabuf = object->import_attach->dmabuf;

	might_sleep();
	return dmabuf->ops->begin_cpu_access ?
	       dmabuf->ops->begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL) : 0;
}

/* The job has ended.  May sleep, so it is called where no fence waits for it. */
void overtake_import_end_access(struct drm_gem_object *object)
{
	dma_buf_end_cpu_access(object->import_attach->dmabuf, DMA_BIDIRECTIONAL);
}
