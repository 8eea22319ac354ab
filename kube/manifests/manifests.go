// Package manifests has what berth-kube needs in a cluster: rights, the guard over the devices, and
// a deployment. kubectl apply -f takes the files as they are.
package manifests

import "embed"

// Files are rbac.yaml, guard.yaml and deployment.yaml.
//
//go:embed *.yaml
var Files embed.FS
