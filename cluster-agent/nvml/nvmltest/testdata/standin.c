/* A stand-in for the driver's library, for tests: devices that draw what they are
 * asked to, up to their limit, and count the energy of it.
 *
 * The world is a file, named by STANDIN_WORLD, that all processes of a test map:
 * limits outlive the process that set them, as they do in a driver. Tests write
 * demand, utilisation, faults and the clock into it; time passes when they say so,
 * or, with `real` set, by the clock. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, UNSUPPORTED = 3, FORBIDDEN = 4, ABSENT = 6, NO_DRIVER = 9, LOST = 15 };
enum { GPUS = 4 };

struct gpu {
	uint32_t least, most, usual, limit; /* mW */
	uint32_t demand;                    /* mW, without a limit */
	uint32_t util, memory_util;         /* per cent */
	uint32_t clock, locked, celsius;    /* MHz, MHz or 0 */
	uint32_t lost, old, mig;            /* faults: off the bus; no energy counter */
	uint32_t sets;                      /* how often the limit was set */
	uint32_t least_clock, memory_locked; /* MHz; MHz or 0 */
	uint64_t used;                      /* bytes */
	double millijoules, at;             /* s */
};

struct world {
	uint32_t count, forbidden, absent, real;
	double now; /* s */
	struct gpu gpu[GPUS];
};

static struct world *w;
static int open_count;

static double now(void)
{
	struct timespec t;

	if (!w->real)
		return w->now;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint32_t draw(const struct gpu *g)
{
	uint32_t d = g->demand;

	if (g->locked && g->clock)
		d = (uint32_t)((uint64_t)d * g->locked / g->clock);
	return d < g->limit ? d : g->limit;
}

static void pass(struct gpu *g)
{
	double t = now();

	if (t > g->at)
		g->millijoules += draw(g) * (t - g->at);
	g->at = t;
}

static int find(void *h, struct gpu **g)
{
	uintptr_t i = (uintptr_t)h;

	if (!open_count)
		return UNINITIALIZED;
	if (i < 1 || i > w->count)
		return INVALID;
	*g = &w->gpu[i - 1];
	if ((*g)->lost)
		return LOST;
	pass(*g);
	return OK;
}

#define DEVICE struct gpu *g; int r = find(h, &g); if (r) return r

int nvmlInit_v2(void)
{
	const char *path = getenv("STANDIN_WORLD");
	int fd;

	if (!open_count) { /* once loaded a library stays; each test has a world of its own */
		if (w)
			munmap(w, sizeof *w);
		w = 0;
		if (!path || (fd = open(path, O_RDWR)) < 0)
			return NO_DRIVER;
		w = mmap(0, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		if (w == MAP_FAILED) {
			w = 0;
			return NO_DRIVER;
		}
	}
	if (w->absent)
		return NO_DRIVER;
	open_count++;
	return OK;
}

int nvmlShutdown(void) { return open_count ? (open_count--, OK) : UNINITIALIZED; }
const char *nvmlErrorString(int r) { return r ? "an error" : "success"; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { snprintf(s, n, "stand-in 1"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = w->count; return open_count ? OK : UNINITIALIZED; }

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h)
{
	if (i >= w->count)
		return INVALID;
	if (w->gpu[i].lost)
		return LOST;
	*h = (void *)(uintptr_t)(i + 1);
	return OK;
}

int nvmlDeviceGetName(void *h, char *s, unsigned n) { DEVICE; snprintf(s, n, "Stand-in GPU 700W"); return OK; }
int nvmlDeviceGetUUID(void *h, char *s, unsigned n)
{
	if ((uintptr_t)h > GPUS) {
		snprintf(s, n, "MIG-%d", (int)(uintptr_t)h);
		return OK;
	}
	DEVICE;
	snprintf(s, n, "GPU-%d", (int)(uintptr_t)h - 1);
	return OK;
}
int nvmlDeviceGetMemoryInfo(void *h, uint64_t m[3]) { DEVICE; m[0] = 80ull << 30; m[2] = g->used; m[1] = m[0] - m[2]; return OK; }
int nvmlDeviceGetPowerUsage(void *h, unsigned *v) { DEVICE; *v = draw(g); return OK; }
int nvmlDeviceGetTotalEnergyConsumption(void *h, unsigned long long *v)
{
	DEVICE;
	if (g->old)
		return UNSUPPORTED;
	*v = (unsigned long long)g->millijoules;
	return OK;
}
int nvmlDeviceGetUtilizationRates(void *h, unsigned u[2]) { DEVICE; u[0] = g->util; u[1] = g->memory_util; return OK; }
int nvmlDeviceGetTemperature(void *h, int sensor, unsigned *v) { DEVICE; (void)sensor; *v = g->celsius; return OK; }
int nvmlDeviceGetClockInfo(void *h, int kind, unsigned *v) { DEVICE; *v = kind == 1 && g->locked ? g->locked : g->clock; return OK; }
int nvmlDeviceGetPowerManagementLimitConstraints(void *h, unsigned *lo, unsigned *hi) { DEVICE; *lo = g->least; *hi = g->most; return OK; }
int nvmlDeviceGetPowerManagementDefaultLimit(void *h, unsigned *v) { DEVICE; *v = g->usual; return OK; }
int nvmlDeviceGetPowerManagementLimit(void *h, unsigned *v) { DEVICE; *v = g->limit; return OK; }

int nvmlDeviceSetPowerManagementLimit(void *h, unsigned v)
{
	DEVICE;
	if (w->forbidden)
		return FORBIDDEN;
	if (v < g->least || v > g->most)
		return INVALID;
	g->limit = v;
	g->sets++;
	return OK;
}

int nvmlDeviceSetGpuLockedClocks(void *h, unsigned lo, unsigned hi)
{
	DEVICE;
	(void)lo;
	if (w->forbidden)
		return FORBIDDEN;
	g->locked = hi;
	return OK;
}

int nvmlDeviceResetGpuLockedClocks(void *h) { DEVICE; if (w->forbidden) return FORBIDDEN; g->locked = 0; return OK; }

int nvmlDeviceSetMemoryLockedClocks(void *h, unsigned lo, unsigned hi)
{
	DEVICE;
	(void)lo;
	if (w->forbidden)
		return FORBIDDEN;
	g->memory_locked = hi;
	return OK;
}

int nvmlDeviceResetMemoryLockedClocks(void *h) { DEVICE; if (w->forbidden) return FORBIDDEN; g->memory_locked = 0; return OK; }

/* States 0 and 8: the second has the lower clocks. */
int nvmlDeviceGetSupportedPerformanceStates(void *h, int *states, unsigned size)
{
	unsigned i;

	DEVICE;
	(void)g;
	for (i = 0; i < size / sizeof *states; i++)
		states[i] = i == 0 ? 0 : i == 1 ? 8 : 32;
	return OK;
}

int nvmlDeviceGetMinMaxClockOfPState(void *h, int kind, int state, unsigned *lo, unsigned *hi)
{
	DEVICE;
	if (!g->least_clock)
		return UNSUPPORTED;
	*lo = state == 8 ? g->least_clock : 2 * g->least_clock;
	*hi = state == 8 ? g->clock / 2 : g->clock;
	if (kind == 2) /* the memory's: one for each state */
		*lo = *hi = state == 8 ? 405 : 2619;
	return OK;
}

struct memory { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *h, struct memory *m)
{
	DEVICE;
	m->total = 80ull << 30;
	m->reserved = 1ull << 30;
	m->used = g->used;
	m->free = m->total - m->reserved - m->used;
	return OK;
}
int nvmlDeviceGetMigMode(void *h, unsigned *now_on, unsigned *next) { DEVICE; *now_on = *next = g->mig != 0; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *n) { DEVICE; (void)g; *n = 7; return OK; }

int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned i, void **out)
{
	DEVICE;
	if (i >= g->mig)
		return ABSENT;
	*out = (void *)(uintptr_t)(100 * (uintptr_t)h + i);
	return OK;
}

struct attributes { unsigned sms, ce, dec, enc, jpeg, ofa, slices, compute; unsigned long long memory; };
int nvmlDeviceGetAttributes_v2(void *h, struct attributes *a) { (void)h; memset(a, 0, sizeof *a); a->slices = 3; a->memory = 40 << 10; return OK; }
