/* A pretend libnvidia-ml.so.1 with two GPUs that are bridged by one NVLink. Each
 * function can be taken away, as older drivers lack some: see pretendLibrary.
 * INIT=<code> in the environment makes the session fail, LEVEL=<n> says how far apart GPUs are. Functions that the package does not call
 * are not here, so that calling one ends the process.
 *
 * The GPUs can be divided in four, and tell how with -DMIG=0 outside MIG mode, where
 * the versioned question has no answer, and with -DMIG=1 in it, where instances exist.
 * -DA30 calls them by the name of a product that package mig knows. -DUSER=4 answers
 * what takes a privileged user with that code.
 *
 * What changes a GPU, and what is not freed, is told on the standard output. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char name[32]; } pci_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned char cluster[16]; unsigned status, clique; unsigned char state; } fabric_t;
typedef struct { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned health; } fabric2_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } process_t;

typedef struct { unsigned start, size; } placement_t;
typedef struct { void *device; unsigned id, profile; placement_t at; } instance_t;
typedef struct {
	unsigned id, p2p, slices, instances, sms, copy, decoders, encoders, jpeg, ofa;
	unsigned long long memory;
} profile_t;
typedef struct {
	unsigned version, id, p2p, slices, instances, sms, copy, decoders, encoders, jpeg, ofa;
	unsigned long long memory;
	char name[96];
} profile2_t;

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
#ifndef USER
#define USER SUCCESS
#endif
#ifdef MIG
enum { TELLS = 1, DIVIDED = MIG };
#else
enum { TELLS = 0, DIVIDED = 0 };
#endif
#ifdef A30
static const char *product = "NVIDIA A30";
#else
static const char *product = "Pretend GPU";
#endif

/* Handles are small numbers: 1 and 2 the GPUs, 10 and more MIG devices, 100 and more
 * GPU instances. */
static unsigned plain(void *handle) { return (unsigned)(unsigned long)handle; }
static void *handle(unsigned n) { return (void *)(unsigned long)n; }
static unsigned number(void *d) { return plain(d) - 1; }
static int at(unsigned i, pci_t *p) { memset(p, 0, sizeof *p); p->bus = 0x41 + i; return SUCCESS; }

static int setting(const char *name, int otherwise) {
	const char *value = getenv(name);
	return value ? atoi(value) : otherwise;
}

static void say(const char *format, ...) {
	va_list of;
	va_start(of, format);
	vdprintf(1, format, of);
	va_end(of);
}

/* What was allocated and is not freed. */
static int samples, sets;

int nvmlInit_v2(void) { return setting("INIT", SUCCESS); }
int nvmlShutdown(void) {
	if (samples || sets) say("child: lib: %d samples and %d event sets are left\n", samples, sets);
	return SUCCESS;
}
int nvmlSystemGetDriverVersion(char *v, unsigned n) { strncpy(v, "999.1", n); return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(unsigned long)(i + 1); return SUCCESS; }
int nvmlDeviceGetName(void *d, char *v, unsigned n) { strncpy(v, product, n); return SUCCESS; }
int nvmlDeviceGetUUID(void *d, char *v, unsigned n) {
	if (plain(d) >= 10) snprintf(v, n, "MIG-%u", plain(d));
	else snprintf(v, n, "GPU-%u", number(d));
	return SUCCESS;
}
int nvmlDeviceGetPciInfo_v3(void *d, pci_t *p) { return at(number(d), p); }
int nvmlDeviceGetMemoryInfo_v2(void *d, memory_v2_t *m) {
	if (m->version != (sizeof *m | 2 << 24)) return 25; // of another version
	m->total = 5ull << 30, m->reserved = 1ull << 29, m->used = 1ull << 29;
	return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void *d, memory_t *m) { m->total = 5ull << 30; m->used = 1ull << 30; return SUCCESS; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 8; *b = 6; return SUCCESS; }
int nvmlDeviceGetMinorNumber(void *d, unsigned *n) { *n = 7 - number(d); return SUCCESS; }
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next) { *now = DIVIDED; *next = 1; return SUCCESS; }
int nvmlDeviceGetNvLinkState(void *d, unsigned i, int *on) { *on = i == 0; return i < 3 ? SUCCESS : INVALID_ARGUMENT; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned i, int *type) {
#ifdef SWITCHED
	*type = 2;
#else
	*type = 0;
#endif
	return SUCCESS;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned i, pci_t *p) { return at(1 - number(d), p); }
int nvmlDeviceGetGpuFabricInfo(void *d, fabric_t *f) { memset(f, 0, sizeof *f); f->state = 3; f->clique = 1; f->cluster[15] = 1; return SUCCESS; }
int nvmlDeviceGetGpuFabricInfoV(void *d, fabric2_t *f) {
	if (f->version != (sizeof *f | 2u << 24)) return 25;
	f->state = 3; f->status = 0; f->clique = 2;
	memset(f->cluster, 0, 16); f->cluster[15] = 2;
	return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, process_t *p) {
	unsigned room = *n;
	*n = 2;
	if (room < 2) return INSUFFICIENT_SIZE;
	p[0].pid = 30; p[1].pid = 20;
	p[0].gpu = DIVIDED ? 7 : ~0u; p[1].gpu = ~0u;
	return SUCCESS;
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *d, unsigned *n, process_t *p) {
#ifndef MPS
	return NOT_SUPPORTED;
#else
	if (MPS != SUCCESS) return MPS;
	unsigned room = *n;
	*n = 1;
	if (room < 1) return INSUFFICIENT_SIZE;
	p[0].pid = 25; p[0].gpu = ~0u;
	return SUCCESS;
#endif
}

/* Profiles of one, two and four slices, and what exists of them. */
static const profile2_t profiles[] = {
	{0, 14, 0, 1, 4, 14, 1, 1, 0, 0, 0, 5888, "MIG 1g.6gb"},
	{0, 5, 0, 2, 2, 28, 2, 2, 0, 0, 0, 11968, "MIG 2g.12gb"},
	{0, 0, 0, 4, 1, 56, 4, 4, 0, 1, 1, 24064, "MIG 4g.24gb"},
};
static const placement_t starts[][4] = {{{0, 1}, {1, 1}, {2, 1}, {3, 1}}, {{0, 2}, {2, 2}}, {{0, 4}}};
static instance_t existing[4] = {{0, 7, 14, {1, 1}}, {0, 1, 5, {2, 2}}, {0, 8, 14, {0, 1}}};
static unsigned instances = 3;

static int find(unsigned constant, const profile2_t **p) {
	if (constant >= 18) return INVALID_ARGUMENT;
	*p = constant < 2 ? &profiles[constant] : &profiles[2];
	return TELLS && (constant < 2 || constant == 3) ? SUCCESS : NOT_SUPPORTED;
}
int nvmlDeviceGetGpuInstanceProfileInfo(void *d, unsigned constant, profile_t *to) {
	const profile2_t *p;
	int code = find(constant, &p);
	if (code != SUCCESS) return code;
	*to = (profile_t){p->id, p->p2p, p->slices, p->instances, p->sms, p->copy, p->decoders, p->encoders, p->jpeg, p->ofa, p->memory};
	return SUCCESS;
}
int nvmlDeviceGetGpuInstanceProfileInfoV(void *d, unsigned constant, profile2_t *to) {
	const profile2_t *p;
	int code = find(constant, &p);
	if (to->version != (sizeof *to | 2u << 24)) return VERSION_MISMATCH;
	if (code != SUCCESS || !DIVIDED) return code != SUCCESS ? code : NOT_SUPPORTED;
	*to = *p;
	return SUCCESS;
}
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(void *d, unsigned profile, placement_t *to, unsigned *n) {
	unsigned i = profile == 14 ? 0 : profile == 5 ? 1 : 2;
	if (USER != SUCCESS) return USER;
	*n = i == 0 ? 4 : i == 1 ? 2 : 1;
	if (to) memcpy(to, starts[i], *n * sizeof *to);
	return SUCCESS;
}
int nvmlDeviceGetGpuInstances(void *d, unsigned profile, void **to, unsigned *n) {
	unsigned i, found = 0;
	if (USER != SUCCESS) return USER;
	for (i = 0; i < instances; i++) if (existing[i].profile == profile) to[found++] = handle(100 + i);
	*n = found;
	return SUCCESS;
}
int nvmlGpuInstanceGetInfo(void *instance, instance_t *to) { *to = existing[plain(instance) - 100]; return SUCCESS; }
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *n) { *n = 4; return SUCCESS; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **to) {
	if (i == 1) return NOT_FOUND;
	if (i == 3) return INVALID_ARGUMENT;
	*to = handle(plain(d) * 10 + i);
	return SUCCESS;
}
int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id) { *id = plain(device) % 10 == 0 ? 7 : 1; return SUCCESS; }
int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, unsigned *level) { *level = setting("LEVEL", 20); return SUCCESS; }

/* Health. */
typedef struct { unsigned id, scope; long long at, latency; unsigned type, code; union { unsigned u; char room[8]; } value; } field_t;
#ifndef RECOVERY
#define RECOVERY 4
#endif
#ifndef RECOVERY_CODE
#define RECOVERY_CODE SUCCESS
#endif
int nvmlDeviceGetFieldValues(void *d, int n, field_t *f) {
	f->code = f->id == 230 ? RECOVERY_CODE : INVALID_ARGUMENT;
	f->value.u = RECOVERY;
	return SUCCESS;
}
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *n) { *n = type == 1 ? 2 + 3 * counter : 99; return SUCCESS; }
int nvmlDeviceGetRemappedRows(void *d, unsigned *a, unsigned *b, unsigned *pending, unsigned *failed) { *a = 1; *b = 2; *pending = 1; *failed = 0; return SUCCESS; }
int nvmlDeviceGetNvLinkErrorCounter(void *d, unsigned i, int counter, unsigned long long *n) {
#ifdef NO_COUNTERS
	return NOT_SUPPORTED;
#endif
	*n = 10 << counter;
	return counter == 2 ? NOT_SUPPORTED : SUCCESS;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *r) { *r = 4; return SUCCESS; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *r) { *r = 1; return SUCCESS; }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c) { *c = 45; return SUCCESS; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 123456; return SUCCESS; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *percent) { percent[0] = 37; percent[1] = 5; return SUCCESS; }

/* How busy processes were: at 100, before anybody asked, and then up to 200; with something that was
 * left where there is no sample. */
typedef struct { unsigned pid; unsigned long long at; unsigned sm, memory, encoder, decoder; } use_t;
int nvmlDeviceGetProcessUtilization(void *d, use_t *p, unsigned *n, unsigned long long since) {
	static const use_t first[] = {{30, 100, 90}}, then[] = {{30, 150, 40}, {20, 200, 7}, {30, 200, 12}, {9, 0, 77}, {8, 300, 4000}};
	if (DIVIDED) return NOT_SUPPORTED;
	if (since >= 200) return NOT_FOUND;
	unsigned room = *n, there = since ? 5 : 1;
	*n = there;
	if (!p || room < there) return INSUFFICIENT_SIZE;
#ifdef PROCESSES_COME
	*n = there + 1;
	return INSUFFICIENT_SIZE;
#endif
	memcpy(p, since ? then : first, there * sizeof *p);
	return SUCCESS;
}

/* Counters. A sample is a number from 1000 that no other has had. */
typedef struct { unsigned id, code; double value; const char *name, *long_name, *unit; } metric_t;
typedef struct { unsigned version, n; void *from, *to; metric_t metrics[1]; } metrics_t;
#ifndef GPM
#define GPM 1
#endif
#ifndef ACTIVE
#define ACTIVE 42.26
#endif
static unsigned numbers;
int nvmlGpmQueryDeviceSupport(void *d, unsigned *support) { if (support[0] != 1) return VERSION_MISMATCH; support[1] = GPM; return SUCCESS; }
int nvmlGpmSampleAlloc(void **sample) { samples++; *sample = handle(1000 + numbers++); return SUCCESS; }
int nvmlGpmSampleFree(void *sample) { samples--; return SUCCESS; }
int nvmlGpmSampleGet(void *d, void *sample) {
#ifdef GPM_DENIED
	return 4;
#endif
	return SUCCESS;
}
int nvmlGpmMigSampleGet(void *d, unsigned gpu, void *sample) { return gpu == 7 || gpu == 1 ? SUCCESS : INVALID_ARGUMENT; }
int nvmlGpmMetricsGet(metrics_t *m) {
	if (m->version != 1 || m->n != 1 || m->metrics[0].id != 2 || !m->from || m->from == m->to) return INVALID_ARGUMENT;
	m->metrics[0].value = ACTIVE;
	m->metrics[0].code = SUCCESS;
	return SUCCESS;
}

/* Events: an Xid, something else, and an Xid of a GPU that nobody asked about. */
typedef struct { void *device; unsigned long long type, data; unsigned gpu, compute; } event_t;
static const event_t events[] = {{(void *)2, 8, 79, ~0u, ~0u}, {(void *)1, 32768, 1, ~0u, ~0u}, {(void *)9, 8, 31, ~0u, ~0u}};
static unsigned told;
#ifndef EVENTS
#define EVENTS (8 | 1 | 32768)
#endif
int nvmlEventSetCreate(void **set) { sets++; *set = handle(300); return SUCCESS; }
int nvmlEventSetFree(void *set) { sets--; return SUCCESS; }
int nvmlDeviceGetSupportedEventTypes(void *d, unsigned long long *types) { *types = EVENTS; return SUCCESS; }
int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set) { return types == (EVENTS & ~1) ? SUCCESS : INVALID_ARGUMENT; }
int nvmlEventSetWait_v2(void *set, event_t *e, unsigned timeout) {
#ifdef WAIT
	return WAIT;
#endif
	if (told < 3) { *e = events[told++]; return SUCCESS; }
	usleep(timeout * 1000);
	return 10;
}

/* Changes. Compute instances are the numbers from 400. */
typedef struct { unsigned id, slices, instances, sms, copy, decoders, encoders, jpeg, ofa; } compute_t;
static const compute_t computes[] = {{0, 1, 1, 16}, {1, 2, 1, 28}, {0}, {0}, {0}, {0}, {0}, {7, 1, 1, 26}};
int nvmlDeviceCreateGpuInstanceWithPlacement(void *d, unsigned profile, const placement_t *at, void **instance) {
	if (USER != SUCCESS) return USER;
	if (at->start == 2) return 23;
	say("child: lib: GPU instance of profile %u at %u:%u\n", profile, at->start, at->size);
	existing[instances] = (instance_t){0, 9, profile, *at};
	*instance = handle(100 + instances++);
	return SUCCESS;
}
int nvmlDeviceGetGpuInstanceById(void *d, unsigned id, void **instance) {
	unsigned i;
	for (i = 0; i < instances; i++) if (existing[i].id == id) { *instance = handle(100 + i); return SUCCESS; }
	return NOT_FOUND;
}
int nvmlGpuInstanceDestroy(void *instance) { say("child: lib: no instance %u any more\n", existing[plain(instance) - 100].id); return SUCCESS; }
int nvmlGpuInstanceGetComputeInstanceProfileInfo(void *instance, unsigned constant, unsigned engine, compute_t *to) {
	unsigned two = existing[plain(instance) - 100].profile == 5;
	if (constant > 8 || engine != 0) return INVALID_ARGUMENT;
#ifdef NO_COMPUTES
	return NOT_SUPPORTED;
#endif
	if (constant > 7 || computes[constant].slices == 0 || computes[constant].slices > 1 + two) return NOT_SUPPORTED;
	*to = computes[constant];
	return SUCCESS;
}
int nvmlGpuInstanceCreateComputeInstance(void *instance, unsigned profile, void **compute) {
	say("child: lib: compute instance of profile %u on %u\n", profile, existing[plain(instance) - 100].id);
	*compute = handle(400 + profile);
	return SUCCESS;
}
int nvmlGpuInstanceGetComputeInstances(void *instance, unsigned profile, void **to, unsigned *n) {
	*n = profile == 7;
	if (*n) to[0] = handle(400 + profile);
	return SUCCESS;
}
int nvmlComputeInstanceDestroy(void *compute) {
#ifdef BUSY
	return 19;
#endif
	say("child: lib: no compute instance %u any more\n", plain(compute) - 400);
	return SUCCESS;
}
