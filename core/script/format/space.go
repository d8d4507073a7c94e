package format

import "github.com/d5/tengo/v2/token"

// spaced reports whether there is a blank between a and b, which are next to each
// other in a line. The innermost open bracket is in, nil at the top level.
func spaced(a, b, in *piece) bool {
	switch b.tok {
	case token.Comma, token.RParen, token.RBrack, token.Inc, token.Dec:
		return false
	case token.Semicolon:
		return a.tok == token.For || a.tok == token.Semicolon || a.tok == token.LBrace
	case token.RBrace:
		return b.role != mapBrace && a.tok != token.LBrace
	case token.Period:
		return isNumber(a.tok)
	case token.Ellipsis:
		return isNumber(a.tok) || a.tok == token.Comma
	case token.Colon:
		return b.role == condColon || b.role != keyColon && in != nil && in.role == wideSlice
	case token.LParen:
		if isOperand(a.tok) || isCaller(a.tok) {
			return false
		}
	case token.LBrack:
		if isOperand(a.tok) {
			return false
		}
	}
	switch a.tok {
	case token.LParen, token.LBrack, token.Period, token.Ellipsis:
		return false
	case token.LBrace:
		return a.role != mapBrace
	case token.Colon:
		return a.role != plain || in != nil && in.role == wideSlice
	}
	if a.role == sign { // "- -x" is not "--x"
		return a.tok == b.tok && (a.tok == token.Add || a.tok == token.Sub)
	}
	return true
}

// isNumber reports whether a point right after t would belong to it.
func isNumber(t token.Token) bool { return t == token.Int || t == token.Float }

// isOperand reports whether t ends an operand, so that a bracket after it is a
// call or an index.
func isOperand(t token.Token) bool {
	return t.IsLiteral() || t == token.True || t == token.False || t == token.Undefined || closes(t)
}

// isCaller reports whether t is a word whose bracket follows at once.
func isCaller(t token.Token) bool {
	return t == token.Func || t == token.Import || t == token.Error || t == token.Immutable
}
