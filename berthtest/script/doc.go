// Package script runs scripts: readable tests of a scheduling core, in which
// what the core answers stands below each command.
//
//	# A gang of two nodes starts when both are free.
//	node n1..n2
//	queue research
//	job train queue=research members=2 gpus=8
//	pass
//	  #1 bind train/0 incarnation 1 (fits): n1[0-7] n2[0-7] by 2m0s
//	report 1 done
//	expect train running on=n1|n2
//
// A command is one line. Lines that start with # are comments. Lines that start
// with two spaces are what the command above them printed; Run writes them anew,
// and a test compares (see Files). A script is a transcript, so the expect
// command is for what must not change even when transcripts are rewritten.
//
// # Values
//
// A list is joined by |. Ranges of names are written n1..n8. Times and spans are
// those of time.ParseDuration; the clock starts at 0s. Memory is 512MiB, 80GiB
// or 2TiB, host CPU a number of cores (0.5), a part of a GPU thousandths. A
// member is named workers[2], or [2] in the only group of a job; a replica train
// or web/3; a place n1[0-7], n1[3] or, for the host alone, n1. In what is
// printed n1[3:300] is 300 thousandths of GPU 3, n1[3:1g.10gb@2:1] an instance of
// it, which is written the same way, and 5:n1[0] says that the place is that of
// member 5 where the numbers do not just go up from 0. Words after because are the
// reason that goes with an event.
//
// # The core and the clock
//
//	config levels=spine,leaf KEY=...   makes the core; optional, and then the first command.
//	                                   Keys of policy, and limit-nodes, limit-queues,
//	                                   limit-replicas, limit-members, limit-surplus-members,
//	                                   limit-groups, limit-reservations; of the fabric
//	                                   island=rack, rail=leaf,
//	                                   oversubscription=leaf:2000|spine:3000
//	                                   and resources=scratch:GiB|rdma/vf: names and units of what
//	                                   is declared
//	advance 30s                        moves the clock; nothing else does
//	wake                               moves it to the instant that the core asks for
//	pass                               runs a pass and prints its orders
//	snapshot-restore                   goes on with a core restored from a snapshot
//	restore BYTES                      tries whether bytes are a snapshot; the core stays
//
// # Events
//
//	node NAMES at=spine-0/leaf-0 KEY=...   a node with 8 H100-80GB, 112 cores and 2 TiB unless
//	                                       gpus, product, gpu-memory, compute, nvlink=yes, cpu,
//	                                       memory, pool, labels=k:v|k:v, taints=k:v|k, failed=0|3,
//	                                       nics=400|400 in Gbit/s, resources=scratch:1000|rdma/vf:8
//	                                       say otherwise;
//	                                       its MIG table and partitioning: table=H100-80GB, max-shares,
//	                                       mode=whole|mig|mps|time-slice,
//	                                       instances=3g.40gb@0:4|3g.40gb@4:4
//	update NAME KEY=...                    the same for a node that is there
//	cordon NAME, uncordon NAME, lose NAME
//	drain NAME deadline=1h                 its jobs move away, by a deadline or when they can
//	fail-gpu NAME INDEX, repair-gpu NAME INDEX
//	xid NAME INDEX 79                      a fault that NVIDIA's driver reported about a GPU
//	fabric s1/l2 left=500                  what a domain has left of its bandwidth, in thousandths
//	partition-gpu NAME INDEX mode= instances=
//	                                       the partitioning that a GPU is found to have
//	table NAME like=H100-80GB without=1g.20gb|7g.80gb
//	                                       the MIG table of a product: that of another, but for profiles
//	queue NAME parent= guarantee=gpu:8 limit=gpu:16|H100-80GB:8|cpu:100|memory:1TiB|resource:scratch:9
//	           weight= lending= borrowing=
//	           guarantee-share=gpu:300 limit-share=gpu:500|H100-80GB:1000
//	                                       in thousandths of what the queue above is guaranteed, or
//	                                       of what the fleet has
//	remove-queue NAME
//	reserve ID from=10h until=12h queue= nodes=n1..n4|n9 because maintenance
//	                                       instead of nodes: domain=spine-0/leaf-1, or gpus=64
//	                                       with required=, pool=, product=, labels=,
//	                                       tolerates=; every=24h: it comes back;
//	                                       clear=yes: what else runs there leaves before it begins
//	unreserve ID
//	job NAMES queue= KEY=...               tenant, user, class, priority, timeout, runtime, max-runtime,
//	                                       max-requeues=member-failed:3|preempted:9,
//	                                       non-preemptible=yes, program, required, preferred, exclusive=rack, same-labels=driver|cuda,
//	                                       begin=8h, after=prep|check:any, array=sweep:4,
//	                                       part=decode:rack:4 once a part, of which the level and
//	                                       the copies may be left out, and apart=rack;
//	                                       or=:2:gpus=8,product=A100,required=rack once an
//	                                       alternative, or or=driver:1:cpu=4+workers:8:gpus=1 if it
//	                                       has several groups, with part=decode:rack:4 at the first
//	                                       group of a part; and choose=soonest;
//	                                       those of one group; or
//	                                       group=NAME:MEMBERS:KEY=VALUE,KEY=VALUE once a group
//	                                       A group: members, min, gpus, share, share-memory, mode,
//	                                       mig, min-sms, min-instance-memory, nvlink=yes, cpu,
//	                                       memory, pool, product, labels, mix-products=yes,
//	                                       tolerates=k:v|k (of any value)|* (every taint),
//	                                       min-gpu-memory, min-compute, segment=8:rack|2:node (the
//	                                       widest first), balance=rack, spread=rack, max-skew,
//	                                       rail-aligned=yes, and required, preferred, part within
//	                                       group=
//	                                       lend=8GiB lend-within=1m: its GPUs are lent while they
//	                                       are idle; borrow=4GiB: a GPU that is
//	service NAME replicas=3 queue= KEY=... a job of several gangs; surge=1: of which so many start
//	                                       before others leave their nodes
//	observe NAME KEY=... running=n1[0-7]|n2[0-7] incarnation=1 started=0s
//	                                       a job that runs already; running=2:n1[0] for replica 2;
//	                                       alternative=1 for what it runs as;
//	                                       - for a member that is not there
//	scale NAME 5
//	cancel NAMES
//	finish NAMES incarnation= failed=yes   incarnation is the present one unless told
//	member-failed NAME [0] [1] incarnation= fault=job|node
//	checkpoint NAME incarnation= at=1h     it wrote one by itself
//	activity NAME 300 incarnation=         how busy its GPUs are, in thousandths
//	report ID|all done|failed              the end of an order, or of all that are out
//	report ID partial [2] workers[3]
//	policy bind-timeout= release-timeout= release-attempts= retry-backoff=
//	       max-retry-backoff= pass-budget= locality=strict|balanced|loose stretch=2 reserve-after=
//	       reserved-gangs= reservation-timeout= assumed-runtime= runtime-samples=32
//	       backfill-budget= half-life=
//	       preemption=on|reclaim|off min-run= checkpoint-timeout= max-ratio=
//	       max-min-run=24h|off queue-min-run=QUEUE:1h|QUEUE:0s
//	       guarantee-within=24h|off stop-unsaved=yes
//	       grace=batch:10m|interactive:1m cooldown=5m|off rate=3/1h queue-rate=1/1h
//	       ignore-cost=yes gain-turn=10m|off gain-wait=1.5 gain-interactive=1h|off
//	       gain-latency-critical=24h|off gain-queueing=5m|off
//	       defragmentation=propose|on|off max-moves=8
//	       stop-over-limit=yes over-limit-after=10m
//	       caps=research:jobs:10|research:user-jobs:2|research:user-gpus:8
//	       budgets=research:100:0s..24h:stop|team:2.5    GPU-hours, between two instants
//	       quiet=50|off quiet-for=1m|off
//	       idle-quiet=50|off idle-for=2h idle-grace=10m|off idle-action=warn|shrink|stop
//	       losses=3 within=24h quarantine=1h burn-in=30m
//	       hot-spares=POOL:20|POOL:10      of the nodes of a pool, in thousandths
//	       repartition-timeout= geometry=POOL:fixed|adaptive|per-claim:KEY=VALUE,KEY=VALUE
//	                                       once a pool: cost, interval, per-hour, hold-limit (a
//	                                       span or off), layout=3g.40gb|3g.40gb
//	json {"nodeLost":{"node":"n7"}}        any event as it stands in a journal
//
// # Questions
//
//	explain NAME      where each replica stands, and why it waits; a line for each level that
//	                  was tried, the expected start, and its reservation
//	bandwidth NAME    what its placement is expected to give each GPU
//	blast NODE INDEX  the blast radius of a GPU and of each process there; without
//	                  arguments the GPU with the worst one
//	reservations      what is set aside, in advance and for gangs that wait
//	outstanding       the orders that are out
//	fleet, totals     the fleet report
//	draining          the nodes that are being drained, and the replicas left there
//	health            the hot spares of each pool, and the nodes in quarantine or burn-in
//	what-if EVENT; EVENT ...
//	                  the orders of a pass after further events, which do not happen
//	start-plan NAME; EVENT; EVENT ...
//	                  what would start it after these events, which do not happen
//	diff nodes=n1|n2 sees=train/0[1]@n2[0-7] sees=web/3#2[0]@n1[4]
//	                  the differences between the core and a world; #2 is incarnation 2 (1 unless told)
//	expect NAME pending|binding|running|repairing|releasing incarnation= as=1 on=n1|n2 reason=quota start=1h
//	                  at=n1[0:1g.10gb@2:1]|n2[3], the place of each member; held=n1[0], the GPU
//	                  that is held for it
//	expect NAME gone
//	expect reserved NAME nodes=n1..n4 from=1h until=2h
//	expect reserved NAME not
//	                  a reservation by its ID, or that of a gang
//	expect guaranteed QUEUE 153
//	                  the GPUs that a queue is guaranteed now
//	expect orders 3   what the latest pass gave
//	expect refused stale
//	                  how the latest event was refused: invalid, unknown, duplicate, conflict,
//	                  unsupported, stale, limit or clock
//	expect attempts 4 the searches for a place since the core was made
//
// # What is checked at every step
//
// The independent checker (package check) follows every script, Core.Check tests
// the core's own indexes, a refused event must leave the snapshot as it was, a
// what-if too, every event and order must survive its JSON, a core restored from
// a snapshot must give the same orders and end in the same state as the core
// itself, and a second pass at the same instant must give no order. The
// script stops at the first violation.
package script
