module github.com/berth-sched/berth

go 1.26

require (
	github.com/NVIDIA/go-nvml v0.13.3-1 // indirect
	github.com/google/btree v1.1.3 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
