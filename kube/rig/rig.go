// Package rig starts a stock Kubernetes on this machine: etcd, kube-apiserver, kube-scheduler and
// kube-controller-manager of a released version, built from their modules, and KWOK in place of
// kubelets. It needs Go and nothing else: no container, no root, no network but the module proxy.
//
// The first build takes some 20 minutes of one core and 140 MB; it is kept in the cache of the user
// and done once. A start takes some ten seconds.
package rig

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Version is that of the components.
const Version = "v1.37.1"

// Options of a Rig.
type Options struct {
	// Dir has binaries, data and logs; empty: a folder of its own in the cache of the user for
	// binaries, and a temporary one for the rest.
	Dir string
	// Gates are feature gates of all components, such as GenericWorkload=true.
	Gates []string
	// Scheduler, Controllers and Kubelets say which components are started beside the API server.
	// Without Kubelets no pod runs, but pods are bound.
	Scheduler, Controllers, Kubelets bool
	// Log gets a line for each step; nil: nobody.
	Log io.Writer
}

// A Rig is a cluster that runs.
type Rig struct {
	// Config is that of an administrator.
	Config *rest.Config
	// Client has its rights.
	Client kubernetes.Interface
	// Kubeconfig is the file for kubectl and other programs.
	Kubeconfig string
	// Built and Started are how long the build and the start took.
	Built, Started time.Duration

	o       Options
	dir     string
	port    int
	running []component
	own     bool
}

// A component is a process of the cluster.
type component struct {
	name string
	*exec.Cmd
}

// Cache is the folder in which the binaries are kept.
func Cache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return filepath.Join(base, "berth-rig", Version), nil
}

// Cached reports whether the binaries were built before.
func Cached() bool {
	dir, err := Cache()
	if err != nil {
		return false
	}
	_, stock := os.Stat(filepath.Join(dir, "stock"))
	_, kwok := os.Stat(filepath.Join(dir, "kwok"))
	return stock == nil && kwok == nil
}

// Build builds the binaries that are not there.
func Build(ctx context.Context, log io.Writer) (string, error) {
	dir, err := Cache()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	_, file, _, _ := runtime.Caller(0)
	source := os.Getenv("BERTH_RIG_SOURCE") // where a build with -trimpath does not say
	if source == "" {
		source = filepath.Dir(file)
	}
	if _, err := os.Stat(filepath.Join(source, "stock", "go.mod")); err != nil {
		if source, err = sourceByGo(ctx); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"stock", "kwok"} {
		to := filepath.Join(dir, name)
		if _, err := os.Stat(to); err == nil {
			continue
		}
		note(log, "building %s: this takes a while, once", name)
		command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", to+".new", ".")
		command.Dir = filepath.Join(source, name)
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "CGO_ENABLED=1")
		if out, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("rig: %s: %w\n%s", name, err, out)
		}
		if err := os.Rename(to+".new", to); err != nil {
			return "", fmt.Errorf("rig: %w", err)
		}
	}
	return dir, nil
}

// sourceByGo asks Go where the package is.
func sourceByGo(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/berth-sched/berth/kube/rig").Output()
	if err != nil {
		return "", fmt.Errorf("rig: the source of the rig is not found: run it in the module, or set BERTH_RIG_SOURCE: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func note(log io.Writer, format string, args ...any) {
	if log != nil {
		fmt.Fprintf(log, "rig: "+format+"\n", args...)
	}
}

// Start builds what is not built, and starts a cluster. Stop ends it.
func Start(ctx context.Context, o Options) (*Rig, error) {
	began := time.Now()
	bin, err := Build(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	r := &Rig{o: o, dir: o.Dir, Built: time.Since(began)}
	began = time.Now()
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "berth-rig-"); err != nil {
			return nil, fmt.Errorf("rig: %w", err)
		}
		r.own = true
	}
	if err := r.start(ctx, bin); err != nil {
		r.Stop()
		return nil, err
	}
	r.Started = time.Since(began)
	note(o.Log, "%s is up after %v: %s", Version, r.Started.Round(time.Millisecond), r.Kubeconfig)
	return r, nil
}

const token = "rig-administrator"

func (r *Rig) start(ctx context.Context, bin string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	etcd, peer, secure := ports[0], ports[1], ports[2]
	if err := r.files(secure); err != nil {
		return err
	}
	stock := filepath.Join(bin, "stock")
	at := func(name string) string { return filepath.Join(r.dir, name) }
	gates := "--feature-gates=" + strings.Join(r.o.Gates, ",")
	client, server := fmt.Sprintf("http://127.0.0.1:%d", etcd), fmt.Sprintf("http://127.0.0.1:%d", peer)
	err = r.run("etcd", stock, "etcd", "--data-dir", at("etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", server, "--initial-advertise-peer-urls", server, "--initial-cluster", "default="+server,
		"--unsafe-no-fsync", "--quota-backend-bytes", "4294967296", "--log-level", "error")
	if err != nil {
		return err
	}
	args := []string{
		"kube-apiserver", "--etcd-servers", client, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(secure), "--cert-dir", at("certs"),
		"--service-account-issuer", "https://rig", "--service-account-signing-key-file", at("key.pem"), "--service-account-key-file", at("key.pem"),
		"--token-auth-file", at("tokens.csv"), "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
		"--disable-admission-plugins", "ServiceAccount", "--max-requests-inflight", "4000", "--max-mutating-requests-inflight", "2000",
		"--profiling=false",
	}
	if slices.Contains(r.o.Gates, "GenericWorkload=true") {
		args = append(args, "--runtime-config=scheduling.k8s.io/v1beta1=true")
	}
	if len(r.o.Gates) > 0 {
		args = append(args, gates)
	}
	if err := r.run("kube-apiserver", stock, args...); err != nil {
		return err
	}
	r.Config = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", secure), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 2000, Burst: 4000,
		WarningHandler: rest.NoWarnings{}, // PodGroups are told to be deprecated in 1.40
	}
	if r.Client, err = kubernetes.NewForConfig(r.Config); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	if r.o.Scheduler {
		args := []string{"kube-scheduler", "--kubeconfig", r.Kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000"}
		if len(r.o.Gates) > 0 {
			args = append(args, gates)
		}
		if err := r.run("kube-scheduler", stock, args...); err != nil {
			return err
		}
	}
	if r.o.Controllers {
		controllers := "--controllers=*,-node-ipam-controller"
		if !r.o.Kubelets {
			controllers += ",-node-lifecycle-controller"
		}
		args := []string{
			"kube-controller-manager", "--kubeconfig", r.Kubeconfig, "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials",
			"--service-account-private-key-file", at("key.pem"), controllers, "--kube-api-qps=1000", "--kube-api-burst=2000",
		}
		if len(r.o.Gates) > 0 {
			args = append(args, gates)
		}
		if err := r.run("kube-controller-manager", stock, args...); err != nil {
			return err
		}
	}
	if r.o.Kubelets {
		kwok := filepath.Join(bin, "kwok")
		stages, err := exec.CommandContext(ctx, kwok, "stages").Output()
		if err == nil {
			err = os.WriteFile(at("stages.yaml"), stages, 0o600)
		}
		if err != nil {
			return fmt.Errorf("rig: kwok: %w", err)
		}
		return r.run("kwok", kwok, "--kubeconfig", r.Kubeconfig, "--config", at("stages.yaml"), "--manage-all-nodes=true", "--node-lease-duration-seconds=120")
	}
	return nil
}

// files writes what the components read.
func (r *Rig) files(port int) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	r.Kubeconfig = filepath.Join(r.dir, "kubeconfig")
	for name, text := range map[string]string{
		"key.pem":    string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"tokens.csv": token + ",admin,admin,system:masters\n",
		"kubeconfig": r.kubeconfig(port, ""),
	} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("rig: %w", err)
		}
	}
	r.port = port
	return nil
}

func (r *Rig) kubeconfig(port int, as string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: rig
contexts: [{name: rig, context: {cluster: rig, user: admin}}]
clusters: [{name: rig, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s%s}}]
`, port, token, as)
}

// KubeconfigAs writes a kubeconfig with the rights of another user, and names the file.
func (r *Rig) KubeconfigAs(user string) (string, error) {
	file := filepath.Join(r.dir, "kubeconfig-as")
	if err := os.WriteFile(file, []byte(r.kubeconfig(r.port, `, as: "`+user+`"`)), 0o600); err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return file, nil
}

// run starts a component, with a log of its own.
func (r *Rig) run(name, binary string, args ...string) error {
	log, err := os.Create(filepath.Join(r.dir, name+".log"))
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = command.Start()
	_ = log.Close()
	if err != nil {
		return fmt.Errorf("rig: %s: %w", name, err)
	}
	r.running = append(r.running, component{name, command})
	return nil
}

// ready waits until the API server answers.
func (r *Rig) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		text, err := r.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil && bytes.Equal(text, []byte("ok")) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("rig: kube-apiserver is not ready: %w\n%s", errors.Join(ctx.Err(), err), r.Tail("kube-apiserver"))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Tail is the end of the log of a component.
func (r *Rig) Tail(name string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, name+".log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}

// Freeze stops a component as a node does that has no time for it: it answers nobody, and what it
// was asked waits. The function that is returned has it go on.
func (r *Rig) Freeze(name string) (thaw func() error, err error) {
	at := slices.IndexFunc(r.running, func(c component) bool { return c.name == name })
	if at < 0 {
		return nil, fmt.Errorf("rig: %s was not started", name)
	}
	process := r.running[at].Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("rig: %s: %w", name, err)
	}
	return func() error { return process.Signal(syscall.SIGCONT) }, nil
}

// Stop ends all components. What is in a folder of the rig's own goes.
func (r *Rig) Stop() {
	for _, c := range slices.Backward(r.running) {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	if r.own {
		_ = os.RemoveAll(r.dir)
	}
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("rig: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
