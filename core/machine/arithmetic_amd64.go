package machine

import "golang.org/x/sys/cpu"

// fmaAVX2 makes n rounds of 12 multiply-adds of 8 float32.
//
//go:noescape
func fmaAVX2(n int)

// fmaAVX512 makes n rounds of 12 multiply-adds of 16 float32.
//
//go:noescape
func fmaAVX512(n int)

// dotAVX2 makes n rounds of 8 sums of products of 32 bytes: multiply and add in
// pairs, add pairs, add to the sum.
//
//go:noescape
func dotAVX2(n int)

// dotVNNI makes n rounds of 12 sums of products of 64 bytes.
//
//go:noescape
func dotVNNI(n int)

func float32Loop() loop {
	switch x := &cpu.X86; {
	case x.HasAVX512F:
		return loop{"avx512", 12 * 16 * 2, fmaAVX512}
	case x.HasAVX2 && x.HasFMA:
		return loop{"avx2", 12 * 8 * 2, fmaAVX2}
	}
	return plain()
}

func int8Loop() (loop, bool) {
	switch x := &cpu.X86; {
	case x.HasAVX512F && x.HasAVX512VNNI:
		return loop{"avx512-vnni", 12 * 64 * 2, dotVNNI}, true
	case x.HasAVX2:
		return loop{"avx2", 8 * 32 * 2, dotAVX2}, true
	}
	return loop{}, false
}
