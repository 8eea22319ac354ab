// Command berth-kube decides for a Kubernetes cluster which pods start, when, and with which GPUs:
// pods with the scheduling gate berth-sched.github.io/gate. It runs in the cluster or beside it,
// two or three at a time, of which one leads. See the README of this module.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/etcd/metrics"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/internal/loop"
	"github.com/berth-sched/berth/kube/translate"
)

// settings are what the flags say.
type settings struct {
	kubeconfig, namespace, configMap, levels, classes, address, name, journal string
	elect, text                                                               bool
	qps                                                                       float64
	parallel, explained                                                       int
}

func main() {
	var s settings
	host, _ := os.Hostname()
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig `file`; without it that of the pod, or of KUBECONFIG")
	flag.StringVar(&s.namespace, "namespace", "berth-system", "`namespace` of the ConfigMap and of the lease")
	flag.StringVar(&s.configMap, "config", "berth", "`name` of the ConfigMap with queues and policy; empty: none")
	flag.StringVar(&s.levels, "levels", "", "levels of the topology, from the widest: kueue, topograph, clique, or NAME=KEY, separated by commas")
	flag.StringVar(&s.classes, "classes", "", "classes of jobs by PriorityClass, NAME=batch|interactive|latency-critical, separated by commas")
	flag.StringVar(&s.address, "address", ":8080", "`address` of /healthz, /readyz and /metrics")
	flag.StringVar(&s.name, "name", host, "`name` of this process in the election")
	flag.StringVar(&s.journal, "journal", "", "`file` to which all is written that the core is told and orders, to be replayed; empty: none")
	flag.BoolVar(&s.elect, "leader-elect", true, "wait for the lease; without it nobody else may run")
	flag.BoolVar(&s.text, "text", false, "log as text instead of JSON")
	flag.Float64Var(&s.qps, "qps", 200, "requests a second to the API server")
	flag.IntVar(&s.parallel, "parallel", 16, "objects of one order that are written at a time")
	flag.IntVar(&s.explained, "explained", 10, "conditions of PodGroups that are written a second")
	flag.Parse()

	var handler slog.Handler = slog.NewJSONHandler(os.Stderr, nil)
	if s.text {
		handler = slog.NewTextHandler(os.Stderr, nil)
	}
	log := slog.New(handler)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &s, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s *settings, log *slog.Logger) error {
	options := translate.Options{ConfigMap: types.NamespacedName{Namespace: s.namespace, Name: s.configMap}, Term: rand.Text()}
	if s.configMap == "" {
		options.ConfigMap = types.NamespacedName{}
	}
	var err error
	if options.Levels, err = levelsOf(s.levels); err != nil {
		return err
	}
	if options.Classes, err = classesOf(s.classes); err != nil {
		return err
	}
	config, err := clientConfig(s)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	p := &process{s: s, log: log, client: client, options: options, collector: metrics.New("cluster", nil)}
	stopServing, err := p.serve()
	if err != nil {
		return err
	}
	defer stopServing()
	if !s.elect {
		p.leads.Store(true)
		return p.lead(ctx)
	}
	return p.elect(ctx)
}

func clientConfig(s *settings) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS, config.Burst, config.UserAgent = float32(s.qps), int(2*s.qps), "berth-kube"
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// A process is one of those that stand for election.
type process struct {
	s         *settings
	log       *slog.Logger
	client    kubernetes.Interface
	options   translate.Options
	collector *metrics.Collector

	leads, ready atomic.Bool
	// turned is when the loop was last alive, in Unix seconds.
	turned atomic.Int64
}

// elect leads while it has the lease. A process that has lost it ends: a new one begins from what
// the API server has.
func (p *process) elect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: p.s.namespace, Name: "berth-kube"}, Client: p.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: p.s.name},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true, Name: "berth-kube",
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				p.log.Info("leads", "name", p.s.name)
				p.leads.Store(true)
				err := p.lead(ctx)
				p.leads.Store(false)
				over <- err
				cancel(err)
			},
			OnStoppedLeading: func() { p.leads.Store(false) },
		},
	})
	if err != nil {
		return fmt.Errorf("election: %w", err)
	}
	p.ready.Store(true) // it stands by
	elector.Run(ctx)
	select {
	case err := <-over:
		return err
	default:
		return context.Cause(ctx)
	}
}

// lead decides until the context ends.
func (p *process) lead(ctx context.Context) error {
	cluster, err := translate.New(p.options)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: p.client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "berth-kube"})
	var writer *journal.Writer
	if p.s.journal != "" {
		file, err := os.Create(p.s.journal)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		defer file.Close()
		if writer, err = journal.NewWriter(file, cluster.Config()); err != nil {
			return err
		}
	}
	findings := map[string]bool{}
	return loop.Run(ctx, p.client, p.options.ConfigMap, loop.Options{
		Cluster: cluster, Now: loop.Clock(), Log: p.log, Explained: p.s.explained, Journal: writer,
		Carrier: &carry.Carrier{API: carry.Kube{Client: p.client}, Now: time.Now, Parallel: p.s.parallel, May: p.leads.Load},
		Said: func(o translate.Object, uid string, warning bool, reason, text string) {
			kind, version := corev1.EventTypeNormal, map[string]string{"Pod": "v1", "PodGroup": "scheduling.k8s.io/v1beta1", "ResourceClaim": "resource.k8s.io/v1"}[o.Kind]
			if warning {
				kind = corev1.EventTypeWarning
			}
			recorder.Event(&corev1.ObjectReference{Kind: o.Kind, APIVersion: version, Namespace: o.Namespace, Name: o.Name, UID: types.UID(uid)}, kind, reason, text)
		},
		Passed: func(of *core.Core, orders []berth.Order, took time.Duration) { p.collector.Pass(of, orders, took) },
	}, func() { p.ready.Store(true) }, func(e *loop.Engine) {
		p.turned.Store(time.Now().Unix())
		if !p.collector.Due() {
			return
		}
		p.collector.See(e.Core())
		now := map[string]bool{}
		for _, f := range cluster.Findings() {
			if text := f.String(); !now[text] {
				now[text] = true
				if !findings[text] {
					p.log.Warn("not translated", "object", f.Object.String(), "field", f.Field, "reason", f.Reason, "waits", f.Blocks)
				}
			}
		}
		findings = now
	})
}

// deadAfter is how long the loop of a leader may show no life.
const deadAfter = 60

// serve answers for health and metrics.
func (p *process) serve() (stop func(), err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.collector, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "berth_kube_leads", Help: "1 while this process decides."}, func() float64 {
			if p.leads.Load() {
				return 1
			}
			return 0
		}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	answer := func(path string, well func() bool) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if !well() {
				http.Error(w, "not well", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
	answer("/healthz", func() bool {
		at := p.turned.Load()
		return !p.leads.Load() || at == 0 || time.Now().Unix()-at < deadAfter
	})
	answer("/readyz", p.ready.Load)
	server := &http.Server{Addr: p.s.address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return nil, fmt.Errorf("address: %w", err)
	case <-time.After(100 * time.Millisecond):
	}
	return func() { _ = server.Close() }, nil
}

// levelsOf reads the flag -levels.
func levelsOf(text string) (levels []translate.Level, err error) {
	for word := range strings.SplitSeq(text, ",") {
		name, key, pair := strings.Cut(word, "=")
		switch {
		case word == "":
		case word == "kueue":
			levels = append(levels, translate.KueueLevels()...)
		case word == "topograph":
			levels = append(levels, translate.TopographLevels()...)
		case word == "clique":
			levels = append(levels, translate.CliqueLevel())
		case pair && name != "" && key != "":
			levels = append(levels, translate.Level{Name: name, Keys: []string{key}})
		default:
			return nil, fmt.Errorf("-levels: %q is none of kueue, topograph, clique and NAME=KEY", word)
		}
	}
	return levels, nil
}

// classesOf reads the flag -classes.
func classesOf(text string) (map[string]berth.Class, error) {
	classes := map[string]berth.Class{}
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		name, class, _ := strings.Cut(word, "=")
		var c berth.Class
		if err := c.UnmarshalText([]byte(class)); err != nil {
			return nil, fmt.Errorf("-classes: %q: %w", word, err)
		}
		classes[name] = c
	}
	return classes, nil
}
