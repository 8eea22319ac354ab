// Package etcd keeps the log of a core in etcd, and replicas of the core on several machines: one
// leads, and the others follow its log as it grows, so that each of them can lead within seconds.
// No machine is one too many to lose: neither one of the replicas, nor a minority of etcd's.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: tls})
//	...
//	member, err := etcd.New(etcd.Options{
//		Client: client, Prefix: "/berth/pool-a", Name: "https://" + host + ":8443",
//		Journal: journal.Options{Config: config, Lost: cleanUp},
//		Serve:   serve,
//	})
//	...
//	err = member.Run(ctx)
//
// Serve is the loop of an orchestrator, as the comment of [journal.Durable] has it, and runs only
// where this member leads:
//
//	func serve(ctx context.Context, l *etcd.Leader) error {
//		tell(l.Apply, whatRuns()) // what the agents say that runs, or has ended
//		for {
//			orders, err := l.Schedule(ctx)
//			if err != nil {
//				return err // fenced, or uncertain: nothing was let out
//			}
//			acknowledge()
//			send(orders, l.Term)
//			select {
//			case <-ctx.Done():
//				return ctx.Err()
//			case event := <-events:
//				...
//			case <-due(l.Wait()):
//			}
//		}
//	}
//
// # What is safe, and why
//
// A log has one writer. Each append is a transaction that etcd does only if the leader's key in
// the election exists still, with the revision at which it was created, and if the head of the
// log is where the writer left it. Clocks and timeouts have no part in that: a leader that was
// paused, or cut off, or that believes that it leads, cannot write. What it cannot write it does
// not order: [journal.Durable] lets orders out only when their pass is in the log.
//
// A leader may sleep between the write and the sending, though, and send when the order is long
// over. So orders go out with the [Leader.Term], and an agent remembers the highest term that it
// has seen and refuses lower ones; and it carries out no order twice, as after a take-over the new
// leader gives again what is outstanding (duty 7 of package berth). The example does both.
//
// Members come to the same state, and this is compared all the time: each pass has in the log the
// number and the sum of its orders; each snapshot has the sum of the state; and each new leader
// writes the sum of the state that it begins with, before anything else. A member that comes to
// another one stops with a [*journal.Error] that names the record.
//
// # Pools
//
// A core decides for a pool of nodes. Pools that share nothing each have a prefix, and so a log
// and an election of their own: [Pools] runs a member for each in one process, and spreads the
// leaders over the processes. What dies is replaced pool by pool. A job goes to one pool by a rule,
// and is in the log of that pool alone: [Router] has the rule for jobs that may overflow.
package etcd
