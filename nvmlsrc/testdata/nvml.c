/* A pretend libnvidia-ml.so.1 with two GPUs that are bridged by one NVLink. Each
 * function can be left out with -DNO_<name>, as older drivers lack some, and
 * -DINIT=<code> makes the session fail. Functions that the package does not call
 * are not here, so that calling one ends the process. */
#include <string.h>

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char name[32]; } pci_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned char cluster[16]; unsigned status, clique; unsigned char state; } fabric_t;
typedef struct { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned health; } fabric2_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } process_t;

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };
#ifndef INIT
#define INIT SUCCESS
#endif

static unsigned number(void *d) { return (unsigned)(unsigned long)d - 1; }
static int at(unsigned i, pci_t *p) { memset(p, 0, sizeof *p); p->bus = 0x41 + i; return SUCCESS; }

#ifndef NO_nvmlInit_v2
int nvmlInit_v2(void) { return INIT; }
#endif
#ifndef NO_nvmlShutdown
int nvmlShutdown(void) { return SUCCESS; }
#endif
#ifndef NO_nvmlSystemGetDriverVersion
int nvmlSystemGetDriverVersion(char *v, unsigned n) { strncpy(v, "999.1", n); return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetCount_v2
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetHandleByIndex_v2
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(unsigned long)(i + 1); return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetName
int nvmlDeviceGetName(void *d, char *v, unsigned n) { strncpy(v, "Pretend GPU", n); return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetUUID
int nvmlDeviceGetUUID(void *d, char *v, unsigned n) { strncpy(v, number(d) ? "GPU-1" : "GPU-0", n); return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetPciInfo_v3
int nvmlDeviceGetPciInfo_v3(void *d, pci_t *p) { return at(number(d), p); }
#endif
#ifndef NO_nvmlDeviceGetMemoryInfo
int nvmlDeviceGetMemoryInfo(void *d, memory_t *m) { m->total = 5ull << 30; return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetCudaComputeCapability
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 8; *b = 6; return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetMinorNumber
int nvmlDeviceGetMinorNumber(void *d, unsigned *n) { *n = 7 - number(d); return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetMigMode
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next) { *now = 0; *next = 1; return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetNvLinkState
int nvmlDeviceGetNvLinkState(void *d, unsigned i, int *on) { *on = i == 0; return i < 3 ? SUCCESS : INVALID_ARGUMENT; }
#endif
#ifndef NO_nvmlDeviceGetNvLinkRemoteDeviceType
int nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned i, int *type) {
#ifdef SWITCHED
	*type = 2;
#else
	*type = 0;
#endif
	return SUCCESS;
}
#endif
#ifndef NO_nvmlDeviceGetNvLinkRemotePciInfo_v2
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned i, pci_t *p) { return at(1 - number(d), p); }
#endif
#ifndef NO_nvmlDeviceGetGpuFabricInfo
int nvmlDeviceGetGpuFabricInfo(void *d, fabric_t *f) { memset(f, 0, sizeof *f); f->state = 3; f->clique = 1; f->cluster[15] = 1; return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetGpuFabricInfoV
int nvmlDeviceGetGpuFabricInfoV(void *d, fabric2_t *f) {
	if (f->version != (sizeof *f | 2u << 24)) return 25;
	f->state = 3; f->status = 0; f->clique = 2;
	memset(f->cluster, 0, 16); f->cluster[15] = 2;
	return SUCCESS;
}
#endif
#ifndef NO_nvmlDeviceGetComputeRunningProcesses_v3
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, process_t *p) {
	unsigned room = *n;
	*n = 2;
	if (room < 2) return INSUFFICIENT_SIZE;
	p[0].pid = 30; p[1].pid = 20;
	return SUCCESS;
}
#endif
