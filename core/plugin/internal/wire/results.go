package wire

import (
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// PutChange returns the message for a line of the ledger.
func PutChange(c dist.Change) *Change {
	return &Change{
		SupportBefore: uint32(c.SupportBefore), SupportAfter: uint32(c.SupportAfter), KeptMass: c.KeptMass,
		EntropyBefore: c.EntropyBefore, EntropyAfter: c.EntropyAfter, Kl: c.KL, Tv: c.TV, Truncation: c.Truncation,
		RankBefore: uint32(c.RankBefore), RankAfter: uint32(c.RankAfter), ProbBefore: c.ProbBefore, ProbAfter: c.ProbAfter,
		UnlistedBefore: c.UnlistedBefore, UnlistedAfter: c.UnlistedAfter,
	}
}

// GetChange returns the line of the ledger in a message. Counts are checked
// against the vocabulary; whether the numbers agree with each other is for the
// ledger's own check.
func GetChange(m *Change, vocab int) (dist.Change, error) {
	for _, n := range []uint32{m.GetSupportBefore(), m.GetSupportAfter(), m.GetRankBefore(), m.GetRankAfter()} {
		if int64(n) > int64(vocab) {
			return dist.Change{}, fault.New(fault.Plugin, "ledger", "", "%d tokens or ranks in a vocabulary of %d", n, vocab)
		}
	}
	return dist.Change{
		SupportBefore: int(m.GetSupportBefore()), SupportAfter: int(m.GetSupportAfter()), KeptMass: m.GetKeptMass(),
		EntropyBefore: m.GetEntropyBefore(), EntropyAfter: m.GetEntropyAfter(), KL: m.GetKl(), TV: m.GetTv(),
		Truncation: m.GetTruncation(), RankBefore: int(m.GetRankBefore()), RankAfter: int(m.GetRankAfter()),
		ProbBefore: m.GetProbBefore(), ProbAfter: m.GetProbAfter(),
		UnlistedBefore: m.GetUnlistedBefore(), UnlistedAfter: m.GetUnlistedAfter(),
	}, nil
}

// PutUsage returns the message for the cost of a call.
func PutUsage(u model.Usage) *Usage {
	return &Usage{
		PrefillTokens: u.PrefillTokens, DecodeTokens: u.DecodeTokens,
		PrefillSeconds: u.PrefillSeconds, DecodeSeconds: u.DecodeSeconds,
		Flops: u.FLOPs, BytesMoved: u.BytesMoved, CacheBytes: u.CacheBytes,
	}
}

// GetUsage returns the cost in a message, none of it negative, NaN or infinite.
func GetUsage(m *Usage) (model.Usage, error) {
	for _, n := range []int64{m.GetPrefillTokens(), m.GetDecodeTokens(), m.GetFlops(), m.GetBytesMoved(), m.GetCacheBytes()} {
		if n < 0 {
			return model.Usage{}, fault.New(fault.Plugin, "usage", "", "a count is %d, below 0", n)
		}
	}
	for _, s := range []float64{m.GetPrefillSeconds(), m.GetDecodeSeconds()} {
		if !(s >= 0) || math.IsInf(s, 1) {
			return model.Usage{}, fault.New(fault.Plugin, "usage", "", "a time is %g s", s)
		}
	}
	return model.Usage{
		PrefillTokens: m.GetPrefillTokens(), DecodeTokens: m.GetDecodeTokens(),
		PrefillSeconds: m.GetPrefillSeconds(), DecodeSeconds: m.GetDecodeSeconds(),
		FLOPs: m.GetFlops(), BytesMoved: m.GetBytesMoved(), CacheBytes: m.GetCacheBytes(),
	}, nil
}
