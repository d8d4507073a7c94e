package systems

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"lab/core/plugin/param"
)

// idsOf returns the text form of a token list: ids, texts, and lists of ids that
// stand for sequences.
func idsOf(v any) (string, error) { return listOf(v, itemOf) }

// wordsOf is idsOf for systems in which a text is never the number of a token.
func wordsOf(v any) (string, error) {
	return listOf(v, func(e any) (string, error) {
		if s, ok := e.(string); ok && s != "" {
			return param.Token{Text: s}.String(), nil
		}
		return itemOf(e)
	})
}

func listOf(v any, itemOf func(any) (string, error)) (string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []string
	for _, e := range list {
		item, err := itemOf(e)
		if err != nil {
			return "", err
		}
		out = append(out, item)
	}
	return strings.Join(out, " "), nil
}

func itemOf(v any) (string, error) {
	switch x := v.(type) {
	case json.Number:
		return idOf(x.String())
	case string:
		if _, err := strconv.ParseInt(x, 10, 32); err == nil {
			return idOf(x)
		}
		if x == "" {
			return "", fmt.Errorf("has an empty text")
		}
		return param.Token{Text: x}.String(), nil
	case []any:
		var parts []string
		for _, e := range x {
			n, ok := e.(json.Number)
			if !ok {
				return "", fmt.Errorf("has a sequence that is not of token ids")
			}
			id, err := idOf(n.String())
			if err != nil {
				return "", err
			}
			parts = append(parts, id)
		}
		if len(parts) == 0 {
			return "", fmt.Errorf("has an empty sequence")
		}
		return strings.Join(parts, "+"), nil
	}
	return "", fmt.Errorf("has an item that is no token")
}

func idOf(s string) (string, error) {
	id, err := strconv.ParseInt(s, 10, 32)
	if err != nil || id < 0 {
		return "", fmt.Errorf("has the token id %s", s)
	}
	return strconv.FormatInt(id, 10), nil
}

// biasesOf returns the text form of a weighted token list: from a map of ids or
// texts to numbers, a list of [token, number] pairs, or of flags like 15+1.5 and
// 15-2. false bans a token.
func biasesOf(v any) (string, error) {
	var out []string
	add := func(token, weight any) error {
		item, err := itemOf(token)
		if err != nil {
			return err
		}
		w, err := weightOf(weight)
		if err != nil {
			return err
		}
		out = append(out, item+"="+w)
		return nil
	}
	switch x := v.(type) {
	case map[string]any:
		for _, key := range sorted(x) {
			if err := add(key, x[key]); err != nil {
				return "", err
			}
		}
	case []any:
		for _, e := range x {
			switch p := e.(type) {
			case []any:
				if len(p) != 2 {
					return "", fmt.Errorf("has a pair of %d", len(p))
				}
				if err := add(p[0], p[1]); err != nil {
					return "", err
				}
			case string: // llama.cpp's flag: TOKEN(+/-)BIAS
				at := strings.IndexAny(p, "+-")
				if at < 1 {
					return "", fmt.Errorf("has %q, which is not TOKEN+BIAS", p)
				}
				sign := p[at : at+1]
				if err := add(p[:at], strings.TrimPrefix(sign+p[at+1:], "+")); err != nil {
					return "", err
				}
			default:
				return "", fmt.Errorf("has an item that is no pair")
			}
		}
	default:
		return "", fmt.Errorf("is not a map of tokens to numbers")
	}
	return strings.Join(out, " "), nil
}

func weightOf(v any) (string, error) {
	switch x := v.(type) {
	case bool:
		if !x {
			return "-inf", nil
		}
	case json.Number:
		return x.String(), nil
	case string:
		if strings.EqualFold(x, "-inf") || x == "false" {
			return "-inf", nil
		}
		if _, err := strconv.ParseFloat(x, 64); err == nil {
			return x, nil
		}
	}
	return "", fmt.Errorf("has the bias %v, which is no number", v)
}
