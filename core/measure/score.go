package measure

import (
	"regexp"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
)

// ExactMatch reports for every text whether it equals the wanted one after white
// space at both ends is removed, as question-answering scores do (Rajpurkar et
// al. 2016, without their removal of articles and punctuation). Case counts.
func ExactMatch(texts []string, want string) []bool {
	want = strings.TrimSpace(want)
	out := make([]bool, len(texts))
	for i, t := range texts {
		out[i] = strings.TrimSpace(t) == want
	}
	return out
}

// Matches reports for every text whether a regular expression (RE2 syntax, as
// package regexp) matches somewhere in it. A malformed expression is a usage
// error.
func Matches(texts []string, expression string) ([]bool, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, misuse("regex score", "%v", err).Fix("the syntax is RE2, without look-around and back-references")
	}
	out := make([]bool, len(texts))
	for i, t := range texts {
		out[i] = re.MatchString(t)
	}
	return out, nil
}

// PassAtK returns the unbiased estimate of pass@k, the probability that at least
// one of k samples is right, from n samples of which c are: 1 - C(n-c, k)/C(n, k),
// as the product 1 - prod over i in (n-c, n] of (1 - k/i), which neither
// overflows nor cancels (Chen et al. 2021, "Evaluating large language models
// trained on code", equation 1 and figure 3). It is 1 when n - c < k. k is in
// [1, n] and c in [0, n]; others are usage errors.
func PassAtK(n, c, k int) (float64, error) {
	const op = "pass@k"
	switch {
	case n < 1:
		return 0, misuse(op, "n = %d samples", n)
	case c < 0 || c > n:
		return 0, misuse(op, "c = %d right samples of n = %d", c, n)
	case k < 1 || k > n:
		return 0, misuse(op, "k = %d is outside [1, n = %d]", k, n).Fix("draw more samples: no unbiased estimate exists for k > n")
	case n-c < k:
		return 1, nil
	}
	fail := 1.0
	for i := n - c + 1; i <= n; i++ {
		fail *= 1 - float64(k)/float64(i)
	}
	return 1 - fail, nil
}

// KL returns KL(q‖p) in bits of each distribution q from the true one p in the
// same place, +Inf where q has a token that p does not. Lists of different length
// are a usage error; others as for [dist.KL], with the place named.
func KL(q, p []dist.Distribution) ([]float64, error) {
	const op = "KL to the truth"
	if len(q) != len(p) {
		return nil, misuse(op, "%d distributions and %d true ones", len(q), len(p)).Fix("give one true distribution per step")
	}
	out := make([]float64, len(q))
	for i := range q {
		bits, err := dist.KL(q[i], p[i])
		if err != nil {
			return nil, fault.Wrap(err, fault.Data, op, "distribution "+itoa(i))
		}
		out[i] = bits
	}
	return out, nil
}
