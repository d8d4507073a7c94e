package watermark

// torch is the 32-bit Mersenne twister mt19937 (Matsumoto and Nishimura 1998)
// as the PyTorch library seeds and reads it on a CPU.
type torch struct {
	state [624]uint32
	at    int
}

func newTorch(seed uint32) *torch {
	t := &torch{at: len(torch{}.state)}
	t.state[0] = seed
	for i := 1; i < len(t.state); i++ {
		x := t.state[i-1]
		t.state[i] = 1812433253*(x^x>>30) + uint32(i)
	}
	return t
}

// word returns the next 32 bits.
func (t *torch) word() uint32 {
	if t.at == len(t.state) {
		t.refill()
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9D2C5680
	y ^= y << 15 & 0xEFC60000
	return y ^ y>>18
}

func (t *torch) refill() {
	const n, m = 624, 397
	twist := func(a, b uint32) uint32 {
		y := a&0x80000000 | b&0x7FFFFFFF
		return y>>1 ^ -(y&1)&0x9908B0DF
	}
	s := &t.state
	for i := 0; i < n-m; i++ {
		s[i] = s[i+m] ^ twist(s[i], s[i+1])
	}
	for i := n - m; i < n-1; i++ {
		s[i] = s[i+m-n] ^ twist(s[i], s[i+1])
	}
	s[n-1] = s[m-1] ^ twist(s[n-1], s[0])
	t.at = 0
}

// permute puts the numbers 0 to n-1, of which order has n, in the order of the
// library's randperm, as far as the first k places.
func (t *torch) permute(order []int32, k int) {
	n := len(order)
	for i := range order {
		order[i] = int32(i)
	}
	for i := 0; i < min(k, n-1); i++ {
		j := i + int(t.word()%uint32(n-i))
		order[i], order[j] = order[j], order[i]
	}
}

// among reports whether a number below n is among the first k of the
// permutation, which it does not build: it follows where the number goes.
func (t *torch) among(number, n, k int) bool {
	at := number
	for i := 0; i < min(k, n-1); i++ {
		switch j := i + int(t.word()%uint32(n-i)); at {
		case j: // it moves to place i, which no later step touches
			return true
		case i:
			at = j
		}
	}
	return at < k
}
