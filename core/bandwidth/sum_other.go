//go:build !amd64

package bandwidth

func sum(words []uint64) uint64 { return portableSum(words) }
