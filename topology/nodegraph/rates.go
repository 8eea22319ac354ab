package nodegraph

import "strings"

// Rates of a product's links in MB/s one way: 1 GB/s is 1000 MB/s, and what a data
// sheet calls 900 GB/s for both ways together is 450,000 here.
type Rates struct {
	// NVLinks is how many NVLinks a GPU has; zero: none.
	NVLinks int
	// NVLinkMBps is the rate of a single NVLink.
	NVLinkMBps int64
	// PCIeMBps is the rate of the GPU's port.
	PCIeMBps int64
}

// DefaultRates are those of a product that is not known: NVLinks of 25 GB/s, as on
// everything from V100 to H200, up to 18 of them, and PCIe 3.0 x16, which is what
// NCCL assumes of a link that tells no speed.
func DefaultRates() Rates {
	return Rates{NVLinks: 18, NVLinkMBps: 25_000, PCIeMBps: pcieRate(80, 16)}
}

// RatesOf returns the rates of a product by its name as NVML or the mig package
// write it ("NVIDIA H100 80GB HBM3", "A100-SXM4-40GB"), and whether the name is
// known. The name of the GPU must stand in it as a word.
//
// Sources: NVIDIA's architecture papers and data sheets, which quote both ways
// together (P100 160 GB/s, V100 300, A100 600, A800 and H800 400, H100, H200 and
// H20 900, B200 to GB300 1800; over bridges A30 200, RTX A6000 and A40 112.5).
// PCIe is the generation of the data sheet at x16. For B300 and GB300 generation 5
// is assumed. AMD's links (xGMI) are counted as NVLinks: 7 to the other GPUs of a board, of
// 128 GB/s both ways together for MI300X and MI325X, and 153.6 for MI350X and MI355X; 6 of 128
// for MI300A, two to each of three others (AMD, CDNA 3 white paper); 3 of 100 for MI210 (CDNA 2
// white paper), and 7 of 100 for a die of MI250 and MI250X, which is a GPU to programs: of its 8
// links 4 lead to the other die, and one is its way to the host (rocm.docs.amd.com, "AMD Instinct
// MI250 microarchitecture").
func RatesOf(product string) (Rates, bool) {
	words := strings.FieldsFunc(strings.ToUpper(product), func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z')
	})
	for _, word := range words {
		if rates, ok := ratesOfWord(word); ok {
			return rates, true
		}
	}
	return Rates{}, false
}

func ratesOfWord(word string) (Rates, bool) {
	gen3, gen4, gen5 := pcieRate(80, 16), pcieRate(160, 16), pcieRate(320, 16)
	switch word {
	case "P100":
		return Rates{NVLinks: 4, NVLinkMBps: 20_000, PCIeMBps: gen3}, true
	case "V100", "V100S":
		return Rates{NVLinks: 6, NVLinkMBps: 25_000, PCIeMBps: gen3}, true
	case "T4":
		return Rates{PCIeMBps: gen3}, true
	case "A100":
		return Rates{NVLinks: 12, NVLinkMBps: 25_000, PCIeMBps: gen4}, true
	case "A800":
		return Rates{NVLinks: 8, NVLinkMBps: 25_000, PCIeMBps: gen4}, true
	case "A30":
		return Rates{NVLinks: 4, NVLinkMBps: 25_000, PCIeMBps: gen4}, true
	case "A40", "A6000":
		return Rates{NVLinks: 4, NVLinkMBps: 14_062, PCIeMBps: gen4}, true
	case "A10", "A10G", "A16", "L4", "L40", "L40S":
		return Rates{PCIeMBps: gen4}, true
	case "H100", "H200", "H20", "GH200":
		return Rates{NVLinks: 18, NVLinkMBps: 25_000, PCIeMBps: gen5}, true
	case "H800":
		return Rates{NVLinks: 8, NVLinkMBps: 25_000, PCIeMBps: gen5}, true
	case "B200", "GB200", "B300", "GB300":
		return Rates{NVLinks: 18, NVLinkMBps: 50_000, PCIeMBps: gen5}, true
	case "MI300X", "MI325X":
		return Rates{NVLinks: 7, NVLinkMBps: 64_000, PCIeMBps: gen5}, true
	case "MI300A":
		return Rates{NVLinks: 6, NVLinkMBps: 64_000, PCIeMBps: gen5}, true
	case "MI210":
		return Rates{NVLinks: 3, NVLinkMBps: 50_000, PCIeMBps: gen4}, true
	case "MI250", "MI250X":
		return Rates{NVLinks: 7, NVLinkMBps: 50_000, PCIeMBps: gen4}, true
	case "MI350X", "MI355X":
		return Rates{NVLinks: 7, NVLinkMBps: 76_800, PCIeMBps: gen5}, true
	}
	return Rates{}, false
}

// pcieRate is the rate of a PCIe port, one way, after line coding: 8b/10b up to 5
// GT/s, 128b/130b up to 32 GT/s, 242 bytes of 256 from 64 GT/s on. The speed is in
// tenths of GT/s.
func pcieRate(tenths, lanes int) int64 {
	raw := int64(tenths) * int64(lanes) * 100 / 8
	switch {
	case tenths < 80:
		return raw * 8 / 10
	case tenths < 640:
		return raw * 128 / 130
	}
	return raw * 242 / 256
}

// share is the part of a PCIe port's rate that a path of the kind gets, in percent.
// PHB: NCCL counts traffic between GPUs through a host bridge 6/5 times. SYS: NCCL
// gives the links between sockets 10 (Skylake), 16 (AMD) and 22 GB/s (Sapphire
// Rapids) where it gives the ports 12, 24 and 48. (src/graph/topo.h; the ports' are
// 12 for each 16 lanes of generation 3.) PXB and NODE are ours: they lie between
// their neighbours so that of two otherwise equal paths the nearer is wider.
func share(kind PathKind) int64 {
	switch kind {
	case PathPIX:
		return 100
	case PathPXB:
		return 95
	case PathPHB:
		return 83
	case PathNODE:
		return 75
	case PathSYS:
		return 50
	}
	return 0
}
