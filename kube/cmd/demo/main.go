// Command demo shows what berth-kube does on a stock Kubernetes: it starts one on this machine,
// with KWOK in place of kubelets, plays a story on it, checks what it sees by its own arithmetic,
// and prints a table. Its exit status says whether all of it was so.
//
//	go run ./cmd/demo
//
// The first run builds the components, which takes some 20 minutes of one core, once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/manifests"
	"github.com/berth-sched/berth/kube/rig"
	"github.com/berth-sched/berth/kube/translate"
)

const (
	team = "team"
	rack = "cloud.provider.com/topology-rack"
)

// A demo is a cluster, the program, and what was seen.
type demo struct {
	nodes, perRack, gpus, large, kills, starts int
	// waiting is how many pods wait at least, for the step that asks what that costs.
	waiting int
	// filled is how long it took to have the fleet filled.
	filled time.Duration

	rig     *rig.Rig
	watcher *watcher
	program *exec.Cmd
	binary  string
	config  string
	log     *os.File
	rows    []row
}

// A row is a line of the table.
type row struct {
	what, seen string
	ok         bool
}

func main() {
	d := &demo{}
	short := flag.Bool("short", false, "a tenth of the fleet, and fewer kills")
	keep := flag.String("dir", "", "`folder` for data and logs, which stays; empty: a temporary one")
	flag.IntVar(&d.nodes, "nodes", 500, "nodes with 8 GPUs each")
	flag.Parse()
	d.perRack, d.gpus, d.large, d.kills, d.waiting = 100, 8, 64, 12, 10_000
	if *short {
		d.nodes, d.perRack, d.large, d.kills, d.waiting = 48, 16, 12, 4, 500
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := d.run(ctx, *keep)
	d.print()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	for _, r := range d.rows {
		if !r.ok {
			os.Exit(1)
		}
	}
}

func (d *demo) run(ctx context.Context, dir string) error {
	var err error
	if d.rig, err = rig.Start(ctx, rig.Options{Dir: dir, Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true, Kubelets: true, Log: os.Stderr}); err != nil {
		return err
	}
	defer d.rig.Stop()
	if err := d.build(ctx); err != nil {
		return err
	}
	defer d.kill()
	for _, step := range []func(context.Context) error{d.fleet, d.fill, d.preempt, d.resume, d.instances, d.loseNode, d.killed, d.wait, d.stockAlone, d.stockFill} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	broken := d.watcher.stop()
	d.add("no device is held by two claims, over all that was watched", fmt.Sprintf("%d allocations seen", d.watcher.seen), len(broken) == 0)
	for _, b := range broken {
		d.add(b, "", false)
	}
	return nil
}

func (d *demo) add(what, seen string, ok bool) {
	d.rows = append(d.rows, row{what, seen, ok})
	fmt.Fprintf(os.Stderr, "demo: %s: %s\n", what, seen)
}

func (d *demo) print() {
	width := 0
	for _, r := range d.rows {
		width = max(width, len(r.what))
	}
	for _, r := range d.rows {
		mark := "ok"
		if !r.ok {
			mark = "NOT OK"
		}
		fmt.Printf("%-*s  %-6s  %s\n", width, r.what, mark, r.seen)
	}
}

// build builds berth-kube, as a process of its own is to be killed.
func (d *demo) build(ctx context.Context) error {
	dir := filepath.Dir(d.rig.Kubeconfig)
	d.binary = filepath.Join(dir, "berth-kube")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", d.binary, "github.com/berth-sched/berth/kube/cmd/berth-kube").CombinedOutput(); err != nil {
		return fmt.Errorf("berth-kube: %w\n%s", err, out)
	}
	var err error
	if d.config, err = d.rig.KubeconfigAs("system:serviceaccount:berth-system:berth-kube"); err != nil {
		return err
	}
	d.log, err = os.Create(filepath.Join(dir, "berth-kube.log"))
	return err
}

// start starts berth-kube with the rights of the manifests. It needs no lease: nobody else runs.
func (d *demo) start() error {
	d.program = exec.Command(d.binary, "-kubeconfig", d.config, "-leader-elect=false", "-levels", "rack="+rack, "-classes", "serving=latency-critical",
		"-address", "127.0.0.1:0", "-qps", "2000", "-text", "-journal", fmt.Sprintf("%s.%d.jsonl", d.binary, d.starts))
	d.starts++
	d.program.Stdout, d.program.Stderr = d.log, d.log
	d.program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return d.program.Start()
}

// kill kills berth-kube with SIGKILL.
func (d *demo) kill() {
	if d.program != nil {
		_ = d.program.Process.Kill()
		_ = d.program.Wait()
		d.program = nil
	}
}

func (d *demo) fleet(ctx context.Context) error {
	began := time.Now()
	for _, file := range []string{"rbac.yaml", "guard.yaml"} {
		if err := d.rig.Apply(ctx, manifests.Files, file); err != nil {
			return err
		}
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "berth-system", Name: "berth"}, Data: map[string]string{
		"policy": `{"preemption":{"checkpointTimeout":"30s"}}`,
	}}
	objects := []metav1.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, config}
	for _, c := range rig.Classes() {
		objects = append(objects, c)
	}
	if _, err := d.rig.Client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "serving"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i := range d.nodes {
		name := fmt.Sprintf("n%d", i)
		objects = append(objects, fixture.Node(name, rack, fmt.Sprintf("r%d", i/d.perRack)))
		for _, s := range fixture.Partitionable(name, d.gpus) {
			objects = append(objects, s)
		}
	}
	if err := d.rig.Create(ctx, objects...); err != nil {
		return err
	}
	made := time.Since(began)
	d.watcher = watch(d.rig.Client)
	d.add(fmt.Sprintf("Kubernetes %s with %d nodes and %d GPUs that divide", rig.Version, d.nodes, d.nodes*d.gpus),
		fmt.Sprintf("up in %v, objects made in %v", d.rig.Started.Round(100*time.Millisecond), made.Round(100*time.Millisecond)), true)
	return d.start()
}

// fill fills the fleet but eight nodes with gangs of four pods that write checkpoints.
func (d *demo) fill(ctx context.Context) error {
	began := time.Now()
	objects, pods := d.batch("batch")
	for _, o := range objects {
		if group, is := o.(*schedulingv1beta1.PodGroup); is {
			group.SetAnnotations(map[string]string{translate.CheckpointAnnotation: `{"supported":true,"cost":"10s"}`})
		}
	}
	if err := d.rig.Create(ctx, objects...); err != nil {
		return err
	}
	made := time.Since(began)
	err := d.watcher.wait(ctx, 3*time.Minute, func(w *watcher) bool { return w.bound("batch") == pods })
	d.filled = time.Since(began)
	seen := fmt.Sprintf("all bound %v after the first object, made in %v", d.filled.Round(100*time.Millisecond), made.Round(100*time.Millisecond))
	if err != nil {
		seen = fmt.Sprintf("%d of %d pods are bound", d.watcher.countBound("batch"), pods)
	}
	d.add(fmt.Sprintf("%d gangs of 4 pods with 8 GPUs fill it", pods/4), seen, err == nil)
	return err
}

// batch are the gangs that fill the fleet, and how many pods they have.
func (d *demo) batch(prefix string) (objects []metav1.Object, pods int) {
	for i := range (d.nodes - 8) / 4 {
		objects = append(objects, fixture.TemplateGang(team, fmt.Sprintf("%s%d", prefix, i), 4, d.gpus, "")...)
		pods += 4
	}
	return objects, pods
}

// preempt has a large gang of a higher class, bound to a rack, take the place of batch work by way
// of checkpoints. The demo is the job controller that answers, and that makes deleted pods anew.
func (d *demo) preempt(ctx context.Context) error {
	began := time.Now()
	gang := fixture.TemplateGang(team, "large", d.large, d.gpus, rack)
	gang[1].(*schedulingv1beta1.PodGroup).Spec.PriorityClassName = "serving"
	for _, o := range gang[2:] {
		o.(*corev1.Pod).Spec.PriorityClassName = "serving"
	}
	d.watcher.answer = true
	if err := d.rig.Create(ctx, gang...); err != nil {
		return err
	}
	err := d.watcher.wait(ctx, 2*time.Minute, func(w *watcher) bool { return w.bound("large") == d.large })
	what := fmt.Sprintf("a gang of %d pods that keeps to a rack, of a higher class, takes its place by checkpoints", d.large)
	racks, victims := d.watcher.racks("large", d.perRack), d.watcher.victims()
	d.add(what, fmt.Sprintf("%d bound after %v in %d rack; %d pods wrote a checkpoint and went, %d went without", d.watcher.countBound("large"),
		time.Since(began).Round(100*time.Millisecond), racks, victims.asked, victims.unasked), err == nil && racks == 1 && victims.unasked == 0 && victims.asked > 0)
	return err
}

// resume ends batch gangs, so that the victims start again, and some nodes are free.
func (d *demo) resume(ctx context.Context) error {
	began := time.Now()
	gangs := (d.nodes - 8) / 4
	ended := gangs - d.watcher.countBound("batch")/4 + 4
	d.watcher.retire(ended)
	for group := range d.watcher.retired { // in any order
		if err := d.watcher.end(ctx, group); err != nil {
			return err
		}
	}
	want := 4 * (gangs - ended)
	err := d.watcher.wait(ctx, 2*time.Minute, func(w *watcher) bool { return w.bound("batch") == want && w.there("batch") == want })
	d.add(fmt.Sprintf("%d batch gangs end, and the victims resume", ended), fmt.Sprintf("%d of %d pods are bound after %v", d.watcher.countBound("batch"), want,
		time.Since(began).Round(100*time.Millisecond)), err == nil)
	return err
}

// instances places MIG instances of three profiles.
func (d *demo) instances(ctx context.Context) error {
	began, pods := time.Now(), 0
	var objects []metav1.Object
	for profile, n := range map[string]int{"1g.10gb": 28, "2g.20gb": 12, "3g.40gb": 8} {
		for i := range n {
			name := fmt.Sprintf("mig-%s-%d", strings.ReplaceAll(profile, ".", "-"), i)
			objects = append(objects, fixture.InstanceClaim(team, name, profile), fixture.Gated(team, name, "", name))
			pods++
		}
	}
	if err := d.rig.Create(ctx, objects...); err != nil {
		return err
	}
	err := d.watcher.wait(ctx, time.Minute, func(w *watcher) bool { return w.bound("mig-") == pods })
	overlap := d.watcher.overlaps()
	d.add(fmt.Sprintf("%d claims for MIG instances of three profiles", pods), fmt.Sprintf("%d bound after %v on %d GPUs; %d overlap", d.watcher.countBound("mig-"),
		time.Since(began).Round(100*time.Millisecond), d.watcher.divided(), overlap), err == nil && overlap == 0)
	return err
}

// loseNode takes a node under a gang away, with its pods. The gang starts anew elsewhere.
func (d *demo) loseNode(ctx context.Context) error {
	began := time.Now()
	gang := fixture.TemplateGang(team, "hurt", 2, d.gpus, "")
	if err := d.rig.Create(ctx, gang...); err != nil {
		return err
	}
	if err := d.watcher.wait(ctx, time.Minute, func(w *watcher) bool { return w.bound("hurt") == 2 }); err != nil {
		d.add("a node is lost under a gang", "the gang did not start", false)
		return err
	}
	before := d.watcher.on("hurt-")
	if err := d.rig.Client.CoreV1().Nodes().Delete(ctx, before[0], metav1.DeleteOptions{}); err != nil {
		return err
	}
	zero := int64(0)
	if err := d.rig.Client.CoreV1().Pods(team).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + before[0]}); err != nil {
		return err
	}
	err := d.watcher.wait(ctx, 2*time.Minute, func(w *watcher) bool {
		n := 0
		for name, node := range w.node {
			if strings.HasPrefix(name, team+"/hurt-") && node != before[0] {
				n++
			}
		}
		return n == 2
	})
	d.add("a node is lost under a gang: it starts anew elsewhere, whole", fmt.Sprintf("from %v to %v, %v", before, d.watcher.on("hurt-"), time.Since(began).Round(100*time.Millisecond)), err == nil)
	return err
}

// killed kills the program with SIGKILL while it binds a gang, later each time.
func (d *demo) killed(ctx context.Context) error {
	const pods = 4
	ended, longest := 0, time.Duration(0)
	for i := range d.kills {
		name := fmt.Sprintf("kill%d-", i)
		before := d.watcher.writes()
		objects := fixture.TemplateGang(team, name+"g", pods, 1, rack)
		if err := d.rig.Create(ctx, objects...); err != nil {
			return err
		}
		_ = d.watcher.wait(ctx, 10*time.Second, func(w *watcher) bool { return w.written >= before+i }) // so many writes on the way
		d.kill()
		if err := d.start(); err != nil {
			return err
		}
		began := time.Now()
		if err := d.watcher.wait(ctx, time.Minute, func(w *watcher) bool { return w.bound(name) == pods }); err == nil {
			ended++
		}
		longest = max(longest, time.Since(began))
		if err := d.watcher.end(ctx, name+"g"); err != nil {
			return err
		}
		if err := d.watcher.wait(ctx, time.Minute, func(w *watcher) bool { return w.there(name) == 0 }); err != nil {
			return errors.New("pods do not go")
		}
	}
	disturbed := d.watcher.disturbed
	d.add(fmt.Sprintf("killed with -9 %d times while it binds a gang", d.kills), fmt.Sprintf("%d of %d gangs whole, at most %v after the kill; %d pods that ran were disturbed", ended, d.kills,
		longest.Round(100*time.Millisecond), disturbed), ended == d.kills && disturbed == 0)
	return nil
}

// wait has very many pods wait, of gangs that are larger than any rack, and asks how long a small
// gang takes beside them.
func (d *demo) wait(ctx context.Context) error {
	before, err := d.small(ctx, "few")
	if err != nil {
		return err
	}
	var objects []metav1.Object
	pods := 0
	for i := 0; pods < d.waiting; i++ {
		objects = append(objects, fixture.TemplateGang(team, fmt.Sprintf("waits%d", i), d.perRack+1, d.gpus, rack)...)
		pods += d.perRack + 1
	}
	if err := d.rig.Create(ctx, objects...); err != nil {
		return err
	}
	if err := d.watcher.wait(ctx, time.Minute, func(w *watcher) bool { return w.there("waits") == pods }); err != nil {
		return err
	}
	after, err := d.small(ctx, "many")
	if err != nil {
		return err
	}
	d.add(fmt.Sprintf("%d pods wait, and a gang of 4 pods comes", pods), fmt.Sprintf("bound after %v; without them %v (medians of 5); %d of those that wait are bound",
		after.Round(10*time.Millisecond), before.Round(10*time.Millisecond), d.watcher.countBound("waits")), d.watcher.countBound("waits") == 0)
	return nil
}

// small is how long gangs of four pods with a GPU each take, one after the other, from the first
// object to the last pod that is bound: the median of five.
func (d *demo) small(ctx context.Context, name string) (time.Duration, error) {
	var took []time.Duration
	for i := range 5 {
		group := fmt.Sprintf("%s%d", name, i)
		began := time.Now()
		if err := d.rig.Create(ctx, fixture.TemplateGang(team, group, 4, 1, rack)...); err != nil {
			return 0, err
		}
		if err := d.watcher.wait(ctx, time.Minute, func(w *watcher) bool { return w.bound(group+"-") == 4 }); err != nil {
			return 0, fmt.Errorf("the gang %s: %w", group, err)
		}
		took = append(took, time.Since(began))
		if err := d.watcher.end(ctx, group); err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// stockAlone has the scheduler of the cluster alone do what the large gang did.
func (d *demo) stockAlone(ctx context.Context) error {
	d.kill()
	if err := d.rig.Client.ResourceV1().DeviceTaintRules().Delete(ctx, "berth-guard", metav1.DeleteOptions{}); err != nil {
		return err
	}
	gang := fixture.TemplateGang(team, "stock", d.large, d.gpus, "")
	gang[1].(*schedulingv1beta1.PodGroup).Spec.PriorityClassName = "serving"
	for _, o := range gang[2:] {
		o.(*corev1.Pod).Spec.PriorityClassName, o.(*corev1.Pod).Spec.SchedulingGates = "serving", nil
	}
	if err := d.rig.Create(ctx, gang...); err != nil {
		return err
	}
	const patience = 15 * time.Second
	err := d.watcher.wait(ctx, patience, func(w *watcher) bool { return w.bound("stock") > 0 })
	d.add(fmt.Sprintf("the stock scheduler alone, the same %d pods in any rack, for %v", d.large, patience),
		fmt.Sprintf("%d bound: it does not preempt for a device", d.watcher.countBound("stock")), err != nil)
	return nil
}

// stockFill has the scheduler of the cluster alone fill an empty fleet with the gangs with which
// berth filled it, by its own gang scheduling.
func (d *demo) stockFill(ctx context.Context) error {
	if err := d.watcher.clear(ctx); err != nil {
		return err
	}
	began := time.Now()
	objects, pods := d.batch("stock")
	for _, o := range objects {
		if pod, is := o.(*corev1.Pod); is {
			pod.Spec.SchedulingGates = nil
		}
	}
	if err := d.rig.Create(ctx, objects...); err != nil {
		return err
	}
	_ = d.watcher.wait(ctx, 3*time.Minute, func(w *watcher) bool { return w.bound("stock") == pods })
	d.add(fmt.Sprintf("the stock scheduler alone fills it with the same %d gangs", pods/4), fmt.Sprintf("%d of %d pods bound %v after the first object; with berth all after %v",
		d.watcher.countBound("stock"), pods, time.Since(began).Round(100*time.Millisecond), d.filled.Round(100*time.Millisecond)), true)
	return nil
}
