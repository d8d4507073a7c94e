package store

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
)

// Recording says which scores of every step a run keeps: those the model gave,
// before any stage. The zero value keeps none.
type Recording struct {
	dense bool
	top   int
}

// mostTop bounds N of top:N.
const mostTop = 1 << 20

// ParseRecording reads a recording: "" keeps nothing, "dense" every score that
// the model lists, "top:N" the N likeliest tokens, N from 1.
func ParseRecording(text string) (Recording, error) {
	bad := func() (Recording, error) {
		return Recording{}, fault.New(fault.Usage, op, "scores", "%s is no recording", fault.Quote(text, 40)).Fix(`use "dense", or "top:N" with N from 1 to %d`, mostTop)
	}
	switch number, isTop := strings.CutPrefix(text, "top:"); {
	case text == "":
		return Recording{}, nil
	case text == "dense":
		return Recording{dense: true}, nil
	case !isTop:
		return bad()
	default:
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > mostTop || strconv.Itoa(n) != number {
			return bad()
		}
		return Recording{top: n}, nil
	}
}

// String returns what [ParseRecording] reads.
func (r Recording) String() string {
	switch {
	case r.dense:
		return "dense"
	case r.top > 0:
		return "top:" + strconv.Itoa(r.top)
	}
	return ""
}

// Any reports whether scores are kept at all.
func (r Recording) Any() bool { return r.dense || r.top > 0 }

// Row returns the row to keep of a model's scores, in memory of its own. Dense
// keeps the row as it is, to the bit and in its form. Top:N keeps as it is a row
// that lists at most N tokens; of a longer one it keeps the N likeliest, ties by
// ascending id, as natural-log probabilities rounded to float32, and the mass of
// the others as unlisted. A malformed row is a data error.
func (r Recording) Row(scores *dist.Scores) (dist.Scores, error) {
	if !r.Any() {
		return dist.Scores{}, fault.New(fault.Internal, op, "scores", "the run keeps none")
	}
	if r.dense || scores.Len() <= r.top {
		if err := scores.Check(); err != nil {
			return dist.Scores{}, err
		}
		return scores.Clone(), nil
	}
	d, err := dist.Softmax(scores)
	if err != nil {
		return dist.Scores{}, err
	}
	list, rest := d.Top(r.top)
	slices.SortFunc(list, func(a, b dist.Entry) int { return cmp.Compare(a.ID, b.ID) })
	row := dist.Scores{Vocab: scores.Vocab, Unlisted: rest, IDs: make([]int32, len(list)), Values: make([]float32, len(list))}
	for i, e := range list {
		row.IDs[i], row.Values[i] = e.ID, float32(d.LogP(e.ID))
	}
	return row, row.Check()
}

// What a row takes beside its ids and scores.
const rowBytes = 24

// BytesPerStep returns about how many bytes a step's scores take in memory and in
// the log, for a model with so many tokens.
func (r Recording) BytesPerStep(vocabulary int) int64 {
	switch {
	case r.dense:
		return rowBytes + 4*int64(vocabulary)
	case r.top > 0:
		return rowBytes + 8*int64(min(r.top, vocabulary))
	}
	return 0
}

// What scores.parquet takes of the bytes before compression. Measured for 200
// steps of tiny (1312 tokens): dense 0.85, top:40 0.61; for normally distributed
// scores of 151,936 tokens: 0.86 and 0.76. Mantissas of float32 hardly compress.
const (
	typicalDense = 0.86
	typicalTop   = 0.76
)

// TypicalFileBytesPerStep returns about how many bytes a step's scores take in
// scores.parquet, compressed.
func (r Recording) TypicalFileBytesPerStep(vocabulary int) int64 {
	share := typicalTop
	if r.dense {
		share = typicalDense
	}
	return int64(share * float64(r.BytesPerStep(vocabulary)))
}

// check refuses a record whose scores are not those that the run is to keep.
func (r Recording) check(rec *Record) error {
	subject := fmt.Sprintf("cell %d, sample %d", rec.Cell, rec.Sample)
	want := len(rec.Trace.Tokens)
	if !r.Any() || rec.Failure != "" {
		want = 0
	}
	if len(rec.Scores) != want {
		return fault.New(fault.Internal, op, subject, "it has %d rows of scores, not %d", len(rec.Scores), want)
	}
	for i := range rec.Scores {
		row := &rec.Scores[i]
		if err := row.Check(); err != nil {
			return fault.Wrap(err, fault.Data, op, fmt.Sprintf("%s, step %d", subject, i))
		}
		if r.top > 0 && row.Len() > r.top {
			return fault.New(fault.Internal, op, subject, "step %d lists %d tokens, more than the %d that are kept", i, row.Len(), r.top)
		}
	}
	return nil
}

// scoreRow is a row of scores.parquet.
type scoreRow struct {
	Cell     int32     `parquet:"cell" doc:"the cell"`
	Sample   int32     `parquet:"sample" doc:"index of the sample"`
	Step     int32     `parquet:"step" doc:"index of the generated token"`
	Vocab    int32     `parquet:"vocabulary" doc:"tokens that the model has"`
	Unlisted float64   `parquet:"unlisted_mass" doc:"probability of the tokens that are not listed; where it is above 0, scores are natural-log probabilities"`
	IDs      []int32   `parquet:"ids,optional,list" parquet-element:",delta" doc:"token ids of the scores, ascending; null where every token has its score"`
	Values   []float32 `parquet:"scores,list" parquet-element:",split" doc:"the model's scores before any stage; -infinity for a removed token"`
}

func newScoreRow(r *Record, i int) scoreRow {
	s := &r.Scores[i]
	return scoreRow{Cell: int32(r.Cell), Sample: int32(r.Sample), Step: int32(i), Vocab: int32(s.Vocab), Unlisted: s.Unlisted, IDs: s.IDs, Values: s.Values}
}

func (w *scoreRow) scores() (dist.Scores, error) {
	s := dist.Scores{Vocab: int(w.Vocab), Unlisted: w.Unlisted, IDs: w.IDs, Values: w.Values} // a sparse row lists a token
	return s, s.Check()
}

// Scores lie in smaller pieces than other tables, since a row of them may have a
// megabyte: about so many bytes are written at once, and lie together.
const (
	scoresAtOnce = 1 << 20
	scoresGroup  = 64 << 20
	scoresRead   = 8 // rows
)

// scoreTable is scores.parquet that is being written.
type scoreTable struct {
	*table[scoreRow]
	pending, group int
}

func newScoreTable(dir string) (*scoreTable, error) {
	t, err := newTable[scoreRow](filepath.Join(dir, scoresFile))
	if err != nil {
		return nil, err
	}
	return &scoreTable{table: t}, nil
}

func (t *scoreTable) add(r *Record) {
	for i := range r.Scores {
		t.table.add(newScoreRow(r, i))
		n := rowBytes + 4*len(r.Scores[i].Values) + 4*len(r.Scores[i].IDs)
		t.pending += n
		t.group += n
		if ends := t.group >= scoresGroup; ends || t.pending >= scoresAtOnce {
			t.flush(ends)
			t.pending = 0
			if ends {
				t.group = 0
			}
		}
	}
}

// scoreReader reads scores.parquet beside the samples.
type scoreReader struct {
	table *opened[scoreRow]
	row   *scoreRow
}

func openScores(dir string) (*scoreReader, error) {
	t, err := openTable[scoreRow](filepath.Join(dir, scoresFile))
	if err != nil {
		return nil, err
	}
	t.piece = scoresRead
	s := &scoreReader{table: t}
	if s.row, err = t.next(); err != nil {
		t.close()
		return nil, err
	}
	return s, nil
}

// read adds the scores of a record to it; there is a row for every token.
func (s *scoreReader) read(r *Record) error {
	for i := range r.Trace.Tokens {
		if w := s.row; w == nil || int(w.Cell) != r.Cell || int(w.Sample) != r.Sample || int(w.Step) != i {
			return fault.New(fault.Data, op, s.table.path, "the scores of cell %d, sample %d, step %d are not there", r.Cell, r.Sample, i)
		}
		row, err := s.row.scores()
		if err != nil {
			return fault.Wrap(err, fault.Data, op, s.table.path)
		}
		r.Scores = append(r.Scores, row)
		if s.row, err = s.table.next(); err != nil {
			return err
		}
	}
	return nil
}

func (s *scoreReader) close() {
	if s != nil {
		s.table.close()
	}
}
