package nvmlsrc

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
)

// watching starts a Monitor in a bubble in which time passes only while all wait.
func watching(t *testing.T, p *FakeMachine, config MonitorConfig, then func(t *testing.T, s *Source, m *Monitor)) {
	synctest.Test(t, func(t *testing.T) {
		s := p.source()
		config.Node = "n1"
		m, err := s.Monitor(config)
		require.NoError(t, err)
		then(t, s, m)
		require.NoError(t, s.Close())
		require.NoError(t, m.Close(), "closing twice is no error")
		require.Empty(t, p.watches, "nobody is told any more")
	})
}

// next takes an observation, which must have no gaps.
func next(t *testing.T, m *Monitor) Reading {
	t.Helper()
	o, err := m.Next(t.Context())
	require.NoError(t, err)
	require.Empty(t, o.Gaps)
	return o
}

// The first reading comes at once and the others one interval after the last; a machine
// that is well has nothing to tell the core.
func TestMonitorReadsAtIntervals(t *testing.T) {
	watching(t, hgx(), MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		begin := time.Now()
		for i := range 3 {
			o := next(t, m)
			require.Equal(t, time.Duration(i)*DefaultInterval, time.Since(begin))
			require.Empty(t, o.Events)
			require.Empty(t, o.Findings)
			require.Len(t, o.GPUs, 8)
		}
	})
}

// An Xid is told when it is reported, without a wait for the next reading, and together
// with those that came with it.
func TestMonitorTellsXids(t *testing.T) {
	p := hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		begin := time.Now()
		go func() {
			time.Sleep(time.Second)
			must(0, p.Raise(3, 13))
			must(0, p.Raise(5, 79))
			must(0, p.Raise(3, 0))
		}()
		o := next(t, m)
		require.Equal(t, time.Second, time.Since(begin))
		require.Equal(t, []berth.Event{
			berth.XidReported{Node: "n1", GPU: 3, Xid: 13},
			berth.XidReported{Node: "n1", GPU: 5, Xid: 79},
		}, o.Events)
	})
}

// Xids of applications leave a GPU in service, and those of hardware take it out: the core
// knows which is which, so all of them are told.
func TestXidsReachTheCore(t *testing.T) {
	p := hgx()
	node, err := inventoryOf(t, p).Node("n1")
	require.NoError(t, err)
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	require.NoError(t, sched.Apply(0, berth.NodeJoined{Node: node}))
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		for gpu, xid := range []int{13, 31, 43, 45, 68, 69, 79, 48} {
			require.NoError(t, p.Raise(gpu, xid))
		}
		for _, event := range next(t, m).Events {
			require.NoError(t, sched.Apply(0, event))
		}
	})
	report := sched.Report()
	require.EqualValues(t, 8, report.Totals.Xids)
	require.EqualValues(t, 6_000, report.GPUs.FreeMilli, "those with 79 and 48 are out of service")
}

// A driver's enumeration grows: actions after the first stop all work, and so does any that a later
// driver adds, whatever its number.
func TestUnknownRecoveryActionsCondemn(t *testing.T) {
	for number, want := range map[uint32]string{
		0: "", 1: "gpu-reset (condemned)", 2: "node-reboot (condemned)", 3: "drain-p2p (suspect)", 4: "drain-and-reset (suspect)",
		5: "recover-imex-domain (condemned)", 6: "bus-reset (condemned)", 7: "system-reboot (condemned)",
		8: "RecoveryAction(8) (condemned)", 256: "RecoveryAction(255) (condemned)", 1 << 31: "RecoveryAction(255) (condemned)",
	} {
		found := Health{Recovery: recoveryOf(number)}.findings()
		if want == "" {
			require.Empty(t, found)
			continue
		}
		require.Len(t, found, 1)
		require.Equal(t, "gpus[0]: recoveryAction: the driver says: "+want, found[0].String())
	}
}

// What a reading condemns a GPU for is told once; when it is over, how the GPU is divided
// now and that it is repaired.
func TestMonitorCondemnsAndRepairs(t *testing.T) {
	p := hgx()
	layout := must(mig.ParsePlacement("3g.40gb@4:4"))
	require.NoError(t, p.Partition(6, layout))
	cause := func(change func(*pretendState)) func() { return func() { change(&p.gpus[6].state) } }
	for name, c := range map[string]struct {
		fail, mend func()
		reason     string
	}{
		"lost": {
			func() { must(0, p.Fail(6, "fell off the bus")) }, func() { must(0, p.Repair(6)) }, "lost: fell off the bus",
		},
		"reset": {
			cause(func(s *pretendState) { s.recovery = RecoveryReset }), func() { must(0, p.Repair(6)) }, "the driver says: gpu-reset",
		},
		"reboot": {
			cause(func(s *pretendState) { s.recovery = RecoveryReboot }), func() { must(0, p.Repair(6)) }, "the driver says: node-reboot",
		},
		"rows": {
			cause(func(s *pretendState) { s.rows.Failed = true }), cause(func(s *pretendState) { s.rows.Failed = false }),
			"a row of memory is bad and there is no spare one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			must(0, p.Partition(6, layout))
			watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
				require.Empty(t, next(t, m).Events)
				c.fail()
				o := next(t, m)
				require.Equal(t, []berth.Event{berth.GPUFailed{Node: "n1", GPU: 6, Reason: c.reason}}, o.Events)
				require.Len(t, o.Findings, 1)
				require.True(t, o.Findings[0].Condemns)
				require.Empty(t, next(t, m).Events, "once")
				c.mend()
				want := berth.GPUPartitioned{Node: "n1", GPU: 6, Mode: berth.GPUModeMIG}
				if name == "rows" {
					want.Instances = []mig.Placement{layout}
				}
				require.Equal(t, []berth.Event{want, berth.GPURepaired{Node: "n1", GPU: 6}}, next(t, m).Events)
				require.Empty(t, next(t, m).Events)
			})
		})
	}
}

// A GPU that an Xid condemned comes back by itself only if readings saw what was wrong,
// and saw it go.
func TestRepairAfterXid(t *testing.T) {
	p := hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		require.NoError(t, p.Raise(1, 95))
		require.Len(t, next(t, m).Events, 1)
		require.Empty(t, next(t, m).Events, "nothing says that it is well again")

		p.gpus[2].state.recovery = RecoveryReset
		require.NoError(t, p.Raise(2, 95))
		require.Equal(t, []berth.Event{
			berth.XidReported{Node: "n1", GPU: 2, Xid: 95},
			berth.GPUFailed{Node: "n1", GPU: 2, Reason: "the driver says: gpu-reset"},
		}, next(t, m).Events)
		require.NoError(t, p.Repair(2))
		require.Contains(t, next(t, m).Events, berth.Event(berth.GPURepaired{Node: "n1", GPU: 2}))
	})
}

// A GPU that answers again is repaired when an inventory would offer it: its fabric may
// take longer.
func TestRepairWaitsForTheFabric(t *testing.T) {
	p := hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		require.NoError(t, p.Fail(0, "gone"))
		require.Len(t, next(t, m).Events, 1)
		require.NoError(t, p.Repair(0))
		p.gpus[0].fab.completed = false
		require.Empty(t, next(t, m).Events)
		p.gpus[0].fab.completed = true
		require.Len(t, next(t, m).Events, 2)
	})
}

// A driver that lists a GPU no more numbers those behind it anew. Events go by the indices
// of the inventory.
func TestMonitorGoesByUUID(t *testing.T) {
	p := hgx()
	v := inventoryOf(t, p)
	gone := p.gpus[2]
	p.gpus = append(p.gpus[:2:2], p.gpus[3:]...)
	watching(t, p, MonitorConfig{GPUs: v.GPUs}, func(t *testing.T, _ *Source, m *Monitor) {
		require.NoError(t, p.Raise(2, 31))
		o := next(t, m)
		require.Equal(t, []berth.Event{
			berth.XidReported{Node: "n1", GPU: 3, Xid: 31},
			berth.GPUFailed{Node: "n1", GPU: 2, Reason: "lost: the driver does not list it any more"},
		}, o.Events)
		require.Len(t, o.GPUs, 8)
		require.Equal(t, v.GPUs[7].UUID, o.GPUs[7].UUID)
		p.gpus = append(p.gpus, gone)
		require.Len(t, next(t, m).Events, 2)
	})
	p.gpus = append(p.gpus, pretended("pcie").gpus...)
	watching(t, p, MonitorConfig{GPUs: v.GPUs}, func(t *testing.T, _ *Source, m *Monitor) {
		require.NoError(t, p.Raise(8, 31))
		o, err := m.Next(t.Context())
		require.NoError(t, err)
		require.Empty(t, o.Events)
		require.EqualError(t, o.Gaps[0], "nvmlsrc: xids: unknown GPU: Xid 31 of a GPU that is not in the inventory")
	})
}

// Activity is told from the second sample on, of each MIG device or of the GPU; samples
// that would be too near to each other are not taken.
func TestActivity(t *testing.T) {
	p := pretended("mig-h100")
	hgx := hgx()
	require.NoError(t, hgx.SetActivity(hgx.gpus[4].uuidText(), 875))
	watching(t, hgx, MonitorConfig{Interval: time.Second}, func(t *testing.T, _ *Source, m *Monitor) {
		require.Empty(t, next(t, m).GPUs[4].Activity)
		want := []Activity{{UUID: hgx.gpus[4].uuidText(), Milli: 875, Source: ActivitySourceSM}}
		require.Equal(t, want, next(t, m).GPUs[4].Activity)
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, hgx.Raise(0, 13))
		require.Empty(t, next(t, m).GPUs[4].Activity, "10 ms after the last sample")
		require.Equal(t, want, next(t, m).GPUs[4].Activity)
	})
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		o := next(t, m)
		require.Equal(t, []Activity{
			{UUID: p.gpus[0].devices[0].uuid, Source: ActivitySourceSM},
			{UUID: p.gpus[0].devices[1].uuid, Milli: 180, Source: ActivitySourceSM},
			{UUID: p.gpus[0].devices[2].uuid, Milli: 930, Source: ActivitySourceSM},
		}, o.GPUs[0].Activity)
		require.Len(t, o.GPUs[1].Activity, 7)
		require.NoError(t, p.gpus[0].destroyInstance(1))
		require.Len(t, next(t, m).GPUs[0].Activity, 2)
		require.Len(t, m.gpus[0].samples, 2, "what is gone is forgotten")
	})
}

// How busy each process keeps a GPU is told if it is asked, from the second reading on: of whole
// GPUs, which are as busy as all of their processes.
func TestActivityOfProcesses(t *testing.T) {
	p := hgx()
	uuids := []string{p.gpus[1].uuidText(), p.gpus[2].uuidText()}
	require.NoError(t, p.Start(31, uuids...))
	require.NoError(t, p.Start(30, uuids[0]))
	require.NoError(t, p.SetProcessActivity(31, 250))
	require.NoError(t, p.SetProcessActivity(30, 2000))
	watching(t, p, MonitorConfig{Processes: true}, func(t *testing.T, _ *Source, m *Monitor) {
		require.Nil(t, next(t, m).GPUs[1].Processes)
		o := next(t, m)
		require.Equal(t, []ProcessActivity{{PID: 30, Milli: 1000}, {PID: 31, Milli: 250}}, o.GPUs[1].Processes)
		require.Equal(t, 1000, o.GPUs[1].Activity[0].Milli)
		require.Equal(t, []ProcessActivity{{PID: 31, Milli: 250}}, o.GPUs[2].Processes)
		require.Equal(t, 250, o.GPUs[2].Activity[0].Milli)
		require.Equal(t, []ProcessActivity{}, o.GPUs[3].Processes, "none is at work, and that is known")
		p.End(30)
		require.NoError(t, p.SetProcessActivity(31, 0))
		o = next(t, m)
		require.Equal(t, []ProcessActivity{}, o.GPUs[1].Processes)
		require.Zero(t, o.GPUs[1].Activity[0].Milli)
		require.NoError(t, p.Partition(1, must(mig.ParsePlacement("7g.80gb@0:8"))))
		require.Nil(t, next(t, m).GPUs[1].Processes, "not in MIG mode")
	})
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		require.Nil(t, next(t, m).GPUs[2].Processes, "nobody asked")
	})
}

// GPUs without counters tell their utilization instead, and say so; in MIG mode they have
// none.
func TestActivityWithoutCounters(t *testing.T) {
	p := pretended("dgx-a100")
	require.NoError(t, p.SetActivity(p.gpus[1].uuidText(), 420))
	require.NoError(t, p.Partition(2, must(mig.ParsePlacement("7g.40gb@0:8"))))
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		o := next(t, m)
		require.Equal(t, []Activity{{UUID: p.gpus[1].uuidText(), Milli: 420, Source: ActivitySourceUtilization}}, o.GPUs[1].Activity)
		require.Empty(t, o.GPUs[2].Activity)
	})
	p = hgx()
	require.NoError(t, p.Refuse(1, queryActivity, ErrNoPermission))
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		o, err := m.Next(t.Context())
		require.NoError(t, err)
		require.Len(t, o.Gaps, 1)
		require.Equal(t, ActivitySourceUtilization, o.GPUs[1].Activity[0].Source)
	})
}

// What is suspicious is found and told at each reading, and no event follows from it.
func TestFindings(t *testing.T) {
	for reason, change := range map[string]func(*pretendGPU){
		"the driver says: drain-p2p":       func(g *pretendGPU) { g.state.recovery = RecoveryDrainP2P },
		"the driver says: drain-and-reset": func(g *pretendGPU) { g.state.recovery = RecoveryDrainAndReset },
		"a row of memory is to be replaced by a spare one: reset the GPU when it is idle":                  func(g *pretendGPU) { g.state.rows.Pending = true },
		"3 memory errors that could not be corrected":                                                      func(g *pretendGPU) { g.state.ecc.Volatile = 3 },
		"NVLink fabric: a route is unhealthy: an answer that is not known, 3":                              func(g *pretendGPU) { g.fab.health = 2 | 2<<2 | 3<<4 | 1<<8 | 1<<14 },
		"NVLink fabric: reduced bandwidth, incorrect configuration 5, the fabric manager is not connected": func(g *pretendGPU) { g.fab.health = 1 | 2<<2 | 2<<4 | 5<<8 | 2<<14 },
		"2 of 18 NVLinks are down": func(g *pretendGPU) { g.links[4].active, g.links[9].active = false, false },
		"slowed down: HW slowdown, HW thermal slowdown": func(g *pretendGPU) {
			g.state.clocks = ClockReasonHardwareSlowdown | ClockReasonHardwareThermal
			g.busy["x"] = 1
		},
		"slowed down: idle, SW thermal slowdown, 0x1000": func(g *pretendGPU) { g.state.clocks = ClockReasonSoftwareThermal | 1<<12 },
	} {
		p := hgx()
		watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
			p.gpus[3].fab.health = 2 | 2<<2 | 2<<4 | 2<<6 | 1<<8 | 1<<12 | 1<<14 // all well
			require.Empty(t, next(t, m).Findings)
			change(p.gpus[3])
			for range 2 {
				o := next(t, m)
				require.Len(t, o.Findings, 1)
				require.Equal(t, reason, o.Findings[0].Reason)
				require.False(t, o.Findings[0].Condemns)
				require.Equal(t, 3, o.Findings[0].GPU)
				require.Empty(t, o.Events)
			}
		})
	}
}

// Errors on NVLinks are told when they grow.
func TestNVLinkErrors(t *testing.T) {
	p := hgx()
	p.gpus[1].state.linkErrors = 7
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		require.Empty(t, next(t, m).Findings, "nothing tells when they were")
		p.gpus[1].state.linkErrors = 9
		o := next(t, m)
		require.Equal(t, NVLinkHealth{Active: 18, Errors: 18 * 9, NewErrors: 18 * 2}, o.GPUs[1].Links)
		require.Equal(t, "gpus[1]: nvlinkErrors: 36 errors on NVLinks since the last reading (suspect)", o.Findings[0].String())
		require.Empty(t, next(t, m).Findings)
	})
}

func TestHealthOfABusyGPU(t *testing.T) {
	p := hgx()
	uuid := p.gpus[0].uuidText()
	require.NoError(t, p.Start(17, uuid))
	require.NoError(t, p.SetActivity(uuid, 1000))
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		require.Equal(t, Health{
			GPU: 0, UUID: uuid, Links: NVLinkHealth{Active: 18}, Activity: []Activity{{UUID: uuid, Milli: 1000, Source: ActivitySourceSM}},
			MemoryUsedMiB: 61_169, TemperatureC: 71, PowerMilliwatts: 570_000,
		}, next(t, m).GPUs[0])
	})
}

// Each question may go unanswered: a gap, and the rest is told. What a GPU or a mode does
// not have is no gap.
func TestGapsOfHealth(t *testing.T) {
	for _, query := range []Query{
		queryRecovery, queryECC, queryRows, queryNVLink, queryNVLinkErrors, queryFabric, queryClocks, queryMemory, queryTemperature, queryPower, queryMIG,
	} {
		for refusal, gaps := range map[*Error]int{noPermission: 1, missing: 1, unsupported: 0} {
			p := hgx()
			p.gpus[5].fail(query, refusal)
			if query == queryMIG {
				p.gpus[5].fail(queryActivity, unsupported)
			}
			watching(t, p, MonitorConfig{GPUs: inventoryOf(t, hgx()).GPUs}, func(t *testing.T, _ *Source, m *Monitor) {
				o, err := m.Next(t.Context())
				require.NoError(t, err)
				require.Len(t, o.Gaps, gaps, query)
				require.Empty(t, o.Findings)
				for _, gap := range o.Gaps {
					require.Equal(t, &Error{GPU: 5, Query: query, Reason: refusal.Reason, Kind: refusal.Kind}, gap)
				}
				if query != queryPower {
					require.Equal(t, 70_000, o.GPUs[5].PowerMilliwatts)
				}
			})
		}
	}
	p := pretended("mig-h100")
	p.gpus[0].fail(queryMIGDevices, noPermission)
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		o, err := m.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, queryMIGDevices, o.Gaps[0].Query)
	})
}

// A GPU that is lost while it is read is condemned, and not asked further.
func TestLostWhileRead(t *testing.T) {
	for _, query := range []Query{queryRecovery, queryNVLink, queryNVLinkErrors, queryMIG, queryActivity} {
		p := hgx()
		watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
			p.gpus[2].fail(query, lost)
			o, err := m.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, query, p.gpus[2].last)
			require.Equal(t, Health{GPU: 2, UUID: p.gpus[2].uuidText(), Failure: o.Gaps[0]}, o.GPUs[2])
			require.Len(t, o.Events, 1)
		})
	}
}

// Without Xids there are readings, and each says what is missing. A watch that breaks is
// tried again with the next one.
func TestMonitorWithoutXids(t *testing.T) {
	p := hgx()
	p.watchErr = unsupported
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		for i := range 2 {
			begin := time.Now()
			o, err := m.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, time.Duration(i)*DefaultInterval, time.Since(begin))
			require.EqualError(t, o.Gaps[0], "nvmlsrc: xids: not supported by this GPU: not supported")
		}
	})
	p = hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		for w := range p.watches {
			w.broken = lost
		}
		o, err := m.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, queryXids, o.Gaps[0].Query)
		require.NoError(t, p.Raise(1, 13))
		require.Len(t, next(t, m).Events, 1, "another watch took its place")
	})
}

// A context that ends, and a Close, interrupt a wait, and what was reported meanwhile is
// told by the next call.
func TestMonitorStops(t *testing.T) {
	for name, watchErr := range map[string]error{"with Xids": nil, "without": unsupported} {
		t.Run(name, func(t *testing.T) {
			p := hgx()
			p.watchErr = watchErr
			watching(t, p, MonitorConfig{Interval: time.Hour}, func(t *testing.T, s *Source, m *Monitor) {
				_, err := m.Next(t.Context())
				require.NoError(t, err)
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err = m.Next(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Less(t, time.Since(begin), 2*time.Second)
				cancel()
				if watchErr == nil {
					require.NoError(t, p.Raise(4, 31))
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					_, err = m.Next(ctx)
					require.ErrorIs(t, err, context.Canceled)
					require.Len(t, next(t, m).Events, 1)
				}
				ended := make(chan error)
				for range 2 {
					go func() {
						_, err := m.Next(context.Background())
						ended <- err
					}()
				}
				synctest.Wait()
				begin = time.Now()
				require.NoError(t, s.Close())
				require.ErrorIs(t, <-ended, ErrClosed)
				require.ErrorIs(t, <-ended, ErrClosed)
				require.Less(t, time.Since(begin), time.Second)
				_, err = m.Next(context.Background())
				require.ErrorIs(t, err, ErrClosed)
			})
		})
	}
}

// A call that waits for its turn gives up when its context ends.
func TestMonitorTurns(t *testing.T) {
	watching(t, hgx(), MonitorConfig{Interval: time.Hour}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := m.Next(ctx)
			ended <- err
		}()
		synctest.Wait()
		short, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		_, err := m.Next(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestMonitorOfADriverThatFails(t *testing.T) {
	p := hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		require.NoError(t, p.Raise(0, 31))
		p.countErr = errors.New("boom")
		_, err := m.Next(t.Context())
		require.EqualError(t, err, "nvmlsrc: count: driver failure: boom")
		p.countErr = nil
		require.Len(t, next(t, m).Events, 1, "the Xid is not lost")
	})
	s := p.source()
	_, err := s.Monitor(MonitorConfig{Interval: time.Millisecond})
	require.ErrorIs(t, err, ErrInvalid)
	p.countErr = errors.New("boom")
	_, err = s.Monitor(MonitorConfig{})
	require.ErrorIs(t, err, ErrDriver)
	p.countErr = nil
	require.NoError(t, s.Close())
	_, err = s.Monitor(MonitorConfig{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Monitor(MonitorConfig{GPUs: []GPU{{}}})
	require.ErrorIs(t, err, ErrClosed)
}

func TestHealthTexts(t *testing.T) {
	require.Equal(t, "none", ClockReasons(0).String())
	require.Equal(t, "applications clocks setting, SW power cap, sync boost, HW power brake slowdown, display clock setting",
		(ClockReasonApplicationSetting | ClockReasonSoftwarePowerCap | ClockReasonSyncBoost | ClockReasonHardwarePowerBrake | ClockReasonDisplaySetting).String())
	require.False(t, ClockReasonSoftwarePowerCap.throttled(), "the operator may have set it")
	require.Equal(t, "unset", Activity{}.Source.String(), "what was not said is not taken for a measurement")
	require.Equal(t, "sm-activity", ActivitySourceSM.String())
	require.Equal(t, "utilization", ActivitySourceUtilization.String())
	require.Equal(t, "ActivitySource(7)", ActivitySource(7).String())
	require.Equal(t, "none", RecoveryNone.String())
	require.Equal(t, "gpus[2]: ecc: why (condemned)", Finding{GPU: 2, Query: queryECC, Condemns: true, Reason: "why"}.String())
}

// A GPU that cannot tell its UUID any more goes by its index, but not while another is
// missing: it could be any.
func TestMonitorOfGPUsWithoutUUID(t *testing.T) {
	p := hgx()
	v := inventoryOf(t, p)
	watching(t, p, MonitorConfig{GPUs: v.GPUs}, func(t *testing.T, _ *Source, m *Monitor) {
		require.NoError(t, p.Refuse(5, queryUUID, ErrNoPermission))
		require.NoError(t, p.Fail(6, "gone"))
		require.Equal(t, []berth.Event{berth.GPUFailed{Node: "n1", GPU: 6, Reason: "lost: gone"}}, next(t, m).Events)
		require.NoError(t, p.Repair(6))
		require.Len(t, next(t, m).Events, 2)
		p.gpus = append(p.gpus[:2:2], p.gpus[3:]...)
		var failed []int
		for _, event := range next(t, m).Events {
			failed = append(failed, event.(berth.GPUFailed).GPU)
		}
		require.Equal(t, []int{2, 5}, failed)
	})
}

// A sysfs that calls a function when it is read.
type hookedFS struct {
	fs.FS
	read func()
}

func (h hookedFS) Open(name string) (fs.File, error) {
	h.read()
	return h.FS.Open(name)
}

// An Xid of one GPU is not lost while another is found repaired and watched anew, for which
// there is an inventory to take.
func TestXidsDuringRepair(t *testing.T) {
	p := hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, s *Source, m *Monitor) {
		next(t, m)
		require.NoError(t, p.Fail(1, "fell off the bus"))
		next(t, m)
		require.NoError(t, p.Repair(1))
		s.sys = hookedFS{s.sys, sync.OnceFunc(func() { require.NoError(t, p.Raise(5, 79)) })}
		require.Contains(t, next(t, m).Events, berth.Event(berth.GPURepaired{Node: "n1", GPU: 1}))
		require.Equal(t, []berth.Event{berth.XidReported{Node: "n1", GPU: 5, Xid: 79}}, next(t, m).Events)
	})
}

// A GPU that is watched anew after a repair is still heard.
func TestXidsAfterRepair(t *testing.T) {
	p := hgx()
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		next(t, m)
		require.NoError(t, p.Fail(1, "gone"))
		next(t, m)
		require.NoError(t, p.Repair(1))
		require.Len(t, next(t, m).Events, 2)
		require.Len(t, p.watches, 1)
		require.NoError(t, p.Raise(1, 31))
		require.Len(t, next(t, m).Events, 1)
	})
}

// Machines start before their fabric does. GPUs that took no work when the node joined
// are told when they do.
func TestGPUsThatAreReadyLater(t *testing.T) {
	p := hgx()
	for _, g := range p.gpus[:2] {
		g.fab.completed = false
	}
	v := inventoryOf(t, p)
	require.ErrorIs(t, v.GPUs[1].Failure, ErrNotReady)
	watching(t, p, MonitorConfig{GPUs: v.GPUs}, func(t *testing.T, _ *Source, m *Monitor) {
		require.Empty(t, next(t, m).Events)
		p.gpus[1].fab.completed = true
		require.Equal(t, []berth.Event{
			berth.GPUPartitioned{Node: "n1", GPU: 1, Mode: berth.GPUModeWhole}, berth.GPURepaired{Node: "n1", GPU: 1},
		}, next(t, m).Events)
		require.Empty(t, next(t, m).Events)
	})
}

// Links that were never up are no finding: nobody has bridged the card.
func TestLinksThatLeadNowhere(t *testing.T) {
	p := hgx()
	p.gpus[0].links[3].active = false
	watching(t, p, MonitorConfig{}, func(t *testing.T, _ *Source, m *Monitor) {
		for range 2 {
			o := next(t, m)
			require.Empty(t, o.Findings)
			require.Equal(t, NVLinkHealth{Active: 17, Inactive: 1}, o.GPUs[0].Links)
		}
	})
}
