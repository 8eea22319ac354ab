// Package carry carries out orders of a core on a Kubernetes cluster: a Bind as the plan that
// package translate makes of it, a Release as the deletion of pods, a request for a checkpoint as
// an annotation.
//
// # A Bind, write by write
//
//  1. The intent, on the PodGroup or the first pod: which pod goes to which node.
//  2. Each claim: the finalizer and the mark of the job, then the allocation, with its node, its
//     instant, and the pod that it is reserved for. The API server checks none of this.
//  3. When all claims are allocated, each pod: narrowed to its node, marked, and without the gate,
//     in one patch. The scheduler of the cluster binds it to where its claims are.
//
// Each write names the UID of its object and its resourceVersion, so that a write of a process that
// does not lead any more fails where the new one has written. Each is repeated only after a look at
// the object, and does nothing that is done. So a Bind may be carried out again from any point:
// what was begun and not all allocated is undone ([Carrier.Undo]), and what was allocated goes on
// with step 3.
//
// Before step 3 a failure takes all of it back, and nothing has started. In step 3 a pod that is
// gone is reported as a member that failed; the others go on.
//
// # What is never done
//
// No pod is deleted but by a Release, which names members that this program placed. A pod at its
// gate is not deleted even then: its claims are deallocated, and it waits.
package carry
