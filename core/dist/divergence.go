package dist

import "math"

// pair walks two distributions over the union of their supports in ascending
// order of id. i or j is -1 where a token is outside that support.
func pair(a, b Distribution, f func(i, j int)) {
	i, j := 0, 0
	for i < len(a.p) || j < len(b.p) {
		switch {
		case j == len(b.p) || i < len(a.p) && a.id(i) < b.id(j):
			f(i, -1)
			i++
		case i == len(a.p) || b.id(j) < a.id(i):
			f(-1, j)
			j++
		default:
			f(i, j)
			i++
			j++
		}
	}
}

// exact returns a data error unless a divergence of q from p is known: q lists
// all of its tokens, and the probability under p of each of them is known.
func exact(what string, q, p Distribution) error {
	if q.vocab != p.vocab {
		return badScores("%s of distributions over %d and %d tokens", what, q.vocab, p.vocab).
			Fix("compare backends that share a vocabulary")
	}
	if q.unlisted > 0 {
		return badScores("%s is not known: a mass of %.4g is unlisted", what, q.unlisted).
			Fix("truncate to listed tokens first, or use a backend that lists every token")
	}
	if p.unlisted > 0 {
		for i := range q.p {
			if !p.known(q.id(i)) {
				return badScores("%s is not known: token %d is in the unlisted tail of the reference", what, q.id(i))
			}
		}
	}
	return nil
}

// KL returns KL(q‖p) = sum q log2(q/p) in bits, +Inf when q has a token that p
// does not. It is a data error when the vocabularies differ, and when an
// unlisted tail leaves it unknown.
func KL(q, p Distribution) (bits float64, err error) {
	if err := exact("KL(q‖p)", q, p); err != nil {
		return 0, err
	}
	sum, outside := 0.0, false
	pair(q, p, func(i, j int) {
		switch {
		case i < 0:
		case j < 0:
			outside = true
		default:
			sum += q.p[i] * (q.logP[i] - p.logP[j])
		}
	})
	if outside {
		return math.Inf(1), nil
	}
	return max(0, sum/math.Ln2), nil
}

// TV returns the total variation between q and p, half the sum of |q - p|, in
// [0, 1]. Errors as for [KL].
func TV(q, p Distribution) (float64, error) {
	if err := exact("TV", q, p); err != nil {
		return 0, err
	}
	l1 := p.unlisted // q has nothing there
	pair(q, p, func(i, j int) { l1 += math.Abs(q.at(i) - p.at(j)) })
	return min(1, l1/2), nil
}

func (d Distribution) at(place int) float64 {
	if place < 0 {
		return 0
	}
	return d.p[place]
}

// JS returns the Jensen-Shannon divergence in bits, the mean of KL(q‖m) and
// KL(p‖m) with m = (q+p)/2 (Lin 1991). It is symmetric, finite and at most 1,
// also where KL is +Inf. Errors as for [KL].
func JS(q, p Distribution) (bits float64, err error) {
	if err := exact("JS", q, p); err != nil {
		return 0, err
	}
	sum := p.unlisted // q has nothing there: p log2(p / (p/2)) = p
	pair(q, p, func(i, j int) {
		a, b := q.at(i), p.at(j)
		if a > 0 {
			sum += a * math.Log2(2*a/(a+b))
		}
		if b > 0 {
			sum += b * math.Log2(2*b/(a+b))
		}
	})
	return min(1, max(0, sum/2)), nil
}

// KeptMass returns the probability under p of the support of q, in [0, 1].
// Errors as for [KL].
func KeptMass(q, p Distribution) (float64, error) {
	if err := exact("kept mass", q, p); err != nil {
		return 0, err
	}
	sum := 0.0
	pair(q, p, func(i, j int) {
		if i >= 0 && j >= 0 {
			sum += p.p[j]
		}
	})
	return min(1, sum), nil
}
