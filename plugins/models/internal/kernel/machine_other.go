//go:build !amd64

package kernel

// machineKernels returns nothing: other machines run the portable code.
func machineKernels() []*Kernels { return nil }
