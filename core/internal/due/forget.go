package due

import "github.com/berth-sched/berth/core/internal/record"

// Forget forgets a bucket that is empty.
func (d *Due) Forget(b *record.Bucket) {
	if b.Due == 0 {
		return
	}
	s := d.buckets[b.Due]
	d.leaveHeads(s)
	d.unnoteHead(s)
	d.unnoteBids(s)
	for i := range s.bidders {
		d.removeBidder(&s.bidders[i])
	}
	d.vacant = append(d.vacant, b.Due)
	s.bucket, b.Due = nil, 0
}
