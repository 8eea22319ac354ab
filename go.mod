module github.com/berth-sched/berth

go 1.26

require (
	github.com/NVIDIA/go-nvml v0.13.3-1
	github.com/google/btree v1.1.3
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.5
	gonum.org/v1/gonum v0.17.0
	pgregory.net/rapid v1.3.0
)
