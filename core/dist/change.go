package dist

// Change is what one stage did to one row: the numbers of the ledger.
// Before and after are the distributions (softmax) of the row before and after
// the stage; logarithms are base 2.
type Change struct {
	SupportBefore, SupportAfter int     // tokens with a finite score
	KeptMass                    float64 // probability before of the tokens still in the support after
	EntropyBefore, EntropyAfter float64 // bits
	KL                          float64 // KL(after‖before) in bits; +Inf when a token entered the support
	TV                          float64 // half the L1 distance, 0..1

	// Truncation says that the survivors kept their scores to the bit and
	// nothing entered the support; then KL = -log2(KeptMass) and TV = 1-KeptMass.
	Truncation bool

	// The chosen token before and after the stage: probability, and rank from 1
	// by descending score, ties by ascending id. Rank 0: no token was chosen
	// yet, or (after) the stage removed it.
	RankBefore, RankAfter int
	ProbBefore, ProbAfter float64
}
