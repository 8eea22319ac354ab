// Package certs makes certificates for tests and examples. They live for an hour, and so does their
// authority: its key is in the memory of one process, and nowhere else. In production an authority
// such as that of SPIRE, cert-manager or Vault gives them out.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lifetime is that of a certificate, and skew how far clocks may be apart.
const lifetime, skew = time.Hour, time.Minute

// domain is where the names of a certificate are of: spiffe://DOMAIN/ROLE/NAME.
const domain = "berth.example"

// An Authority signs certificates, which it puts into a folder.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority, with its certificate in DIR/ca.pem.
func New(dir string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	form, err := form(filepath.Base(dir) + " authority")
	if err != nil {
		return nil, err
	}
	form.IsCA, form.BasicConstraintsValid, form.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &Authority{dir: dir, cert: cert, key: key}
	return a, write(CA(dir), &pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Client makes a certificate that says ROLE/NAME, as in "node/box0", and serves to ask alone.
func (a *Authority) Client(name string) error {
	return a.issue(name, x509.ExtKeyUsageClientAuth)
}

// Server makes one for what also answers, on the loopback.
func (a *Authority) Server(name string) error {
	return a.issue(name, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth)
}

func (a *Authority) issue(name string, uses ...x509.ExtKeyUsage) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	form, err := form(name)
	if err != nil {
		return err
	}
	form.KeyUsage, form.ExtKeyUsage = x509.KeyUsageDigitalSignature, uses
	form.URIs = []*url.URL{{Scheme: "spiffe", Host: domain, Path: "/" + name}}
	if len(uses) > 1 {
		form.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return write(File(a.dir, name), &pem.Block{Type: "CERTIFICATE", Bytes: der}, &pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// form is what all certificates have.
func form(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
	}, err
}

// write makes a file that its owner alone reads.
func write(path string, blocks ...*pem.Block) error {
	var text []byte
	for _, block := range blocks {
		text = append(text, pem.EncodeToMemory(block)...)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
}

// CA is the file of the certificate of an authority.
func CA(dir string) string { return filepath.Join(dir, "ca.pem") }

// File is the file of a certificate and its key.
func File(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)+".pem") }

// Config is TLS in both directions for the certificate of a name: only what this authority has
// signed is talked to, as a server and as a client.
func Config(dir, name string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(File(dir, name), File(dir, name))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(CA(dir))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", CA(dir))
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool,
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}, nil
}

// Name is the role and the name that a peer's certificate says. A connection lives longer than a
// certificate may, so the time is looked at again.
func Name(state *tls.ConnectionState) (role, name string, err error) {
	if state == nil || len(state.VerifiedChains) == 0 {
		return "", "", errors.New("there is no certificate")
	}
	cert := state.PeerCertificates[0]
	if time.Now().After(cert.NotAfter) {
		return "", "", errors.New("the certificate has run out")
	}
	if len(cert.URIs) != 1 || cert.URIs[0].Scheme != "spiffe" || cert.URIs[0].Host != domain {
		return "", "", errors.New("the certificate says no name of " + domain)
	}
	role, name, ok := strings.Cut(strings.TrimPrefix(cert.URIs[0].Path, "/"), "/")
	if !ok || role == "" || name == "" {
		return "", "", errors.New("the certificate says no role and name")
	}
	return role, name, nil
}
