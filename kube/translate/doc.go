// Package translate tells a core of package berth what a Kubernetes cluster is like: objects of
// k8s.io/api in, events out. It has no client, no clock and no goroutine, so the same objects give
// the same events, and a session can be told again in a test.
//
//	cluster, err := translate.New(translate.Options{Levels: translate.KueueLevels()})
//	sched, err := core.New(cluster.Config())
//	...
//	cluster.Upsert(object) // each object that the first lists have
//	tell(cluster.Synced()) // from now on each change gives its events
//	...
//	tell(cluster.Upsert(changed))
//	tell(cluster.Delete(gone))
//	orders, err := sched.Schedule(now)
//	for _, order := range orders {
//		cluster.Ordered(order)
//	}
//
// # What becomes what
//
//	Node                    NodeJoined, NodeUpdated, NodeCordoned, NodeUncordoned, NodeLost
//	its taint [DrainTaint]  NodeDraining
//	ResourceSlice           the GPUs of its node, and how they divide; a taint is GPUFailed
//	DeviceTaintRule         the same taints
//	PodGroup and its pods   one JobSubmitted: a gang, a member for each pod
//	pods with the label     the same, where the cluster serves no PodGroup: [GangLabel]
//	a pod by itself         a gang of one
//	ResourceClaim           what a member asks for, and what it holds
//	a claim of others       JobObserved: its devices are taken
//	ConfigMap               QueueSet, QueueRemoved, PolicyChanged
//
// A pod is a member if it was made with the scheduling gate [Gate]. A gang is told once as many of
// its pods are there as its PodGroup says (gang.minCount), and their claims.
//
// # Levels, not edges
//
// A [Cluster] keeps the objects, and what it has told. After each change it compares the two for
// what the change may concern. So it makes no difference in which order watches of several kinds
// come: a node may come after its slices, and a pod before its claim or its PodGroup. An object
// that is older than the one that is kept is passed over.
//
// # Nothing is taken for free that is not
//
// A device is in use as long as a claim has it, whosoever that is. Where a Node object goes while
// pods of it are there, or its slices change under members, the node is cordoned and stays what it
// was until it is empty. A pod that is being deleted holds its devices until it is gone.
//
// # What is not translated is told
//
// [Cluster.Findings] lists what could not be translated, by object, field and reason: an allocation
// mode, a CEL selector of another form, a constraint between devices, affinity between pods. Such
// a pod keeps its gate and waits.
package translate
